"""The tables on press and sight of docs/theorems.md: `python -m research.price_of_peace.press_and_sight --docs docs`.

How much does it help punishers to agree in secret? One table has a deviator's gain from leaving pi_1 if the punishers
are deterministic, randomize independently, or randomize jointly. Another counts the positions of clique:3, with two
punishers, in which randomizing or agreeing helps; they are sampled from random games. A third table shows the frontier
if the others notice a deviation late. Certificates and rows are saved in the folder and not recomputed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from agents.runtime.progress import metered
from evaluation.exact import check_drawn, frontier
from evaluation.exact.drawn.apart import ENOUGH
from evaluation.exact.drawn.apart_proofs import certify_apart, check_apart
from evaluation.exact.drawn.sampling import punisher_values
from evaluation.exact.drawn.sight import ADJACENT, Sight
from evaluation.exact.drawn.threats import CLOSE
from research.tables import Docs, markdown, save

GAMES = (
    ("clique:3", "PLAYERA", 5),
    ("clique:4", "PLAYERA", 3),
    ("clique:5", "PLAYERA", 3),
    ("shared-clique:3", "PLAYERB", 3),
    ("shared-clique:4", "PLAYERB", 3),
)
"""Board, deviator, years."""
SIGHTS: dict[str, Sight] = {"at once": 0, "a phase late": 1, "only from adjacent provinces": ADJACENT}
EPSILONS: dict[tuple[str, int], tuple[Fraction | int, ...]] = {
    ("clique:3", 3): (0, Fraction(1, 2), 1),
}
"""Board and years -> epsilons of the table on sight."""
MOST_LOST = 6
SAMPLED, MOST_UNITS, LENGTHS = 150, 4, (1, 2, 3)  # number of positions, units at most, and years left
GAMES_HEAD = ("board, years", "deviator", "deterministic", "independent", "joint", "positions in the certificate")
POSITIONS_HEAD = (
    "years left",
    "positions",
    "randomizing helps",
    "by up to",
    "agreeing helps",
    f"perhaps (less than {ENOUGH})",
    "by up to",
)
SIGHT_HEAD = ("board, years", "epsilon", *SIGHTS)


def saved_row(file: Path, make: Callable[[], list[str]]) -> list[str]:
    """A row from its file; computed and saved first if there is no file."""
    if not file.exists():
        file.write_text(json.dumps(make()), encoding="utf-8")
    return list(json.loads(file.read_text(encoding="utf-8")))


def game_row(folder: Path, board: str, deviator: str, years: int) -> list[str]:
    """One row of the table of games; its certificate is checked and saved."""
    found = certify_apart(board, deviator, years)
    checked = check_apart(found.certificate)
    found.certificate.save(folder / f"{file_stem(board, years, deviator)}.npz")
    most, least = found.at_most - found.path_value, found.at_least - found.path_value
    between = f"{np.floor(least * 1e4) / 1e4:.4f} to {np.ceil(float(most) * 1e4) / 1e4:.4f}"
    return [
        f"{board}, {years}",
        deviator,
        str(found.pure - found.path_value),
        str(most) if abs(float(most) - least) <= CLOSE else between,
        str(found.agreed - found.path_value),
        f"{checked:,}",
    ]


def position_rows() -> Iterator[list[str]]:
    """The rows of the table of positions."""
    values = punisher_values("clique:3", LENGTHS, SAMPLED, MOST_UNITS)
    for years, found in zip(LENGTHS, values, strict=True):
        randomizing = found.deterministic - found.joint
        least, most = found.independent_low - found.joint, found.independent_high - found.joint
        yield [
            str(years),
            str(len(found.joint)),
            str((randomizing > CLOSE).sum()),
            f"{randomizing.max():.2f}",
            str((least > CLOSE).sum()),
            str(((most > CLOSE) & (least <= CLOSE)).sum()),
            f"{most.max():.3f}",
        ]


def sight_rows(folder: Path, board: str, years: int) -> Iterator[list[str]]:
    """A game's rows of the table on sight: the best paths found."""
    columns = []
    for sight in SIGHTS.values():
        file = folder / f"{file_stem(board, years, f'sight-{sight}')}.json"
        columns.append(saved_row(file, partial(best_paths, board, years, sight)))
    for epsilon, *cells in zip(EPSILONS[board, years], *columns, strict=True):
        yield [f"{board}, {years}", str(epsilon), *cells]


def best_paths(board: str, years: int, sight: Sight) -> list[str]:
    """The welfare found at each epsilon, and each power's points; the certificates are checked."""
    points = frontier(board, years, EPSILONS[board, years], MOST_LOST, sight=sight)
    for point in points:
        for certificate in point.certificates:
            check_drawn(certificate)
    found = {point.epsilon: f"{point.welfare}: {' '.join(map(str, point.points))}" for point in points}
    return [found.get(Fraction(each), "not found") for each in EPSILONS[board, years]]


def file_stem(board: str, years: int, what: str) -> str:
    """The name of a result's file, without ending."""
    return f"{board}-{what}-years-{years}".replace(":", "-")


def main(
    folder: Annotated[Path, typer.Option(help="Folder for certificates and rows.")] = Path("runs/press-and-sight"),
    docs: Docs = None,
) -> None:
    """Solve the games, check the certificates, and print the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    games, sights = list[list[str]](), list[list[str]]()
    with metered("solving", len(GAMES) + len(EPSILONS), "games") as meter:
        for board, deviator, years in GAMES:
            file = folder / f"{file_stem(board, years, deviator)}.json"
            games.append(saved_row(file, partial(game_row, folder, board, deviator, years)))
            meter.advance(1)
        for board, years in EPSILONS:
            sights += sight_rows(folder, board, years)
            meter.advance(1)
    tables = {
        "theorems-press": (GAMES_HEAD, games),
        "theorems-press-positions": (POSITIONS_HEAD, list(position_rows())),
        "theorems-sight": (SIGHT_HEAD, sights),
    }
    print("\n\n".join(markdown(head, rows) for head, rows in tables.values()))
    for name, (head, rows) in tables.items():
        save(docs and docs / "tables", name, head, rows)


if __name__ == "__main__":
    typer.run(main)
