"""One game as people think of it: positions, orders and messages in words, records, scores."""
