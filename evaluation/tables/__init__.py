"""Results as tables: for the terminal, for notebooks and for files."""
