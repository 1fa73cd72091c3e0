"""The empirical game of a population: the payoffs of each policy in every combination of policies, played in batches.

Payoffs are averages over seats: a player chooses a policy before it learns its power, so the game is symmetric on any
board. With up to `WHOLE` powers every seating is played once, which is exact for deterministic policies. With more
powers each combination is played once in each of its rotations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from agents.rl.network import Size
from evaluation.measures.symmetric_game import compositions
from training.board.config import TrainConfig
from training.board.ppo import make_config
from training.board.rewards import Reward
from training.board.runner import BatchedEnvRunner, Play
from training.board.seats import Lineup
from training.population.config import PopulationConfig
from training.rllib import quiet
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

Counts = tuple[int, ...]
Seating = tuple[int, ...]  # the policy of each power

WHOLE = 4  # maximum number of powers for which all seatings are played
BATCH = 2000  # games at once


@dataclass(frozen=True)
class Seated(Lineup):
    """A lineup without learners, with a given seating per game.

    Attributes:
        seatings: each game's seating, as indices into the opponents.
    """

    seatings: tuple[Seating, ...] = ()

    def seats(
        self, rng: np.random.Generator, games: int, powers: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `Lineup.seats`."""
        none = np.zeros(games, np.int64)
        place = np.array([self.players.index(text) for text in self.opponents])
        return place[np.array(self.seatings)], none, none


def seatings_of(policies: int, powers: int) -> Iterator[Seating]:
    """The seatings to play for this number of policies."""
    if powers <= WHOLE:
        yield from product(range(policies), repeat=powers)
        return
    for counts in compositions(powers, policies):
        dealt = [policy for policy, count in enumerate(counts) for _ in range(count)]
        yield from dict.fromkeys(tuple(dealt[shift:] + dealt[:shift]) for shift in range(powers))


def play_seatings(config: PopulationConfig, policies: Sequence[str], seatings: Sequence[Seating]) -> np.ndarray:
    """Points per year of every power in each seating: float64 [seatings, powers]."""
    parts = [seatings[start : start + BATCH] for start in range(0, len(seatings), BATCH)]
    found = [_play(config, tuple(policies), tuple(part), number) for number, part in enumerate(parts)]
    powers = len(load_board(config.map_name).powers)
    return np.concatenate(found) if found else np.zeros((0, powers))


@quiet()
def _play(
    config: PopulationConfig, policies: tuple[str, ...], seatings: tuple[Seating, ...], number: int
) -> np.ndarray:
    lineup = Seated(((),), policies, (1.0,) * len(policies), seatings=seatings)
    rules = Rules(press=None, years=config.years)
    play = Play(config.map_name, rules, lineup, Size(1, 1), Reward(), len(seatings), seed=config.seed)
    runner = BatchedEnvRunner(config=make_config(play, TrainConfig()), worker_index=number)
    runner.sample()
    return np.array([game.points for game in runner.take_results()]) / config.years


def payoffs(points: Mapping[Seating, Sequence[float]], policies: int) -> dict[Counts, list[float]]:
    """Counts of policies -> mean points per year of each; nan for policies with count 0."""
    sums: dict[Counts, np.ndarray] = defaultdict(lambda: np.zeros((2, policies)))
    for seating, paid in points.items():
        counts = tuple(np.bincount(seating, minlength=policies).tolist())
        for policy, worth in zip(seating, paid, strict=True):
            sums[counts][:, policy] += worth, 1
    with np.errstate(invalid="ignore"):
        return {counts: (total / times).tolist() for counts, (total, times) in sums.items()}
