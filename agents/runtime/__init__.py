"""Options, progress, files, databases, tables, colors and Ray, for commands and results."""
