"""Maps: provinces, coasts, legal orders, and the files they are read from."""
