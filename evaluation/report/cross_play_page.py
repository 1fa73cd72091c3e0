"""The HTML page of a cross-play result: a summary, a heatmap and tables. Self-contained, without scripts."""

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
from evaluation.measures.intervals import Estimate
from evaluation.report.figures import as_svg, empty_figure
from evaluation.report.markup import framed, html_table, origin, paragraph, whole_page
from evaluation.tables.cross_play_tables import cross_play_tables, mix_table, ties, written_shares
from evaluation.tables.game_tables import cell
from evaluation.tables.measure_names import listed
from evaluation.tables.rules_text import rules_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cross_play_page(result: CrossPlayResult, command: str = "") -> str:
    """The page of a result.

    Args:
        command: the command that produced the result; "" for none.
    """
    made = (
        f"welfare-env {welfare_env.__version__}, seed {result.seed}, {result.games} games per mix; the same command "
        'gives the same numbers. Intervals are 95% (see the page "Measures" of the documentation).'
    )
    parts = [
        f"<h1>Cross-play of {escape(', '.join(result.policies))}</h1>",
        "<h2>Summary</h2>",
        *map(paragraph, summary(result)),
        _figure(result),
        *map(_section, [*cross_play_tables(result), mix_table(result)]),
        *origin(command, (f"Rules: {rules_text(result.rules.to_dict())}. Map: {result.map_name}.", made)),
    ]
    return whole_page("Cross-play", parts)


def summary(result: CrossPlayResult) -> Iterator[str]:
    """Sentences on the best policy in self-play and among others, equilibria, and ties."""
    if result.rules.is_welfare:
        yield f"In self-play, {_best(result.self_play_welfare)} has the highest root Nash welfare."
    if any(len(mix.counts) > 1 for mix in result.mixes.values()):
        yield f"Among others, {_best(result.mixed_payoffs)} has the highest payoff per seat."
    lasting = [written_shares(each.shares) for each in result.equilibria if each.is_stable]
    yield f"Stable symmetric equilibria of the empirical game: {'; '.join(lasting) or 'none'}."
    fitted = [written_shares(each.shares) for each in result.equilibria if each.is_fitted]
    if fitted:
        yield f"Equilibria that depend on fitted payoffs, with unknown stability: {'; '.join(fitted)}."
    for sentence in ties(result):
        yield f"{sentence}."


def _best(estimates: Mapping[str, Estimate]) -> str:
    """The policy with the largest value, its estimate, and policies with overlapping intervals."""
    best = max(estimates, key=lambda policy: estimates[policy].value)
    bounds = {
        policy: (each.low, each.high) if each.has_interval else (each.value, each.value)
        for policy, each in estimates.items()
    }
    near = [policy for policy in estimates if policy != best and bounds[policy][1] >= bounds[best][0]]
    others = f"; with overlapping intervals: {listed(near)}" if near else ""
    return f"{best} ({cell(estimates[best])}{others})"


def _figure(result: CrossPlayResult) -> str:
    """The heatmap, or without matplotlib a note on how to install it."""
    try:
        return framed(as_svg(heatmap(result), "Pairwise payoffs"), "Pairwise payoffs", ABOUT)
    except EvaluationError as error:
        return paragraph(f"The heatmap of pairwise payoffs is missing: {error}", note=True)


def _section(table: Table) -> str:
    """A terminal table as HTML."""
    head = [_plain(column.header) for column in table.columns]
    rows = zip(*([_plain(cell) for cell in column.cells] for column in table.columns), strict=True)
    title = f"<h2>{escape(_plain(table.title))}</h2>"
    return title + html_table(head, list(rows), _plain(table.caption))


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell or "")


LINE = 26  # maximum characters per line of a label
LEAST_GAIN = 1e-9
COLORS = "cividis"  # readable for color-blind people
ABOUT = (
    "Mean points of one player of the row's policy when all other seats play the column's policy; on the diagonal, "
    "self-play. Bold: more than the column's policy gets in self-play, with the 95% interval of the difference above 0."
)


def pairwise_payoffs(result: CrossPlayResult) -> np.ndarray:
    """[policies, policies] payoff of a seat of the row's policy if all others play the column's; nan if not played."""
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
            color = "#111111" if value > middle else "white"  # not black, which `as_svg` replaces by the text color
            axis.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=9, weight=weight)
    points = "points a year" if result.rules.is_welfare else f"score ({result.rules.scoring})"
    figure.colorbar(image, ax=axis, label=points, shrink=0.8)
    return figure


def _folded(policy: str) -> str:
    """A spec, with line breaks after commas."""
    lines = [""]
    for part in policy.replace(",", ",\0").split("\0"):
        if lines[-1] and len(lines[-1] + part) > LINE:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines).replace("$", r"\$")  # matplotlib would parse it as mathematics
