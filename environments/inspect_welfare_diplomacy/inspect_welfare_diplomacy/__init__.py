"""Welfare Diplomacy for inspect-ai: see `tasks`."""
