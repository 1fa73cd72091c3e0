"""Plots of basins and of growth (matplotlib, from the extra `plot`); each function returns a figure to save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import cycle, pairwise
from math import log10
from typing import TYPE_CHECKING

import numpy as np

from modal_env.dynamics.basins import IntervalEstimate
from modal_env.dynamics.growth import Growth
from modal_env.dynamics.populations import Floats
from modal_env.pictures import bands, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS_A_RUN = 20


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
