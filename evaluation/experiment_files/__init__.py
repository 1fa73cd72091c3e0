"""Experiments as TOML files: conditions, and the cells of each condition (one per measure and training seed)."""
