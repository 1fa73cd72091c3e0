"""What is made of a reply: `parsing` reads it, `repair` finds JSON in any text, `fields` and `orders` what it says."""
