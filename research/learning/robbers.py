"""Learning robbers among learning cooperators: two networks in one training, each with its own reward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from research.learning.courses import LAST, course, mean_cell, peaks
from research.learning.curves import ALWAYS, NEVER, SOMETIMES, draw_robbers
from research.learning.measures import exact, robbed
from research.learning.rewards import CLIQUE, on_clique
from research.learning.trainings import POINTS, Group, points
from research.tables import show

SEEDS = 3
CURVES = {
    NEVER: (POINTS,),
    SOMETIMES: (POINTS, "play/robbers/points"),
    ALWAYS: ("play/cooperators/points", POINTS),
}  # logged metrics of the cooperators and the robbers
NETWORKS = {NEVER: ("checkpoint",), SOMETIMES: ("checkpoint", "robbers"), ALWAYS: ("cooperators", "checkpoint")}


def always(reward: str) -> Group:
    """A robber in every game, in each seat in turn; cooperators with this reward have the other seats."""
    settings = {**CLIQUE, "also": (f"cooperators={reward}",), "against": ("cooperators",)}
    return _group(f"robbed-{reward.partition(':')[0]}", settings, ALWAYS)


def sometimes(reward: str) -> Group:
    """Self-play of cooperators; in three of eight games a robber has one seat."""
    settings = {**CLIQUE, "reward": reward, "also": ("robbers=own",), "against": ("learner", "1*robbers + 3*learner")}
    return _group(f"mixed-{reward.partition(':')[0]}", settings, SOMETIMES)


def _group(name: str, settings: dict[str, object], met: str) -> Group:
    return Group(name, settings, SEEDS, iterations=150, max_iterations=300, curves=CURVES[met])


SETTINGS = {
    ("social", NEVER): on_clique("social"),
    ("social", SOMETIMES): sometimes("social"),
    ("social", ALWAYS): always("social"),
    ("own", NEVER): on_clique("own"),
    ("own", ALWAYS): always("own"),
    ("inequity:1,0.5", NEVER): on_clique("inequity:1,0.5"),
    ("inequity:1,0.5", ALWAYS): always("inequity:1,0.5"),
}  # (the cooperators' reward, frequency of robbers) -> trainings


def robbers(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """Train, measure, print and draw."""
    trained = {setting: group.folders(out) for setting, group in SETTINGS.items()}
    draw_robbers(trained, CURVES).savefig(out / "learning-robbers.png", dpi=130)
    head = (
        "reward", "they meet", "seeds", "iterations", "cooperators: peak", "last", "the last 50",
        "robber: peak", "last", "the last 50", "greedy, alone", "gain", "greedy, robbed", "robber",
    )  # fmt: skip
    show(to, "learning-robbers", head, [row(*setting, folders, seats) for setting, folders in trained.items()])


def row(reward: str, met: str, folders: Sequence[Path], seats: Sequence[str]) -> list[str]:
    """Means over the training seeds of a setting."""
    cells = [reward, met, str(len(folders)), str(points(folders).shape[1])]
    for metric in CURVES[met]:
        curves = points(folders, metric)
        cells += [mean_cell(peaks(curves)[0]), mean_cell(curves[:, -LAST:].mean(axis=1)), course(curves)]
    cooperators, *robber = NETWORKS[met]
    alone = [exact(folder, cooperators, seats) for folder in folders]
    cells += [""] * 3 * (not robber) + [
        mean_cell([one["welfare"] for one in alone]),
        mean_cell([one["gain"] for one in alone]),
    ]
    together = [robbed(folder, cooperators, robber[0]) for folder in folders] if robber else []
    return cells + [mean_cell([one[who] for one in together]) if together else "" for who in ("cooperator", "robber")]
