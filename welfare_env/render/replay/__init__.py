"""A game as one HTML page that needs nothing else."""
