"""Play games between policies, in parallel, and store them."""
