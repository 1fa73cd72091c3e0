"""Self-play by reward: own points, the mean of all, own points with inequity aversion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from research.learning.courses import LAST, course, mean_cell, peaks
from research.learning.curves import draw_rewards
from research.learning.measures import attack, exact
from research.learning.trainings import Group, config_of, points
from research.tables import show

REWARDS = ("own", "social", "inequity:1,0.5")
CLIQUE = {"map_name": "clique:4", "years": 5, "sees": "position"}


def on_clique(reward: str) -> Group:
    """Self-play on clique:4."""
    settings = {**CLIQUE, "reward": reward}
    return Group(f"clique-{reward.partition(':')[0]}", settings, seeds=5, iterations=150, max_iterations=400)


def rewards(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """The tables and the picture, with exact gains against the most probable orders.

    The first table has a row per reward, means over trainings; the second a row per training, whose intervals are over
    games. Columns: the peak and the end of the curve; and the last iterate's welfare and gain from it, with its most
    probable orders, and with sampled ones (*drawn*).
    """
    trained = {reward: on_clique(reward).folders(out) for reward in REWARDS}
    draw_rewards(trained).savefig(out / "learning-rewards.png", dpi=130)
    summary, details = [], []
    for reward, folders in trained.items():
        curves = points(folders)
        tops, at = peaks(curves)
        chosen = [exact(folder, "checkpoint", seats) for folder in folders]
        drawn = [attack(folder) for folder in folders]
        last = curves[:, -LAST:].mean(axis=1)
        welfare = mean_cell([each["welfare"] for each in chosen])
        others = (mean_cell([each[what] for each in drawn]) for what in ("welfare", "gain"))
        end = [mean_cell(last), course(curves), welfare, *others]
        summary.append([reward, str(curves.shape[1]), mean_cell(tops), str(at), *end])
        for folder, peak, final, one, other in zip(folders, tops, last, chosen, drawn, strict=True):
            numbers = [f"{value:.2f}" for value in (peak, final, one["welfare"], one["gain"])]
            interval = "" if other["low"] is None else f" [{other['low']:.2f}, {other['high']:.2f}]"
            found = [f"{other['welfare']:.2f}", f"{other['gain']:.2f}{interval}", f"{other['by']}, {other['power']}"]
            details.append([reward, str(config_of(folder)["seed"]), *numbers, one["power"], *found])
    head = (
        "reward", "iterations", "peak", "at", "last", "the last 50", "greedy", "drawn", "portfolio gains from drawn",
    )  # fmt: skip
    show(to, "learning-rewards", head, summary)
    heads = ("reward", "seed", "peak", "last", "greedy", "gain", "in", "drawn", "gain", "by")
    show(None, "", heads, details)
