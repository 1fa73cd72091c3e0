"""Experiments as TOML files: their conditions, and the cells of each, one per measure and training seed."""
