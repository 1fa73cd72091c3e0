"""Paired contrasts: differences between policies, rules and experiments over the same games."""
