"""Watching running commands of this machine: `runs` (their status files), `results` (games in their stores so far),
`terminal`, and `watch_routes` (in the browser). All files are only read."""
