"""Games with people: `table` (one game, without any network), `hosting` (many of them, with a clock), `seen` (what goes
out of a `View`), `play_routes` and `page` (what the browser asks for)."""
