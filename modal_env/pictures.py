"""Pictures of evolving populations by matplotlib (the extra `plot`).

Colors are those of Okabe and Ito, which color-blind readers can distinguish; agents have them in library order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from modal_env.dynamics.populations import Floats
from modal_env.dynamics.replicator import Trajectory
from modal_env.errors import ModalError, install_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
_HATCHES = ("", "//", "..", "xx")


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
