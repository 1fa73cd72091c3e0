"""Replays: a game as one self-contained HTML page."""
