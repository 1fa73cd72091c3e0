"""Terminal tables of several conditions: one row per condition, with columns for the swept options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.rows import PlayedResult
from evaluation.tables.game_tables import CHOSEN, MEANING, below, cell, titled
from evaluation.tables.rules_text import rules_text

SWEPT = {"variant": "variant", "years": "years", "message_rounds": "message rounds"}
Cells = Mapping[str, str]  # head of the column -> cell
NUMBERS = "proficiency", "stolen", "conflicts", "score", "points"  # mark columns of numbers


Result = TypeVar("Result", bound=PlayedResult)


def self_play_sweep(results: Sequence[SelfPlayResult]) -> Table:
    """One row per condition and profile."""
    has_welfare = any(result.rules.is_welfare for result in results)
    has_scores = not all(result.rules.is_welfare for result in results)
    is_one = len({result.policy for result in results}) == 1

    def cells(result: SelfPlayResult) -> Iterator[Cells]:
        points = result.rules.is_welfare
        yield (
            ({} if is_one else {"policy": result.policy})
            | ({"root Nash welfare, points a year": cell(result.root_nash_welfare, 3)} if has_welfare else {})
            | ({"best score": "-" if points else cell(result.best_score, 3)} if has_scores else {})
            | {"proficiency": cell(result.proficiency)}
            | {"stolen SCs a year": cell(result.stolen_centers), "conflicts a phase": cell(result.conflicts)}
        )

    what = f"Self-play of {results[0].policy}" if is_one else "Self-play"
    return _sweep(what, results, cells, len(results[0].measures))


def exploitability_sweep(results: Sequence[ExploitabilityResult]) -> Table:
    """One row per condition: the best attack."""

    def cells(result: ExploitabilityResult) -> Iterator[Cells]:
        yield {
            "deviator": result.deviator,
            "exploitability, points a year": cell(result.value),
            "by": " + ".join(result.best),
        }

    return _sweep(f"Exploitability of {results[0].profile}", results, cells, len(results[0].baseline), CHOSEN)


def red_team_sweep(results: Sequence[RedTeamResult]) -> Table:
    """One row per condition: the best attack."""
    attacks = {id(result.found): result for result in results}

    def cells(found: ExploitabilityResult) -> Iterator[Cells]:
        best = attacks[id(found)].best
        yield {
            "best attack": best.deviator,
            "coalition": " + ".join(best.coalition),
            "gain, points a year": cell(best.gain),
        }

    found = [result.found for result in results]
    return _sweep(f"Red team: {found[0].profile}, {results[0].budget}", found, cells, len(found[0].baseline), CHOSEN)


def cross_play_sweep(results: Sequence[CrossPlayResult]) -> Table:
    """One row per condition and policy."""

    def cells(result: CrossPlayResult) -> Iterator[Cells]:
        for policy in result.policies:
            yield {
                "policy": policy,
                "root Nash welfare alone, points a year": cell(result.self_play_welfare[policy]),
                "points among others": cell(result.mixed_payoffs[policy]),
            }

    return _sweep("Cross-play", results, cells, results[0].games)


def _sweep(
    what: str, results: Sequence[Result], cells: Callable[[Result], Iterator[Cells]], games: int, remark: str = ""
) -> Table:
    rules = [result.rules.to_dict() for result in results]
    swept = [name for name in SWEPT if len({str(each[name]) for each in rules}) > 1]
    common = {name: value for name, value in rules[0].items() if all(each[name] == value for each in rules)}
    common |= {name: rules[0][name] for name in SWEPT}  # `rules_text` leaves out the swept ones
    notes = dict.fromkeys(note for result in results for note in result.notes)
    table = titled(
        f"{what}: {rules_text(common, swept)}; {results[0].map_name} map, games: {games}",
        below(MEANING + remark, notes),
    )
    rows = [
        {SWEPT[name]: str(own[name]) for name in swept} | dict(row)
        for result, own in zip(results, rules, strict=True)
        for row in cells(result)
    ]
    for head in rows[0]:
        is_number = head in SWEPT.values() or any(word in head for word in NUMBERS)
        table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row.values()))
    return table
