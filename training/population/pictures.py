"""The picture of a population's payoffs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from agents.runtime.colors import LEARNED

MAX_NUMBERS = 12  # with more policies, cells have no numbers


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
