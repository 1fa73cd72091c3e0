"""The pictures of learning curves: welfare by iteration, a color per reward of the cooperators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from agents.runtime.colors import BLACK, GREEN, LEARNED, LEVEL, PINK, VERMILION
from research.learning.courses import smoothed
from research.learning.trainings import POINTS, points

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MAX_NUMBERS = 12  # with more policies, cells of payoffs have no numbers
STYLES = ("-", "--", "-.", ":")
CLIQUE = {2.0: "optimum", 1.0: "armed peace"}  # points per year on cliques
NAMES = {"own": "own points", "social": "mean of all points", "inequity": "own points, averse to inequity"}
REWARDS = {"social": GREEN, "own": VERMILION, "inequity": PINK}


def draw_rewards(groups: Mapping[str, Sequence[Path]]) -> Figure:
    """Curves of self-play. `groups`: reward -> its trainings."""
    figure, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for number, (reward, members) in enumerate(groups.items()):
        label = f"{name_of_reward(reward)} ({len(members)} seed{'s' * (len(members) > 1)})"
        _draw(panel, color_of_reward(reward), STYLES[number], members, POINTS, label)
    _mark(panel)
    panel.set(xlabel="iteration", ylabel="welfare points of a power a year", ylim=(0, 2.2))
    title = "reward in training; bands: lowest to highest seed"
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, title=title, title_fontsize=8, frameon=False)
    return figure


def draw_robbers(groups: Mapping[str, Sequence[Path]], metrics: tuple[str, str]) -> Figure:
    """A robber among cooperators: a color per reward of the cooperators.

    Args:
        groups: reward of the cooperators -> the trainings.
        metrics: the logged points of the cooperators and of the robber.
    """
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.8), layout="constrained", sharey=True)
    for panel, metric, title in zip(panels, metrics, ("cooperators", "robbers"), strict=True):
        for reward, members in groups.items():
            _draw(panel, color_of_reward(reward), "-", members, metric, name_of_reward(reward))
        _mark(panel)
        panel.set(xlabel="iteration", title=title, ylim=(0, 2.7))
    panels[0].set_ylabel("welfare points of a seat a year")
    legend: dict[str, Any] = {"title": "reward of the cooperators", "title_fontsize": 8, "frameon": False}
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, **legend)
    return figure


def draw_payoffs(table: np.ndarray, mix: np.ndarray, names: Sequence[str]) -> Figure:
    """The payoff of a single player's policy when all others play the same policy, with the shares of the mix.

    Args:
        table: float64 [others, own], points per year. mix: float64 [policies].
    """
    count = len(names)
    size = 2.2 + 0.52 * count
    figure = Figure(figsize=(size + 1.6, size), layout="constrained")  # pyplot would keep every figure
    shares, cells = figure.subplots(1, 2, width_ratios=(1, 0.6 + 0.6 * count), sharey=True)
    shares.barh(range(count), mix, color=LEARNED)
    for place, share in enumerate(mix):  # the axis is inverted
        shares.text(share + 0.04, place, f"{share:.2f}", ha="right", va="center", fontsize=7)
    shares.set_xlim(1.3, 0)
    shares.set_xticks([1, 0.5, 0])
    shares.set_xlabel("share in the mix")
    shares.set_yticks(range(count), names)
    shares.set_ylabel("policy of one player")
    image = cells.imshow(table.T, cmap="cividis", aspect="auto")
    cells.set_xticks(range(count), names, rotation=90)
    cells.set_xlabel("policy of all others")
    if count <= MAX_NUMBERS:
        middle = (table.min() + table.max()) / 2
        for other, own in np.ndindex(table.shape):
            color = "black" if table[other, own] > middle else "white"
            cells.text(other, own, f"{table[other, own]:.1f}", ha="center", va="center", fontsize=7, color=color)
    figure.colorbar(image, ax=cells, label="welfare points per year of the single player")
    return figure


def name_of_reward(reward: str) -> str:
    """A reward in words: "own points, averse to inequity (1, 0.5)"."""
    kind, _, parameters = reward.partition(":")
    return NAMES.get(kind, kind) + (f" ({parameters.replace(',', ', ')})" if parameters else "")


def color_of_reward(reward: str) -> str:
    """The color of a reward such as "inequity:1,0.5"; black if it is not in `REWARDS`."""
    return REWARDS.get(reward.partition(":")[0], BLACK)


def _draw(panel: Axes, color: str, style: str, folders: Sequence[Path], metric: str, label: str) -> None:
    """Points per year by iteration: the mean over seeds, and a band from minimum to maximum."""
    curves = np.array([smoothed(curve) for curve in points(folders, metric)])
    steps = np.arange(1, curves.shape[1] + 1)
    panel.plot(steps, curves.mean(axis=0), label=label, color=color, linestyle=style)
    panel.fill_between(steps, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.18, linewidth=0)


def _mark(panel: Axes) -> None:
    """Lines of reference on cliques."""
    for value, name in CLIQUE.items():
        panel.axhline(value, color=LEVEL, linewidth=0.8, linestyle=":")
        panel.text(1, value - 0.02, name, fontsize=8, va="top")
