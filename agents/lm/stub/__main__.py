"""``python -m agents.lm.stub``: see `agents.lm.stub.server`."""

from __future__ import annotations

import typer

from agents.lm.stub.server import main

if __name__ == "__main__":
    typer.run(main)
