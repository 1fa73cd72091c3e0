"""The HTML page of cross-play: findings in words, and tables. Self-contained, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rich.table import Table
from rich.text import Text

import welfare_env
from evaluation.checks import EvaluationError
from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.report.cross_play_figure import ABOUT, heatmap
from evaluation.report.cross_play_tables import cross_play_tables, mix_table, written_mix
from evaluation.report.figures import as_svg
from evaluation.report.page import html_table, scrolling, whole_page
from evaluation.report.rules_text import rules_text


def cross_play_page(result: CrossPlayResult, command: str = "") -> str:
    """The page of a result.

    Args:
        command: that made it; "" for none.
    """
    made = (
        f"<p class=note>welfare-env {escape(welfare_env.__version__)}, seed {result.seed}, {result.games} games a mix; "
        "the same command gives the same numbers. Intervals are 95% (docs/measures.md).</p>"
    )
    return whole_page(
        "Cross-play",
        [
            f"<h1>Cross-play of {escape(', '.join(result.policies))}</h1>",
            "<h2>What was found</h2>",
            *(f"<p>{escape(sentence)}</p>" for sentence in summary(result)),
            *_figure(result),
            *map(_section, [*cross_play_tables(result), mix_table(result)]),
            "<h2>How it was made</h2>",
            f"<pre>{escape(command)}</pre>" if command else "",
            f"<p>Rules: {escape(rules_text(result.rules.to_dict()))}. Map: {escape(result.map_name)}.</p>",
            made,
        ],
    )


def summary(result: CrossPlayResult) -> Iterator[str]:
    """Sentences: the best policy alone, the best among others, and the stable equilibria."""
    welfare = {policy: each.value for policy, each in result.self_play_welfare.items()}
    if result.rules.is_welfare:
        best = max(welfare, key=welfare.__getitem__)
        yield f"Alone, {best} has the highest root Nash welfare, {welfare[best]:.2f}."
    paid = {policy: each.value for policy, each in result.mixed_payoffs.items()}
    richest = max(paid, key=paid.__getitem__)
    yield f"Among others, {richest} has the highest payoff, {paid[richest]:.2f} per seat."
    lasting = [written_mix(each.mix) for each in result.equilibria if each.is_stable]
    yield f"Stable symmetric equilibria of the empirical game: {'; '.join(lasting) or 'none'}."


def _figure(result: CrossPlayResult) -> Iterator[str]:
    """The heatmap; without matplotlib, how to get it."""
    try:
        picture = scrolling(as_svg(heatmap(result), "Pairwise payoffs"), "Pairwise payoffs")
    except EvaluationError as error:
        yield f"<p class=note>Without the heatmap of pairwise payoffs: {escape(str(error))}</p>"
    else:
        yield f"<figure>{picture}<figcaption>{escape(ABOUT)}</figcaption></figure>"


def _section(table: Table) -> str:
    """A terminal table as HTML."""
    head = [_plain(column.header) for column in table.columns]
    rows = zip(*([_plain(cell) for cell in column.cells] for column in table.columns), strict=True)
    title = f"<h2>{escape(_plain(table.title))}</h2>"
    return title + html_table(head, list(rows), _plain(table.caption))


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell or "")
