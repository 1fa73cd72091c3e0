"""Tables of paired contrasts, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from agents.runtime.results import tables_of
from agents.runtime.tables import new_table
from evaluation.experiments.compare import Comparison, Contrast, fewest_alike
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.tables.game_tables import below, cell
from evaluation.tables.measure_names import full_name
from evaluation.tables.rules_text import rules_text

CLEAR = " *"


@tables_of.register
def _(comparison: Comparison) -> list[Table]:
    return [contrast_table(comparison)]


def contrast_table(comparison: Comparison, title: str = "") -> Table:
    """Each condition's value, and its difference from the first; with `pairs`, one row per pair of conditions.

    Args:
        title: "" for the map and rules.
    """
    head, rows = contrast_cells(comparison)
    shared = comparison.shared
    map_name = f"{shared['map']} map, " if "map" in shared else ""
    default = f"Differences: {map_name}{rules_text(shared, comparison.varied)}"
    columns = [f"{'|' if name in WORDS else '>'}{name}" for name in head]
    table = new_table(title or default, below(caption(comparison), comparison.notes), columns, rows)
    for number, row in enumerate(rows):
        if number and row[0] and head[0] == "measure":
            table.rows[number - 1].end_section = True
    return table


WORDS = ("measure", "condition", "first", "second")


def contrast_cells(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table. A measure is named in its first row; a single measure, in the head."""
    baseline, several = comparison.baseline, len(comparison.measures) > 1
    value = "value" if several else full_name(comparison.measures[0])
    head = ["condition", value, f"difference from {baseline}"] if baseline else ["second", value, "first", value]
    head += [] if baseline else ["second - first"]
    rows: list[list[str]] = []
    for measure in comparison.measures:
        mine = [each for each in comparison.contrasts if each.measure == measure]
        listed = list(_from_baseline(mine) if baseline else map(_pair, mine))
        rows += [[full_name(measure) * (not place), *row] if several else row for place, row in enumerate(listed)]
    return ["measure"] * several + head, rows


def _from_baseline(contrasts: Sequence[Contrast]) -> Iterator[list[str]]:
    yield [contrasts[0].first, _cell(contrasts[0].first_value), ""]
    for each in contrasts:
        yield [each.second, _cell(each.second_value), _difference(each)]


def _pair(each: Contrast) -> list[str]:
    return [each.second, _cell(each.second_value), each.first, _cell(each.first_value), _difference(each)]


def _difference(each: Contrast) -> str:
    return "+" * (each.difference.value > 0) + _cell(each.difference) + CLEAR * each.is_clear


def _cell(estimate: Estimate) -> str:
    return cell(estimate, 3 if abs(estimate.value) < 100 else 1)


def caption(comparison: Comparison) -> str:
    """Explains the numbers of the table."""
    games, count = comparison.games, len(comparison.contrasts)
    played = f"games: {games} per condition, paired by their seeds"
    if games < FEWEST_GAMES:
        return f"{played}; fewer than {FEWEST_GAMES} have no interval"
    both = f"; the {count} intervals of differences hold simultaneously" if count > 1 else ""
    star = (
        f"; {CLEAR.strip()} 0 is outside the interval, or all of at least {fewest_alike(count)} games have the same "
        "difference, not 0"
    )
    return f"{played}. Mean [95% interval]{both}{star * any(each.is_clear for each in comparison.contrasts)}"
