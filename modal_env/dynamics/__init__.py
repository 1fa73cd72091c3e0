"""Populations of programs: replicator dynamics, basins of attraction, best-reply growth."""
