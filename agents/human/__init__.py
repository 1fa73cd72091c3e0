"""A person in a seat: the policy `human:`, and the terminal that asks by default."""
