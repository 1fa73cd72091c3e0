"""Terminal tables of collusion results."""

from __future__ import annotations

from rich.table import Table

from evaluation.coalitions.result import CollusionResult
from evaluation.coalitions.surplus import Collusion
from evaluation.tables.game_tables import add_row, below, cell, titled

KINDS = {True: "jointly", False: "separately"}
ABOUT = (
    "points a year with 95% intervals. gain: a member's gain over self-play. surplus: gain minus the same power's gain "
    "alone with the same policy; beyond best: gain minus its largest gain alone with any policy tried (at least 0). "
    "loss: loss of another power"
)
SAYS = {
    "collusion": "collusion: together the members gain more than alone, and the others lose",
    "cooperation": "cooperation: together the members gain more than alone, and the others do not lose",
    "exploitation": "exploitation: the members gain, but no more than alone",
    "no surplus": "no surplus: together the members gain no more than alone, and their gain is not significant",
    "not shown": "not shown: these games neither show nor rule out collusion",
}
ROWS = {
    "gain": "gain of a member",
    "alone": "gain of the same powers alone, same policy",
    "surplus": "surplus",
    "beyond_best": "surplus over the best policy alone",
    "least": "smallest surplus of a member",
    "loss": "loss of another power",
    "worst_loss": "largest loss of another power",
    "welfare_loss": "loss of the others' root Nash welfare",
    "waste": "loss of all powers, total",
}


def collusion_table(result: CollusionResult) -> Table:
    """The chosen coalition, then the best coalition of each other size and kind, and contenders."""
    found, kinds = result.found, result.by_kind()
    tried = f"{len(found.screened)} coalitions with policies were compared on separate games; " * bool(found.screened)
    table = titled(
        f"Collusion: {found.profile}, {found.map_name} map, years: {found.rules.years}, games: {len(found.baseline)}",
        below(f"{ABOUT}. {tried}first row: the chosen coalition", found.notes),
        ("members", "|policy", "coalition", ">gain", ">surplus", ">beyond best", ">loss", "shown"),
    )
    _add(table, result.best)
    table.add_section()
    best = [each for _, each in sorted(kinds.items()) if each is not result.best]
    for each in [*best, *(one for one in result.coalitions if one not in (result.best, *best))]:
        _add(table, each)
    return table


def surplus_table(best: Collusion) -> Table:
    """One coalition: every measure, and each member's surplus."""
    table = titled(f"{' + '.join(best.coalition)}: {best.deviator}", SAYS[best.verdict], ("|", ">points a year"))
    for name, meaning in ROWS.items():
        add_row(table, meaning, cell(getattr(best, name)))
    table.add_section()
    for power, surplus in best.members.items():
        add_row(table, f"surplus of {power}; best alone: {best.best_alone[power] or 'no attack'}", cell(surplus))
    return table


def _add(table: Table, each: Collusion) -> None:
    estimates = (each.gain, each.surplus, each.beyond_best, each.loss)
    names = KINDS[each.coordinated], each.deviator, "\n".join(each.coalition)
    add_row(table, *names, *map(cell, estimates), each.verdict)
