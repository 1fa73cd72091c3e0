"""Meta-solvers: the mixed strategy over a population's policies, from the table of payoffs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evaluation.measures.symmetric_game import SymmetricGame

PARTS = 1000  # shares are multiples of 1 / PARTS
ROUNDS = 20_000  # of fictitious play, if no equilibrium is found


def solve(game: SymmetricGame, solver: str) -> np.ndarray:
    """Shares of the strategies, multiples of 1 / PARTS that sum to 1: float64 [strategies].

    "uniform": equal shares. "pure": the strategy with the smallest gain of deviating when all play it; ties are broken
    by the higher payoff, then by the later strategy. "nash": a symmetric equilibrium with the smallest support; ties
    are broken by the higher payoff, then by later strategies. If no equilibrium is found, the result of fictitious
    play (Brown 1951).
    """
    if solver == "uniform":
        return rounded(np.ones(len(game.names)))
    return rounded(_pure(game) if solver == "pure" else _nash(game))


def _pure(game: SymmetricGame) -> np.ndarray:
    each = np.eye(len(game.names))
    paid = [game.payoffs(mix) for mix in each]
    gains = [round(float(row.max() - row[own]), 6) for own, row in enumerate(paid)]
    return each[max(range(len(each)), key=lambda own: (-gains[own], round(float(paid[own][own]), 6), own))]


def _nash(game: SymmetricGame) -> np.ndarray:
    mixes = game.smallest_equilibria()
    if not len(mixes):
        return _fictitious(game)
    paid = [round(float(mix @ game.payoffs(mix)), 6) for mix in mixes]
    best = max(range(len(mixes)), key=lambda at: (paid[at], mixes[at].tolist()[::-1]))
    return mixes[best]


def _fictitious(game: SymmetricGame) -> np.ndarray:
    played = np.ones(len(game.names))
    for _ in range(ROUNDS):
        played[int(game.payoffs(played / played.sum()).argmax())] += 1
    return played / played.sum()


def rounded(mix: np.ndarray) -> np.ndarray:
    """Shares as multiples of 1 / PARTS that sum to 1, by largest remainders."""
    parts = mix / mix.sum() * PARTS
    whole = np.floor(parts + 1e-9)
    rest = round(PARTS - float(whole.sum()))
    whole[np.argsort(whole - parts, kind="stable")[:rest]] += 1
    return whole / PARTS


def as_policy(mix: Mapping[str, float]) -> str:
    """The spec of a mix, given as policy -> share."""
    if len(mix) == 1:
        return next(iter(mix))
    return "mix:" + ",".join(f"({policy})={share!r}" for policy, share in mix.items())
