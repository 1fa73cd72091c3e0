"""Paths made by hand that nobody gains by leaving, where the search of the frontier does not end.

    python -m research.price_of_peace.paths

*Home*: all take their cores in year 1, and all but two disband there in Winter. The two *keepers* walk home in Fall of
year 2, and disband in their leaves. This costs one point per keeper, whatever T is; pi_{T-1}, the best of the paper's
paths that nobody gains by leaving, costs n (T - 2). *Theft*: one keeper, who takes another's core in year 2 instead.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from agents.runtime.progress import metered
from agents.toy_boards.shape import Clique, clique_of
from evaluation.exact.results import OrdersByPhase
from research.price_of_peace.frontier import FrontierSearch
from research.tables import Folder, show
from welfare_env import load_board

HEAD = ("board, years", "path", "sum", "of", "best of the paper's", "points", "gain by leaving", "positions")


def home_path(clique: Clique, keepers: int = 2) -> OrdersByPhase:
    """The path on which the last `keepers` players go home in year 2 and disband."""
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
    """The path on which the first player takes the last one's core in year 2."""
    year, cores = clique.board.first_year, clique.piece[: clique.cores]
    return (
        home_path(clique)[0],
        (f"W{year}A", tuple(f"{piece} D" for piece in cores[1:])),
        (f"F{year + 1}M", (f"{cores[0]} - {cores[-1][2:]}",)),
        (f"W{year + 1}A", (f"{cores[-1]} D",)),
    )


KINDS: dict[str, Callable[[Clique], OrdersByPhase]] = {"home": home_path, "theft": theft_path}
GAMES = {
    ("clique:3", "home"): (3, 4, 5, 6),
    ("clique:4", "home"): (3, 4, 5, 6, 8),
    ("clique:5", "home"): (3,),
    ("clique:4", "theft"): (3, 4),
    ("clique:5", "theft"): (3,),
}
"""Board and kind of path -> lengths of game."""


def row_of(map_name: str, years: int, kind: str) -> list[str]:
    """A row of the table; the certificates are checked."""
    board = load_board(map_name)
    total, *rest = FrontierSearch(map_name, years).certified(KINDS[kind](clique_of(board))).row()
    most = years * len(board.centers)
    papers = most - len(board.powers) * max(years - 2, 0)  # pi_{T-1}
    return [f"{map_name}, {years}", kind, total, str(most), str(papers), *rest]


def main(tables: Folder = None) -> None:
    """Certify the paths, check the certificates, and print the table: some minutes."""
    games = [(board, years, kind) for (board, kind), lengths in GAMES.items() for years in lengths]
    rows = []
    with metered("certifying", len(games), "games") as meter:
        for game in games:
            rows.append(row_of(*game))
            meter.advance(1)
    show(tables, "theorems-paths", HEAD, rows)


if __name__ == "__main__":
    typer.run(main)
