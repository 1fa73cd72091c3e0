"""Mixes of programs: their exact payoffs, and their specs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import modal_env
from agents.modal.players import Share, expected_payoff
from modal_env import Agent

if TYPE_CHECKING:
    from training.modal.games import PlayedTurns

PARTS = 1000  # shares are multiples of 1 / PARTS
NAMES = {agent: name for name, agent in modal_env.LIBRARY.items()}
Floats = NDArray[np.float64]


class MixMetrics:
    """Metrics of a policy, from its games and, in library mode, exact ones.

    Args:
        setting: the game's setting.
        opponent_mix: the mix of the opponent; None in self-play.
    """

    def __init__(self, setting: modal_env.Setting, opponent_mix: tuple[Share, ...] | None) -> None:
        self.setting, self.opponent_mix = setting, opponent_mix
        others = setting.agents if opponent_mix is None else [other for other, _ in opponent_mix]
        self._chances = None if opponent_mix is None else np.array([float(share) for _, share in opponent_mix])
        # [programs, others], the payoffs of each pair
        self._paid = np.array([[_paid(mine, other, setting) for other in others] for mine in setting.agents])

    def describe(self, played: PlayedTurns) -> dict[str, float]:
        """The logged metrics of an iteration's games, explained in docs/training-modal.md."""
        metrics = {
            "play/payoff": float(played.payoffs.mean()),
            "play/commonest": commonest(played.programs)[1] / len(played.programs),
            "play/actions": len(played.actions) / len(played.programs),
        }
        if self.setting.budget is not None:
            return metrics
        return metrics | self._exact(softmax(played.logits[0].astype(float)))

    def _exact(self, shares: Floats) -> dict[str, float]:
        """Exact metrics of a mix, given as shares [programs]."""
        replies = self._paid @ (shares if self._chances is None else self._chances)
        payoff = shares @ replies
        names = [f"share/{agent.name}" for agent in self.setting.agents]
        exact = {"exact/payoff": float(payoff), "exact/gap": float(replies.max() - payoff)}
        return exact | dict(zip(names, shares.tolist(), strict=True))


def _paid(mine: Agent, other: Agent, setting: modal_env.Setting) -> float:
    return float(expected_payoff(((mine, Fraction(1)),), ((other, Fraction(1)),), setting))


def commonest(programs: Sequence[Agent]) -> tuple[Agent, int]:
    """The program chosen most often, and its count."""
    return Counter(programs).most_common(1)[0]


def spec_of(shares: Sequence[Share]) -> str:
    """The spec of a mix, for `agents.make`."""
    if len(shares) == 1:
        return f"program:{name_of(shares[0][0])}"
    return "mix:" + ",".join(f"{name_of(agent)}={share}" for agent, share in shares)


def name_of(agent: Agent) -> str:
    """A program's name in the library, or its formula, as `modal_env.logic.notation.as_agent` reads it."""
    return NAMES.get(agent, agent.text)


def rounded(programs: Sequence[Agent], shares: Floats) -> tuple[Share, ...]:
    """Shares as multiples of 1/1000 that add up to 1 (largest remainders), largest first, without zeros."""
    parts = np.floor(shares * PARTS).astype(int)
    missing = PARTS - int(parts.sum())
    parts[np.argsort(parts - shares * PARTS, kind="stable")[:missing]] += 1
    order = np.argsort(-parts, kind="stable")
    return tuple((programs[i], Fraction(int(parts[i]), PARTS)) for i in order if parts[i])


def softmax(logits: Floats) -> Floats:
    """The probabilities of logits: [programs]."""
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()
