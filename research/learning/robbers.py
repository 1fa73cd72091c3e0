"""Learning robbers among learning cooperators: two networks in one training, each with its own reward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from research.learning.courses import LAST, mean_cell, peaks
from research.learning.curves import draw_robbers
from research.learning.measures import exact, robbed
from research.learning.rewards import CLIQUE
from research.learning.trainings import POINTS, Group, points
from research.tables import show

REWARDS = ("social", "own")
CURVES = ("play/cooperators/points", POINTS)  # logged metrics of the cooperators and the robber


def with_robber(reward: str) -> Group:
    """A robber in every game, in each seat in turn; cooperators with this reward have the other seats."""
    settings = {**CLIQUE, "also": (f"cooperators={reward}",), "against": ("cooperators",)}
    return Group(f"robbed-{reward}", settings, seeds=1, iterations=150, max_iterations=300, curves=CURVES)


def robbers(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train, measure, print and draw."""
    trained = {reward: with_robber(reward).folders(out) for reward in REWARDS}
    draw_robbers(trained, CURVES).savefig(out / "learning-robbers.png", dpi=130)
    head = (
        "reward of the cooperators", "iterations", "cooperators: peak", "last", "robber: peak", "last", "alone", "gain",
        "robbed", "robber",
    )  # fmt: skip
    show(to, "learning-robbers", head, [row(*setting, seats) for setting in trained.items()])


def row(reward: str, folders: Sequence[Path], seats: Sequence[str]) -> list[str]:
    """Means over the trainings with this reward."""
    cells = [reward, str(points(folders).shape[1])]
    for metric in CURVES:
        curves = points(folders, metric)
        cells += [mean_cell(peaks(curves)[0]), mean_cell(curves[:, -LAST:].mean(axis=1))]
    alone = [exact(folder, "cooperators", seats) for folder in folders]
    together = [robbed(folder, "cooperators", "checkpoint") for folder in folders]
    cells += [mean_cell([one[what] for one in alone]) for what in ("welfare", "gain")]
    return cells + [mean_cell([one[who] for one in together]) for who in ("cooperator", "robber")]
