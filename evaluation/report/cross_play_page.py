"""The HTML page of cross-play: findings in words, a heatmap and tables. Self-contained, without scripts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

import welfare_env
from evaluation.checks import EvaluationError
from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.measures.basins import STARTS
from evaluation.measures.intervals import Estimate
from evaluation.report.figures import as_svg, empty_figure
from evaluation.report.markup import framed, html_table, origin, paragraph, whole_page
from evaluation.tables.cross_play_tables import cross_play_tables, mix_table, ties, written_rest, written_shares
from evaluation.tables.game_tables import cell
from evaluation.tables.measure_names import listed
from evaluation.tables.rules_text import rules_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cross_play_page(result: CrossPlayResult, command: str = "") -> str:
    """The page of a result.

    Args:
        command: that made it; "" for none.
    """
    made = (
        f"welfare-env {welfare_env.__version__}, seed {result.seed}, {result.games} games a mix; the same command "
        'gives the same numbers. Intervals are 95% (the page "Measures" of the documentation).'
    )
    parts = [
        f"<h1>Cross-play of {escape(', '.join(result.policies))}</h1>",
        "<h2>What was found</h2>",
        *map(paragraph, summary(result)),
        _figure(result),
        *map(_section, [*cross_play_tables(result), mix_table(result)]),
        *origin(command, (f"Rules: {rules_text(result.rules.to_dict())}. Map: {result.map_name}.", made)),
    ]
    return whole_page("Cross-play", parts)


def summary(result: CrossPlayResult) -> Iterator[str]:
    """Sentences: the best policy alone, the best among others, the equilibria, where random starts lead, and ties."""
    if result.rules.is_welfare:
        yield f"Alone, {_best(result.self_play_welfare)} has the highest root Nash welfare."
    if any(len(mix.counts) > 1 for mix in result.mixes.values()):
        yield f"Among others, {_best(result.mixed_payoffs)} has the highest payoff per seat."
    lasting = [written_shares(each.shares) for each in result.equilibria if each.is_stable]
    yield f"Stable symmetric equilibria of the empirical game: {'; '.join(lasting) or 'none'}."
    fitted = [written_shares(each.shares) for each in result.equilibria if each.is_fitted]
    if fitted:
        yield f"Equilibria that rest on fitted payoffs, so whether they are stable is not known: {'; '.join(fitted)}."
    ends = [f"{cell(point.basin)} of starts to {written_rest(point)}" for point in result.rest_points]
    by = "by payoffs some of which are fitted, " if result.is_fitted else ""
    yield f"Where the replicator dynamics lead, {by}from {STARTS} random starts: {'; '.join(ends)}."
    for sentence in ties(result):
        yield f"{sentence}."


def _best(estimates: Mapping[str, Estimate]) -> str:
    """The policy with the largest value, its estimate, and those whose intervals reach as far."""
    best = max(estimates, key=lambda policy: estimates[policy].value)
    bounds = {
        policy: (each.low, each.high) if each.has_interval else (each.value, each.value)
        for policy, each in estimates.items()
    }
    near = [policy for policy in estimates if policy != best and bounds[policy][1] >= bounds[best][0]]
    others = f"; intervals that reach as far: {listed(near)}" if near else ""
    return f"{best} ({cell(estimates[best])}{others})"


def _figure(result: CrossPlayResult) -> str:
    """The heatmap; without matplotlib, how to get it."""
    try:
        return framed(as_svg(heatmap(result), "Pairwise payoffs"), "Pairwise payoffs", ABOUT)
    except EvaluationError as error:
        return paragraph(f"Without the heatmap of pairwise payoffs: {error}", note=True)


def _section(table: Table) -> str:
    """A terminal table as HTML."""
    head = [_plain(column.header) for column in table.columns]
    rows = zip(*([_plain(cell) for cell in column.cells] for column in table.columns), strict=True)
    title = f"<h2>{escape(_plain(table.title))}</h2>"
    return title + html_table(head, list(rows), _plain(table.caption))


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell or "")


LINE = 26  # characters of a line of a label
LEAST_GAIN = 1e-9
COLORS = "cividis"  # told apart by color-blind readers, too
ABOUT = (
    "Mean points of one player of the row's policy when all other seats play the column's; on the diagonal, of "
    "self-play. Bold: more than the column's own players get among themselves, with a 95% interval above 0."
)


def pairwise_payoffs(result: CrossPlayResult) -> np.ndarray:
    """Payoffs [policies, policies] of one seat of the row's policy among the column's; nan where none was played."""
    count = len(result.policies)
    seats = sum(next(iter(result.mixes)))
    payoffs = np.full((count, count), math.nan)
    for row, policy in enumerate(result.policies):
        for column in range(count):
            counts = np.zeros(count, int)
            counts[column] += seats - 1
            counts[row] += 1
            if (mix := result.mixes.get(tuple(counts.tolist()))) is not None:
                payoffs[row, column] = mix.payoffs[policy].value
    return payoffs


def heatmap(result: CrossPlayResult) -> Figure:
    """The pairwise payoffs as a figure.

    Raises:
        EvaluationError: matplotlib is not installed.
    """
    payoffs, labels = pairwise_payoffs(result), [_folded(policy) for policy in result.policies]
    size = 3.2 + 0.75 * len(labels)
    figure = empty_figure((size + 1.2, size))
    axis = figure.add_subplot()
    image = axis.imshow(payoffs, cmap=COLORS)
    axis.set_xticks(range(len(labels)), labels, rotation=38, ha="right", rotation_mode="anchor", fontsize=8)
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_xlabel("all other seats play")
    axis.set_ylabel("one seat plays")
    middle = (np.nanmin(payoffs) + np.nanmax(payoffs)) / 2
    for (row, column), value in np.ndenumerate(payoffs):
        if not math.isnan(value):
            gain = result.invasion.get((result.policies[column], result.policies[row]))
            is_gain = gain is not None and (gain.low > 0 or (gain.is_alike and gain.value > LEAST_GAIN))
            weight = "bold" if is_gain else "normal"
            color = "#111111" if value > middle else "white"  # black would follow the page's text, in dark mode too
            axis.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=9, weight=weight)
    points = "points a year" if result.rules.is_welfare else f"score ({result.rules.scoring})"
    figure.colorbar(image, ax=axis, label=points, shrink=0.8)
    return figure


def _folded(policy: str) -> str:
    """A spec in lines that end at its commas."""
    lines = [""]
    for part in policy.replace(",", ",\0").split("\0"):
        if lines[-1] and len(lines[-1] + part) > LINE:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines).replace("$", r"\$")  # matplotlib would read mathematics
