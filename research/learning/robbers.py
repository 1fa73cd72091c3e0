"""Learning robbers among learning cooperators: two networks in one training, each with its own reward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.tables.game_tables import cell
from research.learning.courses import LAST, course, over_seeds, peaks
from research.learning.curves import ALWAYS, NEVER, SOMETIMES, draw_robbers
from research.learning.measures import exact, robbed
from research.learning.rewards import CLIQUE, on_clique
from research.learning.trainings import POINTS, Group, Options, cost, points

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
    return Group(name, settings, SEEDS, iterations=150, most=300, curves=CURVES[met])


SETTINGS = {
    ("social", NEVER): on_clique("social"),
    ("social", SOMETIMES): sometimes("social"),
    ("social", ALWAYS): always("social"),
    ("own", NEVER): on_clique("own"),
    ("own", ALWAYS): always("own"),
    ("inequity:1,0.5", NEVER): on_clique("inequity:1,0.5"),
    ("inequity:1,0.5", ALWAYS): always("inequity:1,0.5"),
}  # (the cooperators' reward, frequency of robbers) -> trainings


def robbers(given: Options) -> None:
    """Train, measure, print and draw."""
    finished = {setting: group.folders(given) for setting, group in SETTINGS.items()}
    trained = {setting: folders for setting, folders in finished.items() if folders}
    if not any(met != NEVER for _, met in trained):
        print("(nothing is trained)")
        return
    draw_robbers(trained, CURVES).savefig(given.pictures / "learning-robbers.png", dpi=130)
    head = (
        "reward", "they meet", "seeds", "iterations", "cooperators: peak", "last", "the last 50",
        "robber: peak", "last", "the last 50", "greedy, alone", "gain", "greedy, robbed", "robber",
    )  # fmt: skip
    rows = [row(*setting, folders, given.seats) for setting, folders in trained.items()]
    given.show("robbers", head, rows)
    print(cost([folder for (_, met), folders in trained.items() if met != NEVER for folder in folders]))


def row(reward: str, met: str, folders: Sequence[Path], seats: Sequence[str]) -> list[str]:
    """Means over the training seeds of a setting."""
    cells = [reward, met, str(len(folders)), str(points(folders).shape[1])]
    for metric in CURVES[met]:
        curves = points(folders, metric)
        cells += [_mean(peaks(curves)[0]), _mean(curves[:, -LAST:].mean(axis=1)), course(curves)]
    cooperators, *robber = NETWORKS[met]
    alone = [exact(folder, cooperators, seats) for folder in folders]
    cells += [""] * 3 * (not robber) + [_mean([one["welfare"] for one in alone]), _mean([one["gain"] for one in alone])]
    together = [robbed(folder, cooperators, robber[0]) for folder in folders] if robber else []
    return cells + [_mean([one[who] for one in together]) if together else "" for who in ("cooperator", "robber")]


def _mean(values: Sequence[float] | np.ndarray) -> str:
    return cell(over_seeds(np.asarray(values, float).tolist()))
