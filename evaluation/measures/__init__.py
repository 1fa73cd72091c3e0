"""Measures of single games, and estimates with confidence intervals over games."""
