"""Can peace be learned? The study of docs/learning.md: `python -m studies.learning`.

- `trainings`: finishes trainings, and extends them until their curves are flat. `courses`: what flat is.
- `rewards`, `robbers`, `populations`, `words`: the sections of the page. `measures`: how exploitable a network is.
- `curves`: the pictures.
"""
