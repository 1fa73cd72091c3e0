"""The command ``exact``: the exact gain of a best response on small boards, and its orders."""

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
from evaluation.cli.options import read_coalitions
from evaluation.experiments.exploitability import resolve_coalitions
from welfare_env import load_board

if TYPE_CHECKING:
    from evaluation.exact import BestResponse

ABOUT = "welfare points of the whole game, summed over a coalition. In a Nash equilibrium no single power gains"


@with_options
def exact(
    policy: Annotated[
        str,
        typer.Argument(help="The profile: a policy for all seats, or e.g. '2*prosocial + 2*hold', in the map's order."),
    ],
    tables: TableOptions,
    map_name: Annotated[str, typer.Option("--map", help="A map without convoys.")] = "clique:4",
    years: Annotated[int, typer.Option(min=1, help="Length of the game, in years.")] = 5,
    coalitions: Annotated[
        str,
        typer.Option(help="Deviators: singles, pairs, or e.g. PLAYERA,PLAYERB+PLAYERC; + maximizes their sum."),
    ] = "singles",
    as_json: Json = False,
) -> None:
    """The exact maximum gain of a power or coalition that deviates from a profile, on small boards.

    For example: welfare-env exact prosocial --map clique:4 --years 5
    """
    from evaluation.exact import best_response  # lazily: numba

    with errors_in_one_line(RESTARTS):
        board = load_board(map_name)
        chosen = resolve_coalitions(board, read_coalitions(coalitions, board.powers))
        tables.check()
        found = []
        with metered("solving", len(chosen), "coalitions") as meter:
            for coalition in chosen:
                found.append(best_response(map_name, policy, coalition, years))
                meter.advance(1)
        best = max(found, key=lambda each: each.gain)
        tables.write([each.row(policy) for each in found])
        if as_json:
            played = {"profile": policy, "map": map_name, "years": years}
            print_json(played | {"best": list(best.coalition), "coalitions": [each.facts() for each in found]})
            return
        print_tables(gain_table(found, f"Exact gains against {policy}: {map_name} map, years: {years}, no press"))
        _print_best(best)


def gain_table(found: Sequence[BestResponse], title: str) -> Table:
    """One row per coalition."""
    columns = ("coalition", ">with the profile", ">best response", ">gain", ">gain a year", ">positions")
    rows = []
    for each in found:
        values = (f"{value:.6g}" for value in (each.profile_value or 0.0, each.value, each.gain))
        rows.append(("\n".join(each.coalition), *values, f"{each.gain_per_year:.2f}", f"{each.positions:,}"))
    return new_table(title, ABOUT, columns, rows)


def _print_best(best: BestResponse) -> None:
    """Print the coalition with the largest gain, and its orders."""
    who = " + ".join(best.coalition)
    if best.gain <= 0:
        print_text("Nobody here gains by deviating.")
        return
    print_text(f"{who} gains most: {best.gain:.6g} in the whole game, {best.gain_per_year:.2f} a year.")
    if best.orders is None:
        print_text("Its orders depend on random draws: see `evaluation.exact.BestResponse.plan`.")
        return
    rows = ((phase, ", ".join(orders) or "-") for phase, orders in best.orders)
    print_tables(new_table(f"Best response of {who}", "", ("phase", "orders"), rows))
