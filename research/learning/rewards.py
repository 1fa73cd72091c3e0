"""Self-play by reward: own points, the mean of all, own points with inequity aversion; clique:4 and standard map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.tables.game_tables import cell
from research.learning.courses import LAST, course, over_seeds, peaks
from research.learning.curves import draw_rewards
from research.learning.measures import attack, exact
from research.learning.trainings import Group, Options, config_of, cost, points

REWARDS = ("own", "social", "inequity:1,0.5")
CLIQUE = {"map_name": "clique:4", "years": 5, "sees": "position"}
STANDARD = {"map_name": "standard", "years": 10, "league_share": 0.2}

Rows = tuple[Sequence[str], list[list[str]]]  # names of columns, and rows


def on_clique(reward: str) -> Group:
    """Self-play on clique:4."""
    settings = {**CLIQUE, "reward": reward}
    return Group(f"clique-{reward.partition(':')[0]}", settings, seeds=5, iterations=150, most=400)


def on_standard(reward: str) -> Group:
    """Self-play on the standard map, a fifth of the games against past selves."""
    settings = {**STANDARD, "reward": reward}
    return Group(f"standard-{reward.partition(':')[0]}", settings, seeds=3, iterations=200, most=500)


@dataclass(frozen=True)
class Line:
    """A training: its curve, and its last iterate with most probable and with sampled orders; points per year.

    Attributes:
        peak: see `courses.peaks`. last: mean of the last iterations.
        gain, seat: of the best deviator against most probable orders: exact best response or portfolio.
        drawn_gain, interval: of the portfolio against sampled orders, with the interval over games. by: the deviator
            and its seat.
    """

    seed: int
    peak: float
    last: float
    greedy: float
    gain: float
    seat: str
    drawn: float
    drawn_gain: float
    interval: str
    by: str


def clique(given: Options) -> None:
    """The tables and the picture of clique:4."""
    report([on_clique(reward) for reward in REWARDS], given, is_toy=True)


def standard(given: Options) -> None:
    """The tables and the picture of the standard map."""
    report([on_standard(reward) for reward in REWARDS], given, is_toy=False)


def report(groups: Sequence[Group], given: Options, is_toy: bool) -> None:
    """Train, measure, print and draw."""
    finished = {group.settings["reward"]: group.folders(given) for group in groups}
    trained = {reward: folders for reward, folders in finished.items() if folders}
    if not trained:
        print("(nothing is trained)")
        return
    draw_rewards(trained, is_toy).savefig(
        given.pictures / f"learning-{'rewards' if is_toy else 'standard'}.png", dpi=130
    )
    measured = {reward: lines(folders, given.seats, is_toy) for reward, folders in trained.items()}
    name = "rewards" if is_toy else "standard"
    given.show(name, *summary(trained, measured))
    given.show(f"{name}-seeds", *details(measured))
    print(cost([folder for folders in trained.values() for folder in folders]))


def lines(folders: Sequence[Path], seats: Sequence[str], is_toy: bool) -> list[Line]:
    """One line per training."""
    curves = points(folders)
    found = []
    for folder, curve, peak in zip(folders, curves, peaks(curves)[0], strict=True):
        greedy = exact(folder, "checkpoint", seats) if is_toy else attack(folder, greedy=True)
        drawn = attack(folder, greedy=False)
        seat = greedy["power"] if is_toy else f"{greedy['by']}, {greedy['power']}"
        interval = "" if drawn["low"] is None else f"[{drawn['low']:.2f}, {drawn['high']:.2f}]"
        found.append(
            Line(
                config_of(folder)["seed"],
                float(peak),
                float(curve[-LAST:].mean()),
                greedy["welfare"],
                greedy["gain"],
                seat,
                drawn["welfare"],
                drawn["gain"],
                interval,
                f"{drawn['by']}, {drawn['power']}",
            )
        )
    return found


def summary(trained: Mapping[str, Sequence[Path]], measured: Mapping[str, Sequence[Line]]) -> Rows:
    """One row per reward: means over training seeds."""
    head = ("reward", "seeds", "iterations", "peak", "at", "last", "the last 50", "greedy", "gain", "drawn", "gain")
    rows = []
    for reward, folders in trained.items():
        curves = points(folders)
        values = {name: cell(over_seeds([getattr(line, name) for line in measured[reward]])) for name in NUMBERS}
        end = [values["last"], course(curves), *(values[name] for name in NUMBERS[2:])]
        rows.append([reward, str(len(folders)), str(curves.shape[1]), values["peak"], str(peaks(curves)[1]), *end])
    return head, rows


NUMBERS = ("peak", "last", "greedy", "gain", "drawn", "drawn_gain")


def details(measured: Mapping[str, Sequence[Line]]) -> Rows:
    """One row per training; intervals are over games."""
    head = ("reward", "seed", "peak", "last", "greedy", "gain", "in", "drawn", "gain", "by")
    rows = [
        [
            reward,
            str(line.seed),
            *(f"{value:.2f}" for value in (line.peak, line.last, line.greedy)),
            "-" if math.isnan(line.gain) else f"{line.gain:.2f}",
            line.seat,
            f"{line.drawn:.2f}",
            f"{line.drawn_gain:.2f} {line.interval}".strip(),
            line.by,
        ]
        for reward, found in measured.items()
        for line in found
    ]
    return head, rows
