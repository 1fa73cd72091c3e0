"""Runs the comparison: `python -m tools.equivalence`."""

import typer

from tools.equivalence.comparing import main

if __name__ == "__main__":
    typer.run(main)
