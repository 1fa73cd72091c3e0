"""Mixes of policies: the mixes to play, and the seats in each game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from agents.specs import Profile, Spec
from evaluation.checks import EvaluationError, check_games
from evaluation.measures.symmetric_game import Counts, compositions
from evaluation.play.game_spec import GameSpec
from evaluation.play.setting import Setting

MAX_POLICIES = 10


def all_mixes(policies: int, seats: int, types: int) -> list[Counts]:
    """All mixes of at most `types` policies, as seats per policy: mixes of one policy first, then of two, and so on."""
    mixes: list[Counts] = []
    for number in range(1, min(types, policies, seats) + 1):
        for chosen in combinations(range(policies), number):
            for counts in compositions(seats - number, number):
                mix = [0] * policies
                for policy, count in zip(chosen, counts, strict=True):
                    mix[policy] = count + 1
                mixes.append(tuple(mix))
    return mixes


def check_balanced(setting: Setting, games: int) -> None:
    """Check that with rotated seats every policy plays every seat equally often.

    Raises:
        EvaluationError: `games` is not a multiple of the number of powers, or out of range.
    """
    check_games(games)
    seats = len(setting.board.powers)
    if setting.seats == "rotated" and games % seats:
        near = seats * max(1, round(games / seats))
        raise EvaluationError(
            f"games={games}: seats rotate, so give a multiple of {seats}, such as {near}; or seats='drawn'"
        )


def mixed_games(setting: Setting, seats: Iterable[tuple[int, Spec]], games: int) -> Iterator[GameSpec]:
    """Games of a mix. The order of the policies is drawn once per full rotation of the seats, then rotated.

    Args:
        seats: number of seats and the policy in them.
    """
    dealt = [(count, policy) for count, policy in seats if count]
    seated = len(setting.board.powers)
    for game in range(games):
        if game % seated == 0:
            table = _drawn_table(dealt, [setting.seed, game // seated])
        yield setting.game(table, game)


def _drawn_table(dealt: Sequence[tuple[int, Spec]], seed: Sequence[int]) -> Profile:
    """The policies seat by seat, in a random order that depends only on the counts, not on the policies."""
    policies = [policy for count, policy in dealt for _ in range(count)]
    order = np.random.default_rng([*seed, *(count for count, _ in dealt)]).permutation(len(policies))
    return Profile(tuple((1, policies[place]) for place in order.tolist()))
