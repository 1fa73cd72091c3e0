"""Evolution of populations of programs: replicator dynamics, basins of attraction, best-reply growth."""
