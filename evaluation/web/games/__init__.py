"""Games with people: `table` (one game, without network), `hosting` (many games, with clocks), `seen` (the state sent
to a page), `play_routes` and `page` (the site)."""
