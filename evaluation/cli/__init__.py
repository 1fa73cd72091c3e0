"""The commands of ``python -m evaluation``."""
