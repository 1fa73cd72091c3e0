"""What an experiment file plays: its conditions, and the cells of each, one per measure and training seed."""
