"""A searching deviator: simulates the rest of the game against copies of the others, and follows the best plan."""
