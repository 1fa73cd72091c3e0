"""Pictures of a population."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

MOST_NUMBERS = 12  # policies with numbers in their cells


def draw_payoffs(table: np.ndarray, mix: np.ndarray, names: Sequence[str]) -> Figure:
    """What a single policy gets where all others play another, with the shares of the mix.

    Args:
        table: float64 [others, own], points a year. mix: float64 [policies].
    """
    count = len(names)
    size = 2.2 + 0.52 * count
    figure = Figure(figsize=(size + 1.6, size), layout="constrained")  # not of pyplot, which keeps every figure
    shares, cells = figure.subplots(1, 2, width_ratios=(1, 0.6 + 0.6 * count), sharey=True)
    shares.barh(range(count), mix, color="#20639b")
    shares.set_xlim(1, 0)
    shares.set_xlabel("share of the mix")
    shares.set_yticks(range(count), names)
    shares.set_ylabel("one player")
    image = cells.imshow(table.T, cmap="cividis", aspect="auto")
    cells.set_xticks(range(count), names, rotation=90)
    cells.set_xlabel("all others")
    if count <= MOST_NUMBERS:
        middle = (table.min() + table.max()) / 2
        for other, own in np.ndindex(table.shape):
            colour = "black" if table[other, own] > middle else "white"
            cells.text(other, own, f"{table[other, own]:.1f}", ha="center", va="center", fontsize=7, color=colour)
    figure.colorbar(image, ax=cells, label="points a year")
    return figure
