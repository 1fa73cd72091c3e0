"""Policies beside the frontier of welfare: scripted ones, self-play by reward, and populations (PSRO)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import training
from evaluation.exact import FrontierPoint, exploitability
from studies.learning.populations import SETTINGS, steps
from studies.learning.rewards import REWARDS
from studies.learning.trainings import Group, Options
from welfare_env import load_board

SCRIPTED = ("prosocial", "tit-for-tat", "sheriff:fight=punish", "hold")
SEEDS, ITERATIONS, RESPONSES = 3, 150, 4


@dataclass(frozen=True)
class Beside:
    """A policy for comparison: the sum of all powers' points, and the largest exact gain of a deviating power.

    Attributes:
        policy: its name.
        welfare, gain: points of the whole game; NaN if the exact search was refused.
        kind: "" for scripted policies, else how it learned.
    """

    policy: str
    welfare: float
    gain: float
    kind: str = ""


def scripted(board: str, years: int) -> Iterator[Beside]:
    """Scripted policies, including the paper's."""
    for policy in (*SCRIPTED, *(f"punisher:t={t},remembers=yes" for t in range(1, years + 1))):
        yield measured(board, years, policy, policy)


def learned(folder: Path, board: str, years: int) -> Iterator[Beside]:
    """Last iterates of self-play, each reward with several seeds, with their most probable orders; and a population."""
    given = Options(folder, folder, ())
    settings = {"map_name": board, "years": years, "sees": "position"}
    game = f"{board.replace(':', '-')}-{years}"
    for reward in REWARDS:
        kind = reward.partition(":")[0]
        group = Group(f"{game}-{kind}", {**settings, "reward": reward}, SEEDS, ITERATIONS, most=ITERATIONS)
        for seed, place in enumerate(group.folders(given)):
            policy = f"rl:{place / 'checkpoint'},greedy=yes"
            yield measured(board, years, policy, f"{kind} reward, seed {seed}", kind)
    config = training.PopulationConfig(
        map_name=board,
        begin="hold+prosocial",
        steps=RESPONSES,
        folder=folder / f"{game}-psro",
        **SETTINGS | {"years": years},
    )
    *_, last = steps(config, given)
    size = years * len(load_board(board).powers)
    found = [float("nan") if last[name] is None else float(last[name]) for name in ("welfare", "gap")]
    yield Beside(f"PSRO, {RESPONSES} responses", found[0] * size, found[1] * years, "PSRO")


def measured(board: str, years: int, policy: str, name: str, kind: str = "") -> Beside:
    """A policy with its exact gain."""
    found = exploitability(board, policy, years)
    return Beside(name, sum(found.points.values()), found.gap * years, kind)


def short_of(points: Sequence[FrontierPoint], found: Beside) -> str:
    """How much more welfare is possible at a policy's gain: a number, or two if the frontier is not known there.

    Args:
        points: the frontier, by increasing epsilon.
    """
    if found.gain != found.gain:
        return "-"
    under = [point.welfare for point in points if point.gain <= found.gain + 1e-9]
    over = [point.welfare for point in points if point.epsilon >= found.gain - 1e-9]
    least, most = max(under, default=0) - found.welfare, (over[0] if over else points[-1].welfare) - found.welfare
    return f"{least:g}" if least >= most else f"{least:g} to {most:g}"
