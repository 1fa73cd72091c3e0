"""Running commands of this machine: `runs` (their status files), `results` (what their stores have so far), `terminal`,
and `watch_routes` (the same in the browser). Nothing here is written but what the watcher shows."""
