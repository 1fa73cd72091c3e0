"""Drawings of a game. Each kind is imported on first use."""
