"""Studies with people, from one TOML file: `study` (what it says), `parser` (how it is read), `assignment` (who plays
what), `participants` (what each did, on disk), `study_routes` and `pages` (what they see), `export`, and `command`."""
