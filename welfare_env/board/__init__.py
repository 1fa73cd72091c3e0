"""What a map is: provinces, orders, coasts, and the files they are read from."""
