"""The command ``exact``: what powers gain at most by deviating on small boards, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from agents.command_options import with_options
from agents.progress import metered
from agents.specs import read_profile
from agents.table_files import Row
from agents.table_options import TableOptions
from agents.tables import print_tables, print_text
from evaluation.checks import board_of
from evaluation.cli.console import RESTARTS, errors_told, print_json
from evaluation.cli.options import Json, read_coalitions
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.intervals import Coalition
from evaluation.report.tables import titled

ABOUT = (
    "welfare points of the whole game; those of a coalition are added up. In a Nash equilibrium no single power gains"
)


@dataclass(frozen=True)
class ExactGain:
    """What a coalition gains at most.

    Attributes:
        coalition: who deviates.
        profile_value: its points with the profile.
        value: with its best response.
        gain: the difference, and `gain_per_year`.
        positions: how many the search looked at.
        line: phase -> its orders in a game in which it gets `value`; None where its orders depend on what others draw.
    """

    coalition: Coalition
    profile_value: float
    value: float
    gain: float
    gain_per_year: float
    positions: int
    line: tuple[tuple[str, tuple[str, ...]], ...] | None

    def row(self, profile: str, map_name: str, years: int) -> Row:
        """A row of the table "exact" of `evaluation.columns`."""
        from evaluation.exact.best_responses import exact_row  # lazily: numba

        return exact_row(map_name, years, self.coalition, self.profile_value, self.value, self.positions, profile)


@with_options
def exact(
    policy: Annotated[
        str,
        typer.Argument(help="The profile: a policy for all seats, or e.g. '2*prosocial + 2*hold', in the map's order."),
    ],
    tables: TableOptions,
    map_name: Annotated[str, typer.Option("--map", help="A map on which no army can be convoyed.")] = "clique:4",
    years: Annotated[int, typer.Option(min=1, help="Length of the game, in years.")] = 5,
    coalitions: Annotated[
        str,
        typer.Option(help="Who deviates: singles, pairs, or e.g. PLAYERA,PLAYERB+PLAYERC (together, for their sum)."),
    ] = "singles",
    as_json: Json = False,
) -> None:
    """The most that a power or a coalition gains by deviating from a profile on small boards, exactly.

    For example: welfare-env exact prosocial --map clique:4 --years 5
    """
    with errors_told(RESTARTS):
        board = board_of(map_name)
        chosen = resolve_coalitions(board, read_coalitions(coalitions, board.powers))
        tables.check()
        gains = []
        with metered("solving", len(chosen), "coalitions") as meter:
            for coalition in chosen:
                gains.append(exact_gain(map_name, policy, coalition, years))
                meter.advance(1)
        best = max(gains, key=lambda each: each.gain)
        tables.write([each.row(policy, map_name, years) for each in gains])
        if as_json:
            played = {"profile": policy, "map": map_name, "years": years}
            print_json(played | {"best": list(best.coalition), "coalitions": [asdict(each) for each in gains]})
            return
        print_tables(gain_table(gains, f"Exact gains against {policy}: {map_name} map, years: {years}, no press"))
        _print_best(best)


def exact_gain(map_name: str, profile: str, coalition: Coalition, years: int) -> ExactGain:
    """The gain of one coalition.

    Raises:
        EvaluationError: a board, a policy or a length without exact values. Others as `evaluation.exact` says.
    """
    from evaluation.exact import best_response, certify, exploitability  # lazily: numba

    line: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    value: float
    if len(coalition) > 1:
        joint = certify(map_name, profile, coalition, years)
        value, own, positions = joint.value, float(joint.path_value), joint.states
        line = tuple((phase, _orders_of(coalition, orders)) for phase, orders in joint.line)
    elif any(policy.parts or policy.checkpoints for policy in read_profile(profile).policies):
        found = exploitability(map_name, profile, years, powers=coalition).responses[coalition[0]]
        value, own, positions = found.value, found.profile_value, found.positions
    else:
        response = best_response(map_name, profile, coalition[0], years)
        value, own, positions = response.value, float(response.profile_value or 0), response.states
        line = response.orders
    gain = value - own
    return ExactGain(coalition, own, float(value), gain, gain / years, positions, line)


def _orders_of(coalition: Coalition, orders: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(text for power in coalition for text in orders.get(power, ()))


def gain_table(gains: Sequence[ExactGain], title: str) -> Table:
    """One row per coalition."""
    table = titled(title, ABOUT)
    table.add_column("coalition")
    for name in ("with the profile", "best response", "gain", "gain a year", "positions"):
        table.add_column(name, justify="right")
    for each in gains:
        values = (f"{value:.6g}" for value in (each.profile_value, each.value, each.gain))
        cells = ("\n".join(each.coalition), *values, f"{each.gain_per_year:.2f}", f"{each.positions:,}")
        table.add_row(*map(Text, cells))
    return table


def _print_best(best: ExactGain) -> None:
    """Who gains most, and the orders that do it."""
    who = " + ".join(best.coalition)
    if best.gain <= 0:
        print_text("Nobody here gains by deviating.")
        return
    print_text(f"{who} gains most: {best.gain:.6g} in the whole game, {best.gain_per_year:.2f} a year.")
    if best.line is None:
        print_text("Its orders depend on what the others draw, or on a network: see `evaluation.exact.Response.plan`.")
        return
    table = titled(f"Best response of {who}")
    table.add_column("phase")
    table.add_column("orders")
    for phase, orders in best.line:
        table.add_row(phase, Text(", ".join(orders) or "-"))
    print_tables(table)
