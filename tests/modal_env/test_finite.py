"""Finite populations beside a chain of ordered members, written from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from modal_env.dynamics.finite import PROCESSES, fixation, rare_mutations, solved_shares
from modal_env.errors import GameError
from modal_env.games.game import Game
from modal_env.logic.library import POST

GAME = Game(POST, Fraction(1, 10))
PAID = [[2, 0, 3], [1, 1, 0], [0, 3, 1]]
WEIGHT = 0.7
Population = tuple[int, ...]
Chances = Callable[[Population, int], dict[int, float]]


def payoff(members: Population, place: int, agent: int | None = None) -> float:
    """The mean payoff of a member, as this agent or as its own, against all the others."""
    own = members[place] if agent is None else agent
    others = [other for number, other in enumerate(members) if number != place]
    return sum(PAID[own][other] for other in others) / len(others)


def normed(weights: dict[int, float]) -> dict[int, float]:
    return {key: value / sum(weights.values()) for key, value in weights.items()}


def moran(members: Population, place: int) -> dict[int, float]:
    weights = dict.fromkeys(range(3), 0.0)
    for number, agent in enumerate(members):
        weights[agent] += math.exp(WEIGHT * payoff(members, number))
    return normed(weights)


def imitation(members: Population, place: int) -> dict[int, float]:
    found = dict.fromkeys(range(3), 0.0)
    for number, agent in enumerate(members):
        if number != place:
            takes = 1 / (1 + math.exp(-WEIGHT * (payoff(members, number) - payoff(members, place))))
            found[agent] += takes / (len(members) - 1)
            found[members[place]] += (1 - takes) / (len(members) - 1)
    return found


def logit(members: Population, place: int) -> dict[int, float]:
    return normed({agent: math.exp(WEIGHT * payoff(members, place, agent)) for agent in range(3)})


def best_reply(members: Population, place: int) -> dict[int, float]:
    paid = [payoff(members, place, agent) for agent in range(3)]
    return normed({agent: float(paid[agent] >= max(paid) - 1e-9) for agent in range(3)})


RULES_OF_MEMBERS: dict[str, Chances] = {
    "moran": moran,
    "imitation": imitation,
    "logit": logit,
    "best-reply": best_reply,
}


def chain(process: str, size: int, mutation: float) -> tuple[list[Population], np.ndarray]:
    """All populations as lists of members, and the chances to go from one to another."""
    states = list(product(range(3), repeat=size))
    moves = np.zeros((len(states), len(states)))
    for row, members in enumerate(states):
        for place in range(size):
            for agent, chance in RULES_OF_MEMBERS[process](members, place).items():
                after = (*members[:place], agent, *members[place + 1 :])
                moves[row, states.index(after)] += ((1 - mutation) * chance + mutation / 3) / size
    return states, moves


@pytest.mark.parametrize("process", PROCESSES)
def test_solved_shares_are_those_of_the_chain_of_members(process: str) -> None:
    states, moves = chain(process, 4, 0.05)
    balance = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    weights = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    expected = [
        sum(w * members.count(agent) / 4 for w, members in zip(weights, states, strict=True)) for agent in range(3)
    ]
    found = solved_shares(PAID, 4, 0.05, process, intensity=WEIGHT)
    assert np.allclose([mean.value for mean in found.means], expected, atol=1e-9)


@pytest.mark.parametrize("process", ["moran", "imitation"])
def test_fixation_is_that_of_the_chain_of_members(process: str) -> None:
    size, resident, mutant = 5, 0, 2
    states, moves = chain(process, size, 0.0)
    two = [number for number, members in enumerate(states) if set(members) == {resident, mutant}]
    start = (resident,) * (size - 1) + (mutant,)
    inside = moves[np.ix_(two, two)]
    into = moves[two, states.index((mutant,) * size)]
    chances = np.linalg.solve(np.eye(len(two)) - inside, into)
    found = fixation(PAID, size, process, intensity=WEIGHT)
    assert math.isclose(found[resident, mutant], chances[two.index(states.index(start))], rel_tol=1e-10)


def test_nothing_is_selected_at_intensity_0() -> None:
    assert np.allclose(fixation(GAME, 30, intensity=0), 1 / 30)
    assert np.allclose([mean.value for mean in rare_mutations(GAME, 30, intensity=0).means], 1 / 4)


def test_rare_mutations_are_the_limit_of_the_solution() -> None:
    few = solved_shares(GAME, 12, 1e-7)
    limit = rare_mutations(GAME, 12)
    assert np.allclose([m.value for m in few.means], [m.value for m in limit.means], atol=1e-4)
    assert math.isclose(few.cooperation.value, limit.cooperation.value, abs_tol=1e-4)


def test_defection_takes_over_as_populations_grow() -> None:
    shares = [rare_mutations(GAME, size).means[1].value for size in (20, 50, 100, 200)]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] > 0.7


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(GameError, match="above 0"):
        solved_shares(GAME, 10, 0)
    with pytest.raises(GameError, match="take rare_mutations"):
        solved_shares(GAME, 200, 0.01)
    with pytest.raises(GameError, match="process="):
        fixation(GAME, 10, "logit")
    with pytest.raises(GameError, match="18,744,804 chances, more than 10,000,000"):
        solved_shares(np.eye(78, dtype=int).tolist(), 2, 0.01)


def test_what_floats_cannot_tell_is_refused() -> None:
    apart, three = [[1, 0], [0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(GameError, match="too rare to solve"):
        solved_shares(apart, 9, 0, "logit", intensity=1000)  # singular
    with pytest.raises(GameError, match="too rare to solve"):
        solved_shares(three, 9, 1e-5, "best-reply")  # by symmetry each has a third; rounding made it 0.32, 0.27, 0.41
    assert np.allclose([mean.value for mean in solved_shares(three, 9, 1e-5).means], 1 / 3)
    assert math.isclose(solved_shares(apart, 9, 0.1, "imitation", intensity=1e6).means[0].value, 1 / 2, rel_tol=1e-6)
