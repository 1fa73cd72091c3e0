"""The command: `python -m research.learning`."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from research.learning.critic import critic
from research.learning.populations import populations, profiles
from research.learning.rewards import clique, standard
from research.learning.robbers import robbers
from research.learning.trainings import Options
from research.learning.words import words
from research.tables import Folder


class Section(StrEnum):
    """A section of the page."""

    REWARDS = "rewards"
    STANDARD = "standard"
    ROBBERS = "robbers"
    POPULATIONS = "populations"
    PROFILES = "profiles"
    WORDS = "words"
    CRITIC = "critic"


RUN: dict[Section, Callable[[Options], None]] = {
    Section.REWARDS: clique,
    Section.STANDARD: standard,
    Section.ROBBERS: robbers,
    Section.POPULATIONS: populations,
    Section.PROFILES: profiles,
    Section.WORDS: words,
    Section.CRITIC: critic,
}
POWERS = ["PLAYERA", "PLAYERB", "PLAYERC", "PLAYERD"]


def main(
    out: Annotated[Path, typer.Option(help="Folder for trainings and measurements.")] = Path("runs/learning"),
    only: Annotated[
        Optional[list[Section]],  # noqa: UP045 (typer reads it)
        typer.Option(help="A section; repeat for several.", show_default="all"),
    ] = None,
    pictures: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder for pictures, such as docs/pictures.", show_default="OUT/pictures"),
    ] = None,
    seat: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Deviating seat for exact gains (minutes each); repeatable.", show_default="all four"),
    ] = None,
    exact: Annotated[bool, typer.Option(help="Measure exact gains, not only the portfolio's.")] = True,
    train: Annotated[bool, typer.Option(help="Run missing trainings; else show finished ones only.")] = True,
    tables: Folder = None,
) -> None:
    """Run missing trainings, measure, and print the tables of docs/learning.md; finished work is saved."""
    given = Options(out, pictures or out / "pictures", tuple(seat or POWERS) if exact else (), train, tables)
    given.pictures.mkdir(parents=True, exist_ok=True)
    for section in only or list(Section):
        began = time.process_time()
        print(f"## {section}\n", flush=True)
        RUN[section](given)
        print(f"\nThis call took {(time.process_time() - began) / 60:.1f} CPU-minutes.\n", flush=True)


if __name__ == "__main__":
    typer.run(main)
