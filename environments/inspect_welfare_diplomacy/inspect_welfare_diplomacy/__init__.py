"""Welfare Diplomacy for inspect-ai.

inspect finds the tasks in `tasks` (an entry point); `solver` plays the games, `model` adapts inspect's models to our
players, `limits` keeps a game within its sample's limits, and `scoring` computes the measures.
"""
