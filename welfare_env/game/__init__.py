"""One game with strings as its interface: positions, orders, messages, records and scores."""
