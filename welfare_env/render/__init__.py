"""Rendering of games. Each format is imported on first use."""
