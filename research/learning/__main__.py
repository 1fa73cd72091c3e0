"""The command: `python -m research.learning`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from research.learning.populations import populations, profiles
from research.learning.rewards import rewards
from research.learning.robbers import robbers
from research.learning.words import words
from research.tables import Folder

SECTIONS = {
    "rewards": rewards,
    "robbers": robbers,
    "populations": populations,
    "profiles": profiles,
    "words": words,
}
POWERS = ("PLAYERA", "PLAYERB", "PLAYERC", "PLAYERD")


def main(
    out: Annotated[Path, typer.Option(help="Folder for trainings, measurements and pictures.")] = Path("runs/learning"),
    only: Annotated[
        list[str] | None, typer.Option(metavar="|".join(SECTIONS), help="Repeatable.", show_default="all")
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(help="Deviating seat for exact gains (minutes each); repeatable.", show_default="all four"),
    ] = None,
    to: Folder = None,
) -> None:
    """Run missing trainings, measure, and print the tables of docs/learning.md; finished work is saved."""
    out.mkdir(parents=True, exist_ok=True)
    for section in only or SECTIONS:
        print(f"## {section}\n", flush=True)
        SECTIONS[section](out, tuple(seat or POWERS), to)


if __name__ == "__main__":
    typer.run(main)
