"""A searching deviator: plays games to their end in its head, against copies of the others, and keeps the best plan."""
