"""Collusion as tables for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from evaluation.experiments.collusion_result import CollusionResult
from evaluation.measures.collusion import Collusion
from evaluation.report.tables import below, cell, earlier, titled

KINDS = {True: "as one", False: "by itself"}
ABOUT = (
    "points a year with 95% intervals. gain: of a member, over self-play. surplus: gain less that of the same power "
    "alone with the same policy; beyond best: less the most that it gains alone, at least 0. loss: of another power"
)
SAYS = {
    "collusion": "collusion: together the members gain more than alone, and the others lose",
    "cooperation": "cooperation: together the members gain more than alone, and the others do not lose",
    "exploitation": "exploitation: the members gain, but no more than alone",
    "no surplus": "no surplus: together the members gain no more than alone",
    "not shown": "not shown: these games show neither collusion nor that there is none",
}
ROWS = {
    "gain": "gain of a member",
    "alone": "of the same powers alone, same policy",
    "surplus": "surplus",
    "beyond_best": "surplus beyond what is best alone",
    "least": "least member's surplus",
    "loss": "loss of another power",
    "worst_loss": "loss of the one that loses most",
    "welfare_loss": "loss of the others' root Nash welfare",
    "waste": "loss of all powers, total",
}


def collusion_table(result: CollusionResult) -> Table:
    """One row per size and kind of coalition; then the one that was chosen, and its contenders."""
    found = result.found
    tried = f"{len(found.screened) or 1} coalitions with policies were compared on other games"
    table = titled(
        f"Collusion: {found.profile}, {found.map_name} map, years: {found.rules.years}, games: {len(found.baseline)}",
        below(f"{ABOUT}. {tried}{earlier(result.older_games)}", found.notes),
    )
    table.add_column("members")
    table.add_column("policy", overflow="fold")
    table.add_column("coalition")
    for name in ("gain", "surplus", "beyond best", "loss"):
        table.add_column(name, justify="right")
    table.add_column("shown")
    kinds = result.by_kind()
    for _, each in sorted(kinds.items()):
        _add(table, KINDS[each.coordinated], each)
    table.add_section()
    _add(table, "chosen", result.best)
    for each in result.coalitions:
        if each not in (result.best, *kinds.values()):
            _add(table, KINDS[each.coordinated], each)
    return table


def surplus_table(best: Collusion) -> Table:
    """One coalition: every measure, and each member's surplus."""
    table = titled(f"{' + '.join(best.coalition)}: {best.deviator}", SAYS[best.verdict])
    table.add_column("", overflow="fold")
    table.add_column("points a year", justify="right")
    for name, meaning in ROWS.items():
        table.add_row(Text(meaning), Text(cell(getattr(best, name))))
    table.add_section()
    for power, surplus in best.members.items():
        table.add_row(
            Text(f"surplus of {power}; best alone: {best.best_alone[power] or 'no attack'}"), Text(cell(surplus))
        )
    return table


def _add(table: Table, kind: str, each: Collusion) -> None:
    estimates = (each.gain, each.surplus, each.beyond_best, each.loss)
    cells = (kind, each.deviator, "\n".join(each.coalition), *map(cell, estimates), each.verdict)
    table.add_row(*map(Text, cells))
