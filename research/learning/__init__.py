"""Can peace be learned? The study of docs/learning.md: `python -m research.learning`.

- `trainings`: runs trainings, and extends them until their curves are flat. `courses`: the test of flatness.
- `rewards`, `robbers`, `populations`, `words`: the sections of the page. `measures`: exploitability of networks.
- `curves`: the pictures.
"""
