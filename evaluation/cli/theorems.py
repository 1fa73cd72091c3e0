"""The command ``theorems``: what a deviator gains from the paper's punishing profile on toy boards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from agents.runtime.command_options import with_options
from agents.runtime.progress import metered
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import new_table, print_tables, print_text
from evaluation.cli.console import RESTARTS, errors_in_one_line, print_json

if TYPE_CHECKING:
    from evaluation.exact.theorems import DeviationGain

MAPS = ["clique:3", "shared-clique:3"]


@with_options
def theorems(
    tables: TableOptions,
    map_names: Annotated[
        list[str] | None,
        typer.Option("--map", help="clique:n or shared-clique:n; repeat for several.", show_default=", ".join(MAPS)),
    ] = None,
    years: Annotated[int, typer.Option(min=1, max=10, help="Longest game, in years.")] = 6,
    punishers: Annotated[
        str, typer.Option(help="stated: the policy punisher:t=N. ranked: its 300 best movements. best: all movements.")
    ] = "stated",
    as_json: Json = False,
) -> None:
    """A deviator's gain against the paper's punishing profile, by length of the game and year of disarmament.

    For example: welfare-env theorems --map clique:3 --years 3
    """
    from evaluation.exact.theorems import deviation_gains, roles  # lazily: numba

    names = map_names or MAPS
    with errors_in_one_line(RESTARTS):
        kinds = [(name, role) for name in names for role in roles(name)]
        tables.check()
        found: list[DeviationGain] = []
        with metered("solving", len(kinds) * years * (years + 1) // 2, "games") as meter:
            for name in names:
                for gain in deviation_gains(name, years, punishers):
                    found.append(gain)
                    meter.advance(1)
        tables.write([each.row() for each in found])
        if as_json:
            print_json([each.row() for each in found])
            return
        for name, role in kinds:
            mine = [each for each in found if (each.map, each.role) == (name, role)]
            print_tables(gain_table(f"{name}: gain of a deviating {role}", mine))
            print_text(verdict(mine))


def gain_table(title: str, gains: Sequence[DeviationGain]) -> Table:
    """Gains by T and t."""
    longest = max(each.years for each in gains)
    found = {(each.years, each.t): str(each.gain) for each in gains}
    lengths = range(1, longest + 1)
    rows = ((str(years), *(found.get((years, t), "") for t in lengths)) for years in lengths)
    return new_table(title, "", ("T", *(f">t={t}" for t in lengths)), rows)


def verdict(gains: Sequence[DeviationGain]) -> str:
    """The values of T - t for which no deviator of a role gains."""
    by_late: dict[int, set[int]] = {}
    for each in gains:
        by_late.setdefault(each.years - each.t, set()).add(each.gain)
    none = [str(late) for late, found in sorted(by_late.items()) if found == {0}]
    some = [f"{late} ({'/'.join(map(str, sorted(found)))})" for late, found in sorted(by_late.items()) if found != {0}]
    return f"no gain for T-t = {', '.join(none) or 'none'}; a gain for T-t = {', '.join(some) or 'none'}"
