"""Robbers among deterrents on toy boards, with one home center per power and with three.

    python -m research.deterrence.three_homes                             # twenty CPU-minutes
    python -m research.deterrence.three_homes --against prosocial --max-powers 3

All powers play the same deterrent, except k robbers, for which a single planner decides (`agents` "plan"). A power has
a core, which nobody owns at first, and one or three homes next to it. All cores are adjacent, and so are a power's
homes. With one home that is the paper's clique:n. All seats are alike, so the robbers are the first k powers. Their
plan is found in other games than those in which its gain is measured.
"""

from __future__ import annotations

import string
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

import evaluation
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import show
from welfare_env import Rules

SEED = 17
HOMES = (1, 3)


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


def board(powers: int, homes: int, folder: Path) -> str:
    """The name of a board, whose file is written to the folder."""
    if homes == 1:
        return f"clique:{powers}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"homes-{homes}-powers-{powers}.map"
    path.write_text(board_text(powers, homes), encoding="utf-8")
    return str(path)


def main(
    against: Annotated[list[str] | None, typer.Option(help="Repeatable.", show_default="marshal, sheriff")] = None,
    max_powers: Annotated[int, typer.Option(min=3, max=8, help="Powers on the largest board.")] = 4,
    years: Annotated[int, typer.Option(min=1, help="Length of a game, in years.")] = 6,
    budget: Annotated[int, typer.Option(min=1, help="Games that the planner simulates per phase.")] = 60,
    games: Annotated[int, typer.Option(min=2, help="Games per number of robbers.")] = 2,
    out: Out = Path("runs/three-homes"),
    workers: Workers = ALL_CORES,
) -> None:
    """By number of powers and of robbers: the smallest gain of a robber, and their joint gain, in points a year."""
    sizes = [(powers, robbers) for powers in range(3, max_powers + 1) for robbers in range(1, powers)]
    rows = []
    with playing(out, workers) as means:
        cells = list(product(against or ("marshal", "sheriff"), HOMES, sizes))
        for rule, homes, (powers, robbers) in track(cells, "robbing"):
            gain = evaluation.exploitability(
                rule,
                games,
                deviator=f"plan:budget={budget}",
                coordinated=robbers > 1,
                seed=SEED,
                coalitions=[tuple(f"PLAYER{letter}" for letter in string.ascii_uppercase[:robbers])],
                map_name=board(powers, homes, out),
                rules=Rules(press=None, years=years),
                **means,
            ).best_gain
            gains = [f"{each.value:.2f} {each.around('.2f')}" for each in (gain.gain, gain.total)]
            rows.append([f"`{rule}`", str(homes), str(powers), str(robbers), *gains])
    head = ("rule", "homes a power", "powers", "robbers", "smallest gain", "joint gain")
    show(None, "", head, rows)


if __name__ == "__main__":
    typer.run(main)
