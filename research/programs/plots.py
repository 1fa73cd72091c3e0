"""Plots of evolving populations (matplotlib, from the extra `plot`); each function returns a figure to save or show.

Agents have the same colors as on pages (`modal_env.pictures.style`), and their lines have different dashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, cycle, pairwise
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from modal_env.dynamics.basins import IntervalEstimate
from modal_env.dynamics.growth import Growth
from modal_env.dynamics.populations import Floats
from modal_env.dynamics.replicator import Limit, Trajectory
from modal_env.pictures.curves import OTHERS
from modal_env.pictures.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PATH, _EDGE = "#555555", "#BBBBBB"  # colors of paths that nobody takes over, and of edges
_DASHES = ("-", "--", "-.", ":")
_HATCHES = ("", "//", "..", "xx")
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.5, -0.6]])
_POINTS_A_RUN = 20
_LEAST = -12  # lower end of an axis of log10 of shares: a share of 10^-300 would leave no room for the others


def simplex(
    trajectories: Sequence[Trajectory],
    corners: tuple[str, str, str],
    *,
    marks: Mapping[str, Sequence[Fraction | float]] | None = None,
    title: str = "",
) -> Figure:
    """Paths of populations in a projected tetrahedron: three agents in the upper corners, all others in the lower.

    A population is drawn at the mean of the corners, weighted by the shares. A path has a dot at its start and an arrow
    in the middle; paths that one agent takes over are drawn differently.

    Args:
        trajectories: all of the same agents. Points at their `times` are joined by straight lines.
        corners: the names of the agents left, right and on top.
        marks: label -> [n] shares of a point to mark, e.g. an equilibrium.
    """
    names = trajectories[0].names
    figure, axes = _new_figure(6.4, 6.2)
    places = _CORNERS[[corners.index(name) if name in corners else 3 for name in names]]
    for trajectory in sorted(trajectories, key=lambda one: str(one.limit)):
        _path(axes, trajectory.limit, names, trajectory.shares @ places)
    for (label, shares), marker in zip((marks or {}).items(), cycle("*PXDv"), strict=False):
        x, y = np.array(shares, np.float64) @ places
        axes.plot(x, y, marker, color="black", markersize=11, markeredgecolor="white", label=_plain(label), zorder=5)
    others = [name for name in names if name not in corners]
    _frame_tetrahedron(axes, [*corners, others[0] if len(others) == 1 else OTHERS if others else ""], title)
    return figure


def shares_over_time(
    trajectory: Trajectory, *, log_shares: bool = False, log_time: bool = False, title: str = ""
) -> Figure:
    """The share of every agent over time: stacked bands, or log10 of the shares as lines (of those ever present).

    Args:
        log_time: a logarithmic axis of time, for times above 0.
    """
    figure, axes = _new_figure(8.0, 4.0)
    if log_shares:
        _log_lines(axes, trajectory)
    else:
        _bands(axes, trajectory.times, trajectory.shares, trajectory.names)
    label = "share in the population" + (", log10" if log_shares else "")
    axes.set(xlabel="time of the dynamics", ylabel=label, title=title, xscale="log" if log_time else "linear")
    axes.set_xlim(trajectory.times[0], trajectory.times[-1])
    _finish(axes, beside=True)
    return figure


def basin_over_epsilon(
    epsilons: Sequence[Fraction],
    shares: Sequence[IntervalEstimate],
    law: tuple[float, IntervalEstimate],
    *,
    curves: Mapping[str, Callable[[Floats], Floats]] | None = None,
    title: str = "",
) -> Figure:
    """The share of starts that end at one agent, with its 95% intervals and a power law, on logarithmic axes.

    Args:
        epsilons, shares: [points]
        law: the factor and the exponent of a power law fitted to them.
        curves: label -> a function of epsilon to draw as well, e.g. a prediction.
    """
    figure, axes = _new_figure(6.4, 4.6)
    x = np.array([float(epsilon) for epsilon in epsilons])
    values = np.array([share.value for share in shares])
    ends = np.array([[share.value - share.low for share in shares], [share.high - share.value for share in shares]])
    factor, exponent = law
    label = f"fit: {factor:.3g} ε^{exponent.value:.3f} (exponent {exponent.low:.3f} to {exponent.high:.3f})"
    wide = np.geomspace(x.min() / 1.3, x.max() * 1.3, 200)
    axes.plot(wide, factor * wide**exponent.value, label=label, color=_PATH)
    for (name, curve), dashes in zip((curves or {}).items(), cycle(_DASHES[1:]), strict=False):
        axes.plot(wide, curve(wide), label=_plain(name), color=_PATH, linestyle=dashes)
    axes.errorbar(x, values, ends, fmt="o", color="black", capsize=4, label="simulated, with 95% interval", zorder=4)
    axes.set(xscale="log", yscale="log", xlabel="ε, the price of one unit of cost", ylabel="share of starts")
    axes.set_title(title)
    axes.grid(visible=True, which="both", alpha=0.25)
    _finish(axes)
    return figure


def growth_shares(growth: Growth, *, title: str = "") -> Figure:
    """Shares in a population under best-reply growth against its size, on a logarithmic axis."""
    figure, axes = _new_figure(8.0, 4.0)
    sizes, shares = _along_runs(growth)
    _bands(axes, sizes, shares, growth.names)
    axes.set(xlabel="size of the population, log10", ylabel="share in the population", title=title)
    axes.set_xlim(sizes[0], sizes[-1])
    _finish(axes, beside=True)
    return figure


def _plain(name: str) -> str:
    """A name as a label: shortened, with $ escaped, and visible despite a leading _ (which hides it in matplotlib)."""
    written = f"{name:.40}".encode("utf-8", "replace").decode("utf-8")  # without halves of surrogate pairs
    return ("\N{THIN SPACE}" if name.startswith("_") else "") + written.replace("$", r"\$")


def _new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    return figure, figure.subplots()


def _line(agent: int) -> dict[str, Any]:
    """The style of an agent's lines in all plots: the ninth has the first one's color, but other dashes."""
    dashes = _DASHES[(agent + agent // len(PALETTE)) % len(_DASHES)]
    return {"color": PALETTE[agent % len(PALETTE)], "linestyle": dashes, "linewidth": 1.6}


def _log_lines(axes: Axes, trajectory: Trajectory) -> None:
    logs = trajectory.log_shares / np.log(10)
    there = [agent for agent in range(len(trajectory.names)) if np.isfinite(logs[:, agent]).all()]
    for agent in there:
        axes.plot(trajectory.times, logs[:, agent], label=_plain(trajectory.names[agent]), **_line(agent))
    if logs[:, there].min() < _LEAST:
        axes.set_ylim(_LEAST, 0.02 * -_LEAST)


def _bands(axes: Axes, places: Floats, shares: Floats, names: Sequence[str]) -> None:
    colors = [_line(agent)["color"] for agent in range(len(names))]
    bands = axes.stackplot(
        places, shares.T, labels=[*map(_plain, names)], colors=colors, edgecolor="white", linewidth=0.2
    )
    for agent, band in enumerate(bands):
        band.set_hatch(_HATCHES[agent // len(PALETTE) % len(_HATCHES)])
    axes.set_ylim(0, 1)


def _finish(axes: Axes, *, beside: bool = False) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    if beside:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    else:
        axes.legend(frameon=False, fontsize="small")


def _path(axes: Axes, limit: Limit, names: Sequence[str], points: Floats) -> None:
    """One line through [T, 2] points, with a dot at its start and an arrow at half its length."""
    color, label = _PATH, "not taken over"
    if limit.kind == "taken over":
        color, label = _line(names.index(limit.agents[0]))["color"], f"taken over by {_plain(limit.agents[0])}"
    known = axes.get_legend_handles_labels()[1]
    axes.plot(*points.T, color=color, linewidth=1.2, label=None if label in known else label)
    axes.plot(*points[0], "o", color=color, markersize=5, markeredgecolor="black", zorder=4)
    along = np.cumsum(np.hypot(*np.diff(points, axis=0).T))
    half = int(np.searchsorted(along, along[-1] / 2))
    arrow = {"arrowstyle": "-|>", "color": color, "mutation_scale": 13}
    axes.annotate("", xy=points[half + 1], xytext=points[half], arrowprops=arrow)


def _frame_tetrahedron(axes: Axes, names: Sequence[str], title: str) -> None:
    for a, b in combinations(range(4), 2):
        axes.plot(*_CORNERS[[a, b]].T, color=_EDGE, linewidth=0.8, zorder=0)
    shifts = ((0, -0.03, "right", "top"), (0, -0.03, "left", "top"), (0, 0.02, "center", "bottom"))
    for name, place, (x, y, across, up) in zip(names, _CORNERS, (*shifts, (0, -0.03, "center", "top")), strict=True):
        axes.text(place[0] + x, place[1] + y, _plain(name), horizontalalignment=across, verticalalignment=up)
    axes.set_title(title, pad=14)
    axes.set(aspect="equal", xlim=(-0.2, 1.2), ylim=(-0.72, 0.9))
    axes.axis("off")
    axes.plot([], [], "o", color=_PATH, markersize=5, markeredgecolor="black", label="start of a path")
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(0, 0.97))


def _along_runs(growth: Growth) -> tuple[Floats, Floats]:
    """[points] log10 of the size and [points, n] shares, several points a run; sizes may be too large for floats."""
    sizes, shares = [], []
    for before, after in pairwise(growth.populations):
        for part in range(_POINTS_A_RUN + 1):
            # More points at the beginning of a run, where shares change fastest.
            done, left = part**2, _POINTS_A_RUN**2 - part**2
            counts = [a * left + b * done for a, b in zip(before, after, strict=True)]
            size = sum(counts)
            sizes.append(log10(size) - log10(_POINTS_A_RUN**2))
            shares.append([count / size for count in counts])
    return np.array(sizes), np.array(shares)
