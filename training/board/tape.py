"""The tape of a sample: a network's decisions and their rewards, and the resulting advantages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit
from ray.rllib.core.columns import Columns

ADVANTAGES, VALUE_TARGETS = "advantages", "value_targets"
POSITION = "position"  # the number of a decision's position, equal for all powers that decide in it
Decisions = dict[str, np.ndarray]  # columns


class Tape:
    """The decisions of a network in a sample; a decision's reward is all that its power gets until its next one.

    Args:
        first: the first number for positions.
    """

    def __init__(self, games: int, powers: int, first: int = 0) -> None:
        self._paid = np.zeros((games, powers))  # so far
        self._kept: dict[str, list[np.ndarray]] = {}
        self._next = first
        self.count = 0

    def decide(self, games: np.ndarray, powers: np.ndarray, columns: Mapping[str, np.ndarray]) -> None:
        """Record decisions of `powers` [k] in `games` [k]: columns [k, ...], among them the value estimates."""
        own = {"games": games, "powers": powers, POSITION: self._next + games, "paid": self._paid[games, powers]}
        for name, column in {**own, **columns}.items():
            self._kept.setdefault(name, []).append(column)
        self.count += len(games)

    def pay(self, rewards: np.ndarray) -> None:
        """Pay all powers for a phase: float32 [games, powers]."""
        self._paid += rewards
        self._next += len(self._paid)

    def episodes(self, scale: float, gamma: float, lambda_: float) -> list[Decisions]:
        """The decisions of each power in each game, with rewards, advantages and value targets.

        Args:
            scale: factor on rewards, for advantages and targets.
        """
        if not self.count:
            return []
        columns = {name: np.concatenate(parts) for name, parts in self._kept.items()}
        order = np.lexsort((columns["powers"], columns["games"]))  # stable
        columns = {name: column[order] for name, column in columns.items()}
        games, powers, paid = columns["games"], columns["powers"], columns.pop("paid")
        is_last = np.append((games[1:] != games[:-1]) | (powers[1:] != powers[:-1]), True)
        rewards = (np.where(is_last, self._paid[games, powers], np.append(paid[1:], 0)) - paid).astype(np.float32)
        values = columns[Columns.VF_PREDS]
        advantages = estimate(rewards * np.float32(scale), values, is_last, gamma, lambda_)
        columns |= {"rewards": rewards, ADVANTAGES: advantages, VALUE_TARGETS: advantages + values}
        ends = np.flatnonzero(is_last) + 1
        return [
            {name: column[start:end] for name, column in columns.items()}
            for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
        ]


def shuffled(rng: np.random.Generator, positions: np.ndarray) -> np.ndarray:
    """A permutation of decisions, int64 [n], that shuffles positions and keeps each position's decisions together.

    The network then encodes a position only once for its consecutive decisions in a minibatch.

    Args:
        positions: int [n], the position of each decision.
    """
    _, number = np.unique(positions, return_inverse=True)
    return np.argsort(rng.permutation(int(number.max(initial=-1)) + 1)[number], kind="stable")


@njit(cache=True)
def estimate(rewards, values, is_last, gamma, lambda_):  # type: ignore[no-untyped-def]
    """Generalized advantage estimates (Schulman et al. 2016) of consecutive episodes: float32 [n].

    RLlib's own would need a second forward pass for the values.

    Args:
        is_last: bool [n], whether a decision is its episode's last.
    """
    advantages = np.zeros(len(rewards), np.float32)
    ahead = np.float32(0)  # contribution of later decisions
    for i in range(len(rewards) - 1, -1, -1):
        if is_last[i]:
            ahead = np.float32(0)
        advantages[i] = rewards[i] - values[i] + ahead
        ahead = np.float32(gamma * (values[i] + lambda_ * advantages[i]))
    return advantages
