"""Pictures of evolving populations by matplotlib (the extra `plot`): shares over time, and paths in a simplex.

Colors are those of Okabe and Ito, which color-blind readers can distinguish; agents have them in library order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, cycle
from typing import TYPE_CHECKING

import numpy as np

from modal_env.dynamics.populations import Floats
from modal_env.dynamics.replicator import Trajectory
from modal_env.errors import GameError, ModalError, install_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
_HATCHES = ("", "//", "..", "xx")
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.5, -0.6]])
_LABELS = (("right", "top"), ("left", "top"), ("center", "bottom"), ("center", "top"))


def shares_over_time(trajectory: Trajectory, *, log_time: bool = False, title: str = "") -> Figure:
    """The share of every agent over time, as stacked bands.

    Args:
        log_time: a logarithmic axis of time, for times above 0.

    Raises:
        ModalError: matplotlib is not installed.
    """
    figure, axes = new_figure(8.0, 4.0)
    bands(axes, trajectory.times, trajectory.shares, trajectory.names)
    axes.set(xlabel="time", ylabel="share", title=title, xscale="log" if log_time else "linear")
    return figure


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

    Raises:
        GameError: not three different corners of the trajectories' agents.
        ModalError: matplotlib is not installed.
    """
    names = trajectories[0].names
    if len(set(corners)) != 3 or not set(corners) <= set(names):
        raise GameError(f"corners={list(corners)!r:.300}: give three of {', '.join(names):.300}")
    figure, axes = new_figure(6.4, 6.2)
    places = _CORNERS[[list(corners).index(name) if name in corners else 3 for name in names]]
    for a, b in combinations(_CORNERS, 2):
        axes.plot(*np.array([a, b]).T, color="#BBBBBB", linewidth=0.8, zorder=0)
    others = [name for name in names if name not in corners]
    for name, place, (across, up) in zip((*corners, ", ".join(others)), _CORNERS, _LABELS, strict=True):
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


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure, which is not shown, and its axes.

    Raises:
        ModalError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModalError(f"pictures need matplotlib: {install_extra('plot')}") from error
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    return figure, figure.subplots()


def bands(axes: Axes, places: Floats, shares: Floats, names: Sequence[str]) -> None:
    """Stacked bands of [points, n] shares, with a legend."""
    colors = [color_of(agent) for agent in range(len(names))]
    drawn = axes.stackplot(places, shares.T, labels=[*map(plain, names)], colors=colors, edgecolor="white", lw=0.2)
    for agent, band in enumerate(drawn):
        band.set_hatch(_HATCHES[agent // len(PALETTE) % len(_HATCHES)])
    axes.set(xlim=(places[0], places[-1]), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)


def color_of(agent: int) -> str:
    """The color of an agent by its place in the library."""
    return PALETTE[agent % len(PALETTE)]


def plain(name: str) -> str:
    """A name as a label: shortened, with $ escaped, and visible despite a leading _ (which hides it in matplotlib)."""
    written = f"{name:.40}".encode("utf-8", "replace").decode("utf-8")  # without halves of surrogate pairs
    return ("\N{THIN SPACE}" if name.startswith("_") else "") + written.replace("$", r"\$")
