"""The tape of a sample: a learner's decisions and rewards, and the resulting advantages."""

from __future__ import annotations

import numpy as np
from numba import njit
from ray.rllib.core.columns import Columns

ADVANTAGES, VALUE_TARGETS = "advantages", "value_targets"
POSITION = "position"  # the number of a decision's position in the sample, equal for all powers that decide in it


class Tape:
    """The decisions of learners in a sample, with their rewards.

    A decision's reward is the sum of its power's rewards until its next decision or the end of the game.
    """

    def __init__(self, games: int, powers: int, reward_scale: float) -> None:
        self._scale = reward_scale
        self._last = np.full((games, powers), -1, np.int64)  # each power's last decision
        self._due = np.zeros((games, powers), np.float32)
        self._kept: dict[str, list[np.ndarray]] = {}
        self._previous: list[np.ndarray] = []
        self._closed: list[tuple[np.ndarray, np.ndarray]] = []  # decisions and their rewards
        self._count = self._phases = 0

    def __len__(self) -> int:
        """Decisions."""
        return self._count

    def decide(
        self,
        games: np.ndarray,
        powers: np.ndarray,
        observations: np.ndarray,
        actions: np.ndarray,
        logps: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Record decisions of `powers` [k] in `games` [k]."""
        previous = self._last[games, powers]
        self._close(games, powers, previous)
        self._previous.append(previous)
        self._last[games, powers] = self._count + np.arange(len(games))
        self._count += len(games)
        for name, column in (
            ("games", games),
            ("powers", powers),
            (POSITION, self._phases * len(self._last) + games),
            ("observations", observations),
            ("actions", actions),
            (Columns.ACTION_LOGP, logps),
            (Columns.VF_PREDS, values),
        ):
            self._kept.setdefault(name, []).append(column)

    def pay(self, rewards: np.ndarray) -> None:
        """Pay all powers for a phase: float32 [games, powers]."""
        self._due += rewards
        self._phases += 1

    def columns(self, gamma: float, lambda_: float) -> dict[str, np.ndarray]:
        """All decisions as columns, with advantages (GAE: Schulman et al. 2016) and value targets."""
        games, powers = np.nonzero(self._last >= 0)
        self._close(games, powers, self._last[games, powers])
        self._last[:] = -1
        columns = {name: np.concatenate(parts) for name, parts in self._kept.items()}
        rewards = np.zeros(self._count, np.float32)
        for which, paid in self._closed:
            rewards[which] = paid
        self._all_previous = np.concatenate(self._previous)
        values = columns[Columns.VF_PREDS]
        advantages = estimate(rewards * self._scale, values, self._all_previous, gamma, lambda_)
        return columns | {"rewards": rewards, ADVANTAGES: advantages, VALUE_TARGETS: advantages + values}

    def chains(self) -> list[np.ndarray]:
        """The decisions of each power in each game, in order. Call it after `columns`."""
        first: dict[int, int] = {}
        chains: list[list[int]] = []
        for number, previous in enumerate(self._all_previous.tolist()):
            if previous < 0:
                first[number] = len(chains)
                chains.append([number])
            else:
                first[number] = first.pop(previous)
                chains[first[number]].append(number)
        return [np.array(chain) for chain in chains]

    def _close(self, games: np.ndarray, powers: np.ndarray, decisions: np.ndarray) -> None:
        """Pay out the rewards due to decisions, and reset them."""
        known = decisions >= 0
        self._closed.append((decisions[known], self._due[games[known], powers[known]]))
        self._due[games, powers] = 0


def shuffled(rng: np.random.Generator, positions: np.ndarray) -> np.ndarray:
    """A permutation of decisions, int64 [n], that shuffles positions and keeps each position's decisions together.

    The network then encodes a position only once for its consecutive decisions in a minibatch.

    Args:
        positions: int [n], the position of each decision.
    """
    _, number = np.unique(positions, return_inverse=True)
    return np.argsort(rng.permutation(int(number.max(initial=-1)) + 1)[number], kind="stable")


@njit(cache=True)
def estimate(rewards, values, previous, gamma, lambda_):  # type: ignore[no-untyped-def]
    """Advantages of decisions: float32 [n]; `previous` [n] is the same power's previous decision, or -1."""
    n = len(rewards)
    advantages = np.zeros(n, np.float32)
    ahead = np.zeros(n, np.float32)  # contribution of later decisions
    for i in range(n - 1, -1, -1):
        advantages[i] = rewards[i] - values[i] + ahead[i]
        if previous[i] >= 0:
            ahead[previous[i]] = gamma * (values[i] + lambda_ * advantages[i])
    return advantages
