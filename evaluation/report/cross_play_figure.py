"""The heatmap of cross-play: what one player of each policy gets among players of each other one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.report.figures import empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
