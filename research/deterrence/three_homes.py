"""Robbers among deterrents on toy boards, with one home center per power and with three.

    python -m research.deterrence.three_homes                             # twenty CPU-minutes
    python -m research.deterrence.three_homes --against prosocial --most 3

All powers play the same deterrent, except k robbers, for which a single planner decides (`agents` "plan"). A power has
a core, which nobody owns at first, and one or three homes next to it. All cores are adjacent, and so are a power's
homes. With one home that is the paper's clique:n. All seats are alike, so the robbers are the first k powers. Their
plan is found in other games than those in which its gain is measured.
"""

from __future__ import annotations

import json
import os
import string
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import evaluation
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from evaluation.experiments.evaluation_plan import EvaluationPlan
from evaluation.experiments.exploitability import plan_exploitability
from evaluation.measures.gains import CoalitionGain
from research.tables import Folder, parts, save
from welfare_env import Rules

SMALLEST = 3  # powers
SEED = 17
HOMES = (1, 3)

Cell = tuple[str, int, int, int]  # rule, homes a power, powers, robbers


def board_text(powers: int, homes: int) -> str:
    """The `.map` file of a board of `powers` powers, each with a core and `homes` homes."""
    letters = string.ascii_uppercase[:powers]
    own = {letter: [f"H{letter}{number}" for number in range(1, homes + 1)] for letter in letters}
    lines = [f"VICTORY {powers * (homes + 1)}", "BEGIN SPRING 1901 MOVEMENT"]
    for letter, places in own.items():
        lines += [f"PLAYER{letter} (PLAYER{letter}) {' '.join(places)}", *(f"A {place}" for place in places)]
    lines.append("UNOWNED " + " ".join(f"C{letter}X" for letter in letters))
    lines += [f"Core{letter} = c{letter.lower()}x" for letter in letters]
    lines += [f"Home{place[1:]} = {place.lower()}" for places in own.values() for place in places]
    for letter, places in own.items():
        cores = [f"C{other}X" for other in letters if other != letter]
        lines.append(f"LAND C{letter}X ABUTS {' '.join([*cores, *places])}")
        for place in places:
            near = [f"C{letter}X", *(other for other in places if other != place)]
            lines.append(f"LAND {place} ABUTS {' '.join(near)}")
    return "\n".join(lines) + "\n"


def plans(
    against: list[str], most: int, budget: int, games: int, folder: Path, setting: evaluation.Setting
) -> dict[Cell, EvaluationPlan[evaluation.ExploitabilityResult]]:
    """The games to play for each cell."""
    found = {}
    for homes in HOMES:
        for powers in range(SMALLEST, most + 1):
            board = f"clique:{powers}"
            if homes > 1:
                board = str(folder / f"homes-{homes}-powers-{powers}.map")
                Path(board).write_text(board_text(powers, homes), encoding="utf-8")
            for rule in against:
                for robbers in range(1, powers):
                    found[rule, homes, powers, robbers] = plan_exploitability(
                        rule,
                        games,
                        replace(setting, map_name=board),
                        deviator=f"plan:budget={budget}",
                        coalitions=[tuple(f"PLAYER{letter}" for letter in string.ascii_uppercase[:robbers])],
                        coordinated=robbers > 1,
                    )
    return found


def table(rule: str, homes: int, found: dict[Cell, CoalitionGain]) -> Table:
    """By number of powers and of robbers: the smallest gain of a robber, and their joint gain."""
    shown = Table(title=f"Robbers of {rule}, {homes} home{'s' if homes > 1 else ''} a power: points a year")
    for name in ("powers", "robbers", "smallest gain", "joint gain"):
        shown.add_column(name, justify="right")
    for (of, number, powers, robbers), gain in found.items():
        if (of, number) == (rule, homes):
            cells = [f"{each.value:.2f} {each.around('.2f')}" for each in (gain.gain, gain.total)]
            shown.add_row(str(powers), str(robbers), *cells)
    return shown


def main(
    against: Annotated[list[str], typer.Option(help="The deterrent; repeat for several.")] = [  # noqa: B006
        "marshal",
        "sheriff",
    ],
    most: Annotated[int, typer.Option(min=SMALLEST, max=8, help="Powers on the largest board.")] = 4,
    years: Annotated[int, typer.Option(min=1, help="Length of a game, in years.")] = 6,
    budget: Annotated[int, typer.Option(min=1, help="Games that the planner simulates per phase.")] = 60,
    games: Annotated[int, typer.Option(min=2, help="Games per number of robbers.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for boards, games and figures.")] = Path("runs/three-homes"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Play all games, print the tables, and write three-homes.json."""
    out.mkdir(parents=True, exist_ok=True)
    found: dict[Cell, CoalitionGain] = {}
    with evaluation.GameStore(out / "games.sqlite") as store, evaluation.Workers(workers) as pool:
        setting = evaluation.Setting(rules=Rules(press=None, years=years), seed=SEED, store=store, workers=pool)
        planned = plans(against, most, budget, games, out, setting)
        with metered("robbing", sum(plan.most_games for plan in planned.values()), "games") as meter:
            for cell, plan in planned.items():
                found[cell] = plan.play(meter.advance).best_gain
    figures = [
        dict(zip(("rule", "homes", "powers", "robbers"), cell, strict=True))
        | {"gain": gain.gain.to_dict(), "together": gain.total.to_dict()}
        for cell, gain in found.items()
    ]
    (out / "three-homes.json").write_text(json.dumps(figures, indent=1) + "\n")
    shown = {(rule, homes): table(rule, homes, found) for rule in against for homes in HOMES}
    head = ["rule", "homes a power", *parts(next(iter(shown.values())))[0]]
    rows = [[f"`{rule}`", str(homes), *row] for (rule, homes), each in shown.items() for row in parts(each)[1]]
    save(tables, "deterrence-three-homes", head, rows)
    print_tables(*shown.values())


if __name__ == "__main__":
    typer.run(main)
