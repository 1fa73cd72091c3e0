"""Reading replies: `parsing` is the entry, `repair` finds JSON in any text, `fields` and `orders` interpret it."""
