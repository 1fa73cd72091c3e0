"""Plots of paths in a simplex, of basins and of growth (the extra `plot`); each function returns a figure to save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, cycle, pairwise
from math import log10
from typing import TYPE_CHECKING

import numpy as np

from modal_env.dynamics.basins import IntervalEstimate
from modal_env.dynamics.growth import Growth
from modal_env.dynamics.populations import Floats
from modal_env.dynamics.replicator import Trajectory
from modal_env.pictures import bands, color_of, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS_A_RUN = 20
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.5, -0.6]])
LABELS = (("right", "top"), ("left", "top"), ("center", "bottom"), ("center", "top"))


def simplex(
    trajectories: Sequence[Trajectory],
    corners: Sequence[str],
    *,
    marks: Mapping[str, Sequence[Fraction | float]] | None = None,
    title: str = "",
) -> Figure:
    """Paths of populations in a projected tetrahedron: three agents in the upper corners, all others in the lower.

    A population is drawn at the mean of the corners, weighted by the shares. Paths have a dot at their start.

    Args:
        trajectories: all of the same agents. Points at their `times` are joined by straight lines.
        corners: the names of the agents left, right and on top.
        marks: label -> [n] shares of a point to mark, e.g. an equilibrium.
    """
    names = trajectories[0].names
    figure, axes = new_figure(6.4, 6.2)
    places = CORNERS[[list(corners).index(name) if name in corners else 3 for name in names]]
    for a, b in combinations(CORNERS, 2):
        axes.plot(*np.array([a, b]).T, color="#BBBBBB", linewidth=0.8, zorder=0)
    others = [name for name in names if name not in corners]
    for name, place, (across, up) in zip((*corners, ", ".join(others)), CORNERS, LABELS, strict=True):
        axes.text(place[0], place[1], plain(name), horizontalalignment=across, verticalalignment=up)
    for trajectory in trajectories:
        points, taker = trajectory.shares @ places, trajectory.limit.agents[:1]
        color = color_of(names.index(taker[0])) if trajectory.limit.kind == "taken over" else "#555555"
        axes.plot(*points.T, color=color, linewidth=1.2)
        axes.plot(*points[0], "o", color=color, markersize=5, markeredgecolor="black", zorder=4)
    for (label, shares), marker in zip((marks or {}).items(), cycle("*PXDv"), strict=False):
        point = np.array(shares, np.float64) @ places
        axes.plot(*point, marker, color="black", markersize=11, markeredgecolor="white", label=plain(label), zorder=5)
    axes.set_title(title, pad=14)
    axes.set(aspect="equal", xlim=(-0.2, 1.2), ylim=(-0.72, 0.9))
    axes.axis("off")
    if marks:
        axes.legend(frameon=False, fontsize="small", loc="upper left")
    return figure


def basin_over_epsilon(
    epsilons: Sequence[Fraction],
    shares: Sequence[IntervalEstimate],
    law: tuple[float, IntervalEstimate],
    curves: Mapping[str, Callable[[Floats], Floats]],
    title: str,
) -> Figure:
    """The share of starts that end at one agent, with its 95% intervals and a power law, on logarithmic axes.

    Args:
        epsilons, shares: [points]
        law: the factor and the exponent of a power law fitted to them.
        curves: label -> a function of epsilon to draw as well.
    """
    figure, axes = new_figure(6.4, 4.6)
    x = np.array([float(epsilon) for epsilon in epsilons])
    values = np.array([share.value for share in shares])
    ends = np.array([[share.value - share.low for share in shares], [share.high - share.value for share in shares]])
    factor, exponent = law
    label = f"fit: {factor:.3g} ε^{exponent.value:.3f} (exponent {exponent.low:.3f} to {exponent.high:.3f})"
    wide = np.geomspace(x.min() / 1.3, x.max() * 1.3, 200)
    axes.plot(wide, factor * wide**exponent.value, label=label, color="#555555")
    for (name, curve), dashes in zip(curves.items(), cycle(("--", "-.", ":")), strict=False):
        axes.plot(wide, curve(wide), label=name, color="#555555", linestyle=dashes)
    axes.errorbar(x, values, ends, fmt="o", color="black", capsize=4, label="simulated, with 95% interval", zorder=4)
    axes.set(xscale="log", yscale="log", xlabel="ε, the price of one unit of cost", ylabel="share of starts")
    axes.set_title(title)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(frameon=False, fontsize="small")
    return figure


def growth_shares(growth: Growth, title: str) -> Figure:
    """Shares in a population under best-reply growth against its size, on a logarithmic axis."""
    figure, axes = new_figure(8.0, 4.0)
    bands(axes, *_along_runs(growth), growth.names)
    axes.set(xlabel="size of the population, log10", ylabel="share in the population", title=title)
    return figure


def _along_runs(growth: Growth) -> tuple[Floats, Floats]:
    """[points] log10 of the size and [points, n] shares, several points a run; sizes may be too large for floats."""
    sizes, shares = [], []
    for before, after in pairwise(growth.populations):
        for part in range(POINTS_A_RUN + 1):
            # More points at the beginning of a run, where shares change fastest.
            done, left = part**2, POINTS_A_RUN**2 - part**2
            counts = [a * left + b * done for a, b in zip(before, after, strict=True)]
            size = sum(counts)
            sizes.append(log10(size) - log10(POINTS_A_RUN**2))
            shares.append([count / size for count in counts])
    return np.array(sizes), np.array(shares)
