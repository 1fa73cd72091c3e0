"""Paths near the frontier of docs/theorems.md, made by hand.

    python -m research.price_of_peace.frontier_paths --docs docs

They bound the frontier from below where its search does not end. Each path is certified, and the certificates are
checked; points are saved in the folder. `--docs` rewrites the table theorems-paths in the folder's `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from agents.runtime.progress import metered
from agents.toy_boards.shape import Clique, clique_of
from evaluation.checks import board_of
from evaluation.exact import FrontierPoint, check_drawn
from evaluation.exact.certificates import OrdersByPhase
from evaluation.exact.drawn.frontier import FrontierSearch
from evaluation.exact.drawn.points import file_name
from research.tables import Docs, markdown, save

PathOf = Callable[[Clique], OrdersByPhase]


def home_path(clique: Clique, keepers: int = 2) -> OrdersByPhase:
    """All take their cores in year 1, and all but the last `keepers` disband; these go home in year 2 and disband."""
    powers, year = range(clique.powers), clique.board.first_year
    cores, leaves = clique.piece[: clique.cores], clique.piece[clique.cores :]
    kept = powers[-keepers:]
    return (
        (f"F{year}M", tuple(f"{leaves[who]} - {cores[who][2:]}" for who in powers)),
        (f"W{year}A", tuple(f"{cores[who]} D" for who in powers if who not in kept)),
        (f"F{year + 1}M", tuple(f"{cores[who]} - {leaves[who][2:]}" for who in kept)),
        (f"W{year + 1}A", tuple(f"{leaves[who]} D" for who in kept)),
    )


def theft_path(clique: Clique) -> OrdersByPhase:
    """As with one keeper, but it is the first power, and takes the last power's core in year 2."""
    year, cores = clique.board.first_year, clique.piece[: clique.cores]
    return (
        home_path(clique)[0],
        (f"W{year}A", tuple(f"{piece} D" for piece in cores[1:])),
        (f"F{year + 1}M", (f"{cores[0]} - {cores[-1][2:]}",)),
        (f"W{year + 1}A", (f"{cores[-1]} D",)),
    )


KINDS: dict[str, PathOf] = {"home": home_path, "theft": theft_path}
GAMES = {
    ("clique:3", "home"): (3, 4, 5, 6, 7),
    ("clique:4", "home"): (3, 4, 5, 6, 7, 8),
    ("clique:5", "home"): (3,),
    ("clique:4", "theft"): (3, 4),
    ("clique:5", "theft"): (3,),
}
"""Board and kind of path -> lengths of game."""


def found(folder: Path, board: str, years: int, kind: str) -> FrontierPoint:
    """A path with its certificates, from the folder if it is there; the certificates are checked."""
    file = folder / f"{kind}-{file_name(board, years, 0)}"
    if not file.exists():
        path = KINDS[kind](clique_of(board_of(board)))
        FrontierSearch(board, years).certified(Fraction(0), path).save(file)
    point = FrontierPoint.load(file)
    for certificate in point.certificates:
        check_drawn(certificate)
    return point


def row(point: FrontierPoint, kind: str) -> list[str]:
    """A row of the table."""
    board, sizes = board_of(point.map_name), [len(each) for each in point.certificates]
    most = point.years * len(board.centers)
    papers = most - len(board.powers) * max(point.years - 2, 0)  # pi_{T-1}
    points = " ".join(map(str, point.points))
    told = (kind, str(point.welfare), str(most), str(papers), points, str(point.gain), f"{max(sizes):,}")
    return [f"{point.map_name}, {point.years}", *told]


def main(
    folder: Annotated[Path, typer.Option(help="Folder for the points.")] = Path("runs/frontier-paths"),
    docs: Docs = None,
) -> None:
    """Certify the paths, check the certificates, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    games = [(board, years, kind) for (board, kind), lengths in GAMES.items() for years in lengths]
    rows = []
    with metered("certifying", len(games), "games") as meter:
        for board, years, kind in games:
            rows.append(row(found(folder, board, years, kind), kind))
            meter.advance(1)
    heads = ("board, years", "path", "sum", "of", "best of the paper's", "points", "gain by leaving", "certificate")
    print(markdown(heads, rows))
    if docs is not None:
        save(docs / "tables", "theorems-paths", heads, rows)


if __name__ == "__main__":
    typer.run(main)
