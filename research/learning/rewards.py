"""Self-play by reward: own points, the mean of all, own points with inequity aversion; clique:4 and standard map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from research.learning.courses import LAST, course, mean_cell, peaks
from research.learning.curves import draw_rewards
from research.learning.measures import attack, exact
from research.learning.trainings import Group, config_of, points, read
from research.tables import show

REWARDS = ("own", "social", "inequity:1,0.5")
CLIQUE = {"map_name": "clique:4", "years": 5, "sees": "position"}
STANDARD = {"map_name": "standard", "years": 10, "league_share": 0.2}


def on_clique(reward: str) -> Group:
    """Self-play on clique:4."""
    settings = {**CLIQUE, "reward": reward}
    return Group(f"clique-{reward.partition(':')[0]}", settings, seeds=5, iterations=150, max_iterations=400)


def on_standard(reward: str) -> Group:
    """Self-play on the standard map, a fifth of the games against past selves."""
    settings = {**STANDARD, "reward": reward}
    return Group(f"standard-{reward.partition(':')[0]}", settings, seeds=3, iterations=200, max_iterations=500)


def clique(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """The tables and the picture of clique:4, with exact gains against the most probable orders."""
    trained = {reward: on_clique(reward).folders(out) for reward in REWARDS}
    draw_rewards(trained, is_toy=True).savefig(out / "learning-rewards.png", dpi=130)
    report("rewards", trained, partial(exact, network="checkpoint", powers=seats), to)


def standard(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """The tables and the picture of the standard map, with the portfolio's gains."""
    trained = {reward: on_standard(reward).folders(out) for reward in REWARDS}
    draw_rewards(trained, is_toy=False).savefig(out / "learning-standard.png", dpi=130)
    report("standard", trained, partial(attack, is_greedy=True), to)


def report(name: str, trained: Mapping[str, Sequence[Path]], greedy: Any, to: Path | None) -> None:
    """A row per reward, means over training seeds; and a row per training, whose intervals are over games.

    Columns: the peak and the end of the curve; and the last iterate's welfare and gain from it, with its most probable
    orders, and with sampled ones (*drawn*).
    """
    summary, details = [], []
    for reward, folders in trained.items():
        curves = points(folders)
        tops, at = peaks(curves)
        chosen, drawn = ([measure(folder) for folder in folders] for measure in (greedy, sampled))
        last = curves[:, -LAST:].mean(axis=1)
        welfare, gains = (mean_cell([each[what] for each in chosen]) for what in ("welfare", "gain"))
        others = (mean_cell([each[what] for each in drawn]) for what in ("welfare", "gain"))
        end = [mean_cell(last), course(curves), welfare, gains, *others]
        summary.append([reward, str(len(folders)), str(curves.shape[1]), mean_cell(tops), str(at), *end])
        for folder, peak, final, one, other in zip(folders, tops, last, chosen, drawn, strict=True):
            numbers = [f"{value:.2f}" for value in (peak, final, one["welfare"], one["gain"])]
            interval = "" if other["low"] is None else f" [{other['low']:.2f}, {other['high']:.2f}]"
            found = [f"{other['welfare']:.2f}", f"{other['gain']:.2f}{interval}", f"{other['by']}, {other['power']}"]
            details.append([reward, str(config_of(folder)["seed"]), *numbers, one["power"], *found])
    head = ("reward", "seeds", "iterations", "peak", "at", "last", "the last 50", "greedy", "gain", "drawn", "gain")
    show(to, f"learning-{name}", head, summary)
    heads = ("reward", "seed", "peak", "last", "greedy", "gain", "in", "drawn", "gain", "by")
    show(None, "", heads, details)


def sampled(folder: Path) -> dict[str, Any]:
    """The portfolio's attack on sampled orders."""
    return attack(folder, is_greedy=False)


def critic(out: Path, seats: Sequence[str], to: Path | None) -> None:
    """The share of the variance of returns that the value head explains, mean of the last twenty iterations."""
    rows = []
    for reward in ("social", "own"):
        groups = [group(reward).folders(out) for group in (on_clique, on_standard)]
        means = [[np.nanmean(read(folder, "learn/explained")[-20:]) for folder in folders] for folders in groups]
        rows.append([reward, *(", ".join(f"{mean:.2f}" for mean in some) for some in means)])
    show(None, "", ("reward", "clique:4", "standard map"), rows)
