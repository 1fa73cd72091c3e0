"""Programs that read each other: populations, ordinal games, tournaments and trainings."""
