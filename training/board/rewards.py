"""Learners' rewards per phase.

====================  ==================================================================================================
``own``               welfare points the power gained (welfare); centers it gained or lost (standard)
``score``             change of the power's score (`welfare_env.Rules.scoring`), as if the game ended now
``social``            the mean over all powers of ``own``
``inequity:A,B``      ``own`` minus A times the others' mean lead minus B times the mean lead over them, for each year's
                      points separately (Fehr and Schmidt 1999, "A theory of fairness, competition and cooperation")
====================  ==================================================================================================

Over a game, all rewards but ``inequity`` sum to the final points, or to the change in score or centers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from training.errors import TrainingError
from welfare_env.board.board import Board
from welfare_env.engine import State, layout_of
from welfare_env.errors import did_you_mean
from welfare_env.game.scoring import scores
from welfare_env.rules import Rules

MAX = 1000  # maximum of inequity's A and B
NAMES = ("own", "score", "social", "inequity")


@dataclass(frozen=True)
class Reward:
    """A reward function; `parse` makes it from text.

    Attributes:
        envy, guilt: A and B of ``inequity``.
    """

    name: str = "own"
    envy: float = 0.0
    guilt: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Reward:
        """Read "own", "score", "social" or "inequity:0.5,0.2".

        Raises:
            TrainingError: no such reward.
        """
        name, _, numbers = text.partition(":")
        envy = guilt = 0.0
        try:
            if name == "inequity":
                envy, guilt = (float(number) for number in numbers.split(","))
            elif numbers:
                name = ""
        except ValueError:
            name = ""
        if name not in NAMES or not (0 <= envy <= MAX and 0 <= guilt <= MAX):
            wrong = text.partition(":")[0]
            hint = did_you_mean(wrong, NAMES) if wrong not in NAMES else ""
            raise TrainingError(
                f"reward {text!r:.80}{hint}: give own, score, social, or inequity:A,B with A and B from 0 to {MAX}"
            )
        return cls(name, envy, guilt)

    def __str__(self) -> str:
        return f"{self.name}:{self.envy:g},{self.guilt:g}" if self.name == "inequity" else self.name

    def pay(self, board: Board, rules: Rules, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The rewards of a phase: float32 [games, powers].

        Args:
            before, after: int32 [games, state size], the states before and after it.
        """
        if self.name == "score":
            return _scores(board, rules, after) - _scores(board, rules, before)
        gains = holdings(board, rules, after) - holdings(board, rules, before)
        if self.name == "social":
            return np.broadcast_to(gains.mean(axis=1, keepdims=True), gains.shape)
        if self.name == "inequity":
            lead = gains[:, :, None] - gains[:, None, :]
            others = gains.shape[1] - 1
            return gains - (
                self.envy * np.maximum(-lead, 0).sum(axis=2) + self.guilt * np.maximum(lead, 0).sum(axis=2)
            ) / max(1, others)
        return gains


def holdings(board: Board, rules: Rules, states: np.ndarray) -> np.ndarray:
    """Welfare points, or centers in the standard variant: float32 [games, powers]."""
    if rules.is_welfare:
        first = layout_of(board).welfare
        return states[:, first : first + len(board.powers)].astype(np.float32)
    return centers(board, states).astype(np.float32)


def centers(board: Board, states: np.ndarray) -> np.ndarray:
    """Centers owned: int64 [games, powers]."""
    owners = states[:, layout_of(board).owner : layout_of(board).owner + len(board.centers)]
    return (owners[:, :, None] == np.arange(len(board.powers))).sum(axis=1)


def _scores(board: Board, rules: Rules, states: np.ndarray) -> np.ndarray:
    rows = (scores(board, rules, State(layout_of(board), row.copy())) for row in states)
    return np.array(list(rows), np.float32)
