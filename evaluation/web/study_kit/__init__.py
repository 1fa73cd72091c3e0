"""Studies with people, from one TOML file: `study` (its contents), `parser`, `assignment` (of conditions and seats),
`participants` (their data on disk), `study_routes` and `pages` (the site), `export`, and `command`."""
