"""Experiments: self-play, exploitability, cross-play, red team, and experiments from files."""
