"""The table of docs/theorems.md: what a deviator gains from pi_t, against each kind of punishers, with certificates.

    python -m research.price_of_peace.theorems --map clique:3 --years 3     # one board: seconds
    python -m research.price_of_peace.theorems --tables docs/tables         # all: an hour and a half

Every game of T years and every year t of disarmament is solved, and its certificate checked (`UNCHECKED` says which are
not). Gains are listed by T - t = 0, 1, 2, ...; games with the same T - t have the same gain, or the script fails.
Gains against randomizing punishers are exact fractions, certified from both sides, for t = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated

import typer

from agents.runtime.progress import metered
from agents.toy_boards.shape import clique_of
from evaluation.exact.theorems import roles
from research.price_of_peace.certificates import UNIT
from research.price_of_peace.checking import Checker
from research.price_of_peace.punisher_proofs import proven, search_of
from research.price_of_peace.threat_proofs import threat_certificate
from research.price_of_peace.threats import ThreatSearch
from research.tables import Folder, show
from welfare_env import load_board

BOARDS = [f"{kind}:{n}" for kind in ("clique", "shared-clique") for n in range(3, 8)]
LONGEST: dict[str, dict[str, int]] = {
    "stated": dict.fromkeys(BOARDS, 8),
    "ranked": {"clique:6": 8, "clique:7": 10, "shared-clique:6": 8, "shared-clique:7": 8},
    "best": {"clique:3": 8, "clique:4": 6, "clique:5": 5, "clique:6": 3, "shared-clique:3": 6, "shared-clique:6": 3},
    "randomizing": {
        "clique:3": 7,
        "clique:4": 4,
        "clique:5": 3,
        "clique:6": 3,
        "shared-clique:3": 5,
        "shared-clique:4": 3,
    },
}
"""Punishers -> board -> longest game."""
UNCHECKED = {("clique:6", "stated"): 5}  # certificates of longer games are not checked
HEAD = ("map", "deviator", *LONGEST)


def gains(map_name: str, role: str, punishers: str, years: int) -> list[Fraction]:
    """Gains by T - t."""
    found: dict[int, set[Fraction]] = {}
    solve = randomizing if punishers == "randomizing" else deterministic
    for disarmed, gain in solve(map_name, role, punishers, years):
        found.setdefault(disarmed, set()).add(gain)
    if any(len(each) > 1 for each in found.values()):
        raise RuntimeError(f"{map_name}, {role}, {punishers}: the gain depends on the armed years: {found}")
    return [found[disarmed].pop() for disarmed in sorted(found)]


def deterministic(map_name: str, role: str, punishers: str, years: int) -> Iterator[tuple[int, Fraction]]:
    """T - t and gain of every game."""
    search = search_of(map_name, role, punishers)
    checker = Checker(map_name, roles(map_name)[role])
    for length in range(1, years + 1):
        for t in range(1, length + 1):
            if length <= UNCHECKED.get((map_name, punishers), years):
                checker.check(proven(search, length, t))
            yield length - t, Fraction(search.value(length, length - t) - search.path_value(length, length - t))


def randomizing(map_name: str, role: str, punishers: str, years: int) -> Iterator[tuple[int, Fraction]]:
    """T - t and gain of every game with t = 1."""
    board = load_board(map_name)
    power = roles(map_name)[role]
    threats, checker = ThreatSearch(clique_of(board), board.power_index[power]), Checker(map_name, power)
    for length in range(1, years + 1):
        found = threat_certificate(map_name, role, length, 1, threats)
        checker.check(found)
        if found.lower != found.upper:
            raise RuntimeError(f"{map_name}, {role}, {length} years: from {found.lower} to {found.upper}")
        yield length - 1, Fraction(found.upper, UNIT) - found.path_value


def main(
    map_name: Annotated[str, typer.Option("--map", help="One board; by default all.")] = "",
    years: Annotated[int, typer.Option(help="Longest game, with --map.")] = 3,
    tables: Folder = None,
) -> None:
    """Solve the games, check the certificates, and print the table."""
    boards = [map_name] if map_name else BOARDS
    kinds = [(name, role) for name in boards for role in roles(name)]
    rows = []
    with metered("solving", len(kinds) * len(LONGEST), "searches") as meter:
        for name, role in kinds:
            row = [name, role]
            for punishers, longest in LONGEST.items():
                length = years if map_name else longest.get(name, 0)
                row.append(" ".join(map(str, gains(name, role, punishers, length))) or "-")
                meter.advance(1)
            rows.append(row)
    show(None if map_name else tables, "theorems-gains", HEAD, rows)


if __name__ == "__main__":
    typer.run(main)
