"""Plots of evolving populations (matplotlib, from the extra `plot`); each function returns a figure to save or show.

figure.savefig("cycle.png") writes it. Neither pyplot nor a display is needed. Agents have the same colors as on pages
(`modal_env.pictures.style`), and their lines have different dashes. The default title names the model, epsilon and the
cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, cycle, pairwise
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from modal_env.checks import brief, items, real
from modal_env.dynamics.basins import Estimate, PowerLaw
from modal_env.dynamics.growth import Growth
from modal_env.dynamics.populations import Floats
from modal_env.dynamics.replicator import Limit, Trajectory
from modal_env.errors import GameError
from modal_env.games.game import position
from modal_env.pictures.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from modal_env.dynamics.courses import Course
    from modal_env.dynamics.finite import Shares

_INK, _PATH, _EDGE = "#000000", "#555555", "#BBBBBB"  # colors of everything but agents
_DASHES = ("-", "--", "-.", ":")
# Dashes of coinciding lines: each is visible in the gaps of those drawn over it.
_GAPS = ("-", (0, (4.5, 1.5)), (0, (3, 3)), (0, (1.5, 4.5)))
_HATCHES = ("", "//", "..", "xx")
# Left, right, top, and the fourth corner below: a projection of the tetrahedron that keeps the corners apart.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [0.5, -0.6]])
_POINTS_A_RUN = 20
_LEAST_BAND = 0.03  # groups of agents with a smaller share at all times are drawn as one


def simplex(
    trajectories: Sequence[Trajectory],
    corners: tuple[str, str, str],
    *,
    marks: Mapping[str, Sequence[Fraction | float]] | None = None,
    title: str | None = None,
) -> Figure:
    """Paths of populations in a projected tetrahedron: three agents in the upper corners, all others in the lower.

    A population is drawn at the mean of the corners, weighted by the shares. A path has a dot at its start and an arrow
    in the middle; paths that one agent takes over are drawn differently.

    Args:
        trajectories: all of the same agents. Points at their `times` are joined by straight lines.
        corners: which agents stand left, right and on top, by name or short name. Where there are more than four
            agents, the others share the lower corner.
        marks: label -> [n] shares of a point to mark, e.g. an equilibrium; at most five.
        title: default: the model, epsilon and cost.

    Raises:
        GameError: no trajectories, or trajectories of different agents; corners that are not three of these agents; too
            many marks, or a mark without a share for each agent.
    """
    names = _common_names(trajectories)
    shown_names = _checked_corners(corners, names)
    figure, axes = _new_figure(6.4, 6.2)
    places = np.array([shown_names.index(name) if name in shown_names else 3 for name in names])
    for trajectory in sorted(trajectories, key=lambda one: str(one.limit)):
        _path(axes, trajectory.limit, names, trajectory.shares @ _CORNERS[places])
    for (label, shares), marker in zip(_checked_marks(marks or {}, names), "*PXDv", strict=False):
        x, y = shares @ _CORNERS[places]
        axes.plot(x, y, marker, color=_INK, markersize=11, markeredgecolor="white", label=_plain(label), zorder=5)
    others = [name for name in names if name not in shown_names]
    lower = others[0] if len(others) == 1 else "all others" if others else ""
    _frame_tetrahedron(axes, [*shown_names, lower], _title(title, "Replicator dynamics", trajectories))
    return figure


def shares_over_time(
    trajectory: Trajectory,
    *,
    log_shares: bool = False,
    log_time: bool = False,
    least: float = 1e-12,
    title: str | None = None,
) -> Figure:
    """The share of every agent over time: stacked bands, or lines on a logarithmic axis of shares.

    Coinciding lines, of agents that do the same, differ in their dashes.

    Args:
        trajectory: values between its `times` are joined by straight lines.
        log_shares: plot log10 of the shares, without the agents that were never present.
        log_time: a logarithmic axis of time, which begins at the first time above 0.
        least: lower end of a logarithmic axis of shares (a share of 10^-300 would leave no room for the others); 0
            shows all.
        title: default: the model, epsilon and cost.

    Raises:
        GameError: `least` is not a number from 0 to 0.1; a logarithmic axis of time without a time above 0.
    """
    if not 0 <= real(least) <= 0.1:
        raise GameError(f"least={brief(least)}: give a share from 0 to 0.1")
    first = min((time for time in trajectory.times.tolist() if time > 0 or not log_time), default=inf)
    if log_time and first == inf:
        raise GameError("log_time=True: give a trajectory that reports a time above 0")
    figure, axes = _new_figure(8.0, 4.0)
    if log_shares:
        _log_lines(axes, trajectory, float(least))
    else:
        _bands(axes, trajectory.times, trajectory.shares, trajectory.names)
    label, named = (
        "share in the population" + (", log10" if log_shares else ""),
        _title(title, "Replicator dynamics", [trajectory]),
    )
    axes.set(xlabel="time of the dynamics", ylabel=label, title=named, xscale="log" if log_time else "linear")
    axes.set_xlim(first, trajectory.times[-1])
    _finish(axes, beside=True)
    return figure


def basin_over_epsilon(
    epsilons: Sequence[Fraction | float],
    shares: Sequence[Estimate],
    law: PowerLaw,
    *,
    curves: Mapping[str, Callable[[Floats], Floats]] | None = None,
    title: str = "Replicator dynamics from random starts",
) -> Figure:
    """The share of starts that end at one agent, with its 95% intervals and a power law, on logarithmic axes.

    Args:
        epsilons: [points]
        shares: [points]
        law: the power law fitted to them.
        curves: label -> a function of epsilon to draw as well, e.g. a prediction.

    Raises:
        GameError: no points, or different numbers of epsilons and shares.
    """
    if not epsilons or len(epsilons) != len(shares):
        raise GameError(
            f"{len(epsilons)} epsilons and {len(shares)} shares: give the same number of each, at least one"
        )
    figure, axes = _new_figure(6.4, 4.6)
    x = np.array([float(epsilon) for epsilon in epsilons])
    values = np.array([share.value for share in shares])
    ends = np.array([[share.value - share.low for share in shares], [share.high - share.value for share in shares]])
    exponent = law.exponent
    label = f"fit: {law.factor:.3g} ε^{exponent.value:.3f} (exponent {exponent.low:.3f} to {exponent.high:.3f})"
    wide = np.geomspace(x.min() / 1.3, x.max() * 1.3, 200)
    axes.plot(wide, law.factor * wide**exponent.value, label=label, color=_PATH)
    for (name, curve), dashes in zip((curves or {}).items(), cycle(_DASHES[1:])):
        axes.plot(wide, curve(wide), label=_plain(name), color=_PATH, linestyle=dashes)
    axes.errorbar(
        x, values, ends, fmt="o", color="black", capsize=4, markersize=4, label="simulated, with 95% interval", zorder=4
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="ε, the price of one unit of cost",
        ylabel="share of starts",
        title=title,
    )
    axes.grid(visible=True, which="both", alpha=0.25)
    _finish(axes)
    return figure


def cooperation_over_epsilon(epsilons: Sequence[Fraction | float], found: Sequence[Shares]) -> Figure:
    """The share of pairs that both cooperate, over epsilon, a line for each size of the population.

    Args:
        epsilons: [points] of each entry of `found`.
        found: [points]

    Raises:
        GameError: no points, or different numbers of epsilons and populations.
    """
    if not epsilons or len(epsilons) != len(found):
        raise GameError(
            f"{len(epsilons)} epsilons and {len(found)} populations: give the same number of each, at least one"
        )
    figure, axes = _new_figure(6.4, 4.6)
    for number, size in enumerate(dict.fromkeys(one.size for one in found)):
        points = sorted(
            (float(epsilon), one.cooperation) for epsilon, one in zip(epsilons, found, strict=True) if one.size == size
        )
        x, values = [epsilon for epsilon, _ in points], [estimate.value for _, estimate in points]
        ends = [[e.value - e.low for _, e in points], [e.high - e.value for _, e in points]]
        dashes, color = _DASHES[number % len(_DASHES)], PALETTE[number % len(PALETTE)]
        axes.errorbar(x, values, ends, marker="o", markersize=3, linestyle=dashes, color=color, label=f"{size} members")
    one = found[0]
    axes.set(xlabel="ε, the price of one unit of cost", ylabel="share of pairs that both cooperate", ylim=(0, 1))
    axes.set_title(
        f"{one.process}, {'rare mutations' if one.how == 'rare mutations' else f'mutation {one.mutation:g}'}"
    )
    _finish(axes)
    return figure


def course(followed: Course) -> Figure:
    """Shares of groups of agents over time, on a logarithmic axis, and the share of pairs that both cooperate."""
    figure, axes = _new_figure(8.0, 4.2)
    chosen = np.flatnonzero(followed.shares.max(axis=0) >= _LEAST_BAND)
    rest = 1 - followed.shares[:, chosen].sum(axis=1, keepdims=True)
    names = [*(followed.names[place] for place in chosen), "others"]
    _bands(axes, followed.times[1:], np.hstack([followed.shares[:, chosen], rest])[1:], names)
    axes.plot(followed.times[1:], followed.cooperation[1:], color=_INK, linewidth=1.6, label="both cooperate (share)")
    axes.set(xscale="log", xlabel="time", ylabel="share in the population", title=followed.terms)
    axes.set_xlim(min(0.1, followed.times[-1] / 10), followed.times[-1])
    _finish(axes, beside=True)
    return figure


def cooperation_over_time(followed: Sequence[Course]) -> Figure:
    """The share of pairs that both cooperate over time, on a logarithmic axis, a line for each course.

    Raises:
        GameError: no courses.
    """
    if not followed:
        raise GameError("no courses: give one at least")
    figure, axes = _new_figure(8.0, 4.2)
    for number, one in enumerate(followed):
        rule, _, rest = one.terms.partition(", epsilon ")
        axes.plot(one.times[1:], one.cooperation[1:], **_line(number), label=f"ε = {rest.partition(',')[0]}")
    axes.set(xscale="log", xlabel="time", ylabel="share of pairs that both cooperate", ylim=(0, 1.02))
    last = max(one.times[-1] for one in followed)
    axes.set_xlim(min(0.1, last / 10), last)
    axes.set_title(f"{rule}, {rest.rpartition(', ')[2]}")
    _finish(axes, beside=True)
    return figure


def growth_shares(growth: Growth, *, title: str | None = None) -> Figure:
    """Shares in a population under best-reply growth against its size, on a logarithmic axis.

    Args:
        growth: the population.
        title: default: the model, epsilon and cost.
    """
    figure, axes = _new_figure(8.0, 4.0)
    sizes, shares = _along_runs(growth)
    _bands(axes, sizes, shares, growth.names)
    named = _title(title, "Best-reply growth", [growth])
    axes.set(
        xlabel="size of the population, log10",
        ylabel="share in the population",
        title=named,
        xlim=(sizes[0], sizes[-1]),
    )
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


def _title(given: str | None, model: str, runs: Sequence[Trajectory | Growth]) -> str:
    """The given title, or the model, epsilon and cost."""
    if given is not None:
        return given
    terms = dict.fromkeys(run.terms for run in runs if run.terms)
    return f"{model}, {next(iter(terms))}" if len(terms) == 1 else model


def _line(agent: int) -> dict[str, Any]:
    """The style of an agent's lines in all plots: the ninth has the first one's color, but other dashes."""
    dashes = _DASHES[(agent + agent // len(PALETTE)) % len(_DASHES)]
    return {"color": PALETTE[agent % len(PALETTE)], "linestyle": dashes, "linewidth": 1.6}


def _log_lines(axes: Axes, trajectory: Trajectory, least: float) -> None:
    """A line of log10 of the share for every agent present. Of coinciding lines, later ones have more gaps."""
    logs = trajectory.log_shares / np.log(10)
    there = [i for i in range(len(trajectory.names)) if np.isfinite(logs[:, i]).all()]
    for i in there:
        twins = [j for j in there if np.allclose(logs[:, i], logs[:, j], rtol=1e-6, atol=1e-6)]
        style = {} if len(twins) == 1 else {"linestyle": _GAPS[min(twins.index(i), len(_GAPS) - 1)]}
        axes.plot(trajectory.times, logs[:, i], label=_plain(trajectory.names[i]), **{**_line(i), **style})
    if least and logs[:, there].min() < log10(least):
        axes.set_ylim(log10(least), 0.02 * -log10(least))


def _bands(axes: Axes, places: Floats, shares: Floats, names: Sequence[str]) -> None:
    colors = [_line(i)["color"] for i in range(len(names))]
    bands = axes.stackplot(
        places, shares.T, labels=[*map(_plain, names)], colors=colors, edgecolor="white", linewidth=0.2
    )
    for i, band in enumerate(bands):
        band.set_hatch(_HATCHES[i // len(PALETTE) % len(_HATCHES)])
    axes.set_ylim(0, 1)


def _finish(axes: Axes, *, beside: bool = False) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    if beside:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    else:
        axes.legend(frameon=False, fontsize="small")


def _common_names(trajectories: Sequence[Trajectory]) -> tuple[str, ...]:
    kinds = {trajectory.names for trajectory in trajectories}
    if len(kinds) != 1:
        raise GameError(
            f"{len(trajectories)} trajectories of {len(kinds)} sets of agents: give some, all of the same agents"
        )
    return trajectories[0].names


def _checked_corners(corners: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names of the agents in the three corners."""
    given = items(corners) or ()
    found = [names[position(names, corner)] for corner in given]
    if len(found) != 3 or len(set(found)) != 3:
        raise GameError(f"corners {brief(corners)}: give three different agents of {', '.join(names):.300}")
    return found


def _checked_marks(
    marks: Mapping[str, Sequence[Fraction | float]], names: Sequence[str]
) -> Iterator[tuple[str, Floats]]:
    if len(marks) > 5:
        raise GameError(f"{len(marks)} marks: give five at most")
    for label, shares in marks.items():
        values = np.array([real(share) for share in items(shares) or ()])
        if len(values) != len(names) or not np.isfinite(values).all():
            text = f"mark {label!r:.80} has {len(values)} shares, {brief(shares)}"
            raise GameError(f"{text}: give one for each of {', '.join(names):.300}")
        yield label, values


def _path(axes: Axes, limit: Limit, names: Sequence[str], points: Floats) -> None:
    """One line through [T, 2] points, with a dot at its start and an arrow at half its length."""
    is_taken = limit.kind == "taken over"
    color, label = _PATH, "not taken over"
    if is_taken:
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
