"""The empirical game of a population: what each policy gets in every mix of them, played in batches.

Who sits where is averaged: a player chooses a policy before it is told its power, so the game is symmetric whatever the
board. With up to `WHOLE` powers all seatings are played, once each: exact if the policies are deterministic. With more,
each mix is played once in each of its rotations.
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

WHOLE = 4  # powers
BATCH = 2000  # games at once


@dataclass(frozen=True)
class Seated(Lineup):
    """A lineup in which nobody learns, and who sits where is told game by game.

    Attributes:
        seatings: of each game, as indices into the opponents.
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
    """The seatings to be played, for so many policies."""
    if powers <= WHOLE:
        yield from product(range(policies), repeat=powers)
        return
    for counts in compositions(powers, policies):
        dealt = [policy for policy, count in enumerate(counts) for _ in range(count)]
        yield from dict.fromkeys(tuple(dealt[shift:] + dealt[:shift]) for shift in range(powers))


def play_seatings(config: PopulationConfig, policies: Sequence[str], seatings: Sequence[Seating]) -> np.ndarray:
    """Points a year of every power in each seating: float64 [seatings, powers]."""
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
    """Counts of policies -> mean points a year of each; nan for those that nobody plays."""
    sums: dict[Counts, np.ndarray] = defaultdict(lambda: np.zeros((2, policies)))
    for seating, paid in points.items():
        counts = tuple(np.bincount(seating, minlength=policies).tolist())
        for policy, worth in zip(seating, paid, strict=True):
            sums[counts][:, policy] += worth, 1
    with np.errstate(invalid="ignore"):
        return {counts: (total / times).tolist() for counts, (total, times) in sums.items()}
