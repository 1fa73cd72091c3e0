"""What commands and results rest on: options, progress, files, databases, tables, colors, and Ray."""
