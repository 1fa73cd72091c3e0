"""Drawings of a game. Each kind is imported only when it is asked for."""
