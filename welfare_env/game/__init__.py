"""One game in words: positions, orders, messages, records and scores."""
