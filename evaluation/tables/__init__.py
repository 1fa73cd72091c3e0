"""Results as tables, for the terminal, notebooks and files."""
