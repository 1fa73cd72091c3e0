"""Finite populations beside a chain of ordered members, written from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from modal_env.dynamics.finite import fixation, rare_mutations
from modal_env.games.game import ProgramGame
from modal_env.logic.library import POST

GAME = ProgramGame(POST, Fraction(1, 10))
PAID = [[2, 0, 3], [1, 1, 0], [0, 3, 1]]
WEIGHT = 0.7
Population = tuple[int, ...]
Chances = Callable[[Population, int], dict[int, float]]


def payoff(members: Population, place: int) -> float:
    """The mean payoff of a member against all the others."""
    others = [other for number, other in enumerate(members) if number != place]
    return sum(PAID[members[place]][other] for other in others) / len(others)


def moran(members: Population, place: int) -> dict[int, float]:
    weights = dict.fromkeys(range(3), 0.0)
    for number, agent in enumerate(members):
        weights[agent] += math.exp(WEIGHT * payoff(members, number))
    return {agent: weight / sum(weights.values()) for agent, weight in weights.items()}


def imitation(members: Population, place: int) -> dict[int, float]:
    found = dict.fromkeys(range(3), 0.0)
    for number, agent in enumerate(members):
        if number != place:
            takes = 1 / (1 + math.exp(-WEIGHT * (payoff(members, number) - payoff(members, place))))
            found[agent] += takes / (len(members) - 1)
            found[members[place]] += (1 - takes) / (len(members) - 1)
    return found


def chain(process: Chances, size: int, mutation: float) -> tuple[list[Population], np.ndarray]:
    """All populations as lists of members, and the chances to go from one to another."""
    states = list(product(range(3), repeat=size))
    moves = np.zeros((len(states), len(states)))
    for row, members in enumerate(states):
        for place in range(size):
            for agent, chance in process(members, place).items():
                after = (*members[:place], agent, *members[place + 1 :])
                moves[row, states.index(after)] += ((1 - mutation) * chance + mutation / 3) / size
    return states, moves


@pytest.mark.parametrize("process", [moran, imitation])
def test_fixation_is_that_of_the_chain_of_members(process: Chances) -> None:
    size, resident, mutant = 5, 0, 2
    states, moves = chain(process, size, 0.0)
    two = [number for number, members in enumerate(states) if set(members) == {resident, mutant}]
    start = (resident,) * (size - 1) + (mutant,)
    inside = moves[np.ix_(two, two)]
    into = moves[two, states.index((mutant,) * size)]
    chances = np.linalg.solve(np.eye(len(two)) - inside, into)
    found = fixation(PAID, size, intensity=WEIGHT)
    assert math.isclose(found[resident, mutant], chances[two.index(states.index(start))], rel_tol=1e-10)


@pytest.mark.parametrize("process", [moran, imitation])
def test_rare_mutations_are_the_limit_of_the_chain_of_members(process: Chances) -> None:
    states, moves = chain(process, 4, 1e-7)
    balance = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    weights = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    expected = [
        sum(weight * members.count(agent) / 4 for weight, members in zip(weights, states, strict=True))
        for agent in range(3)
    ]
    assert np.allclose(rare_mutations(PAID, 4, intensity=WEIGHT).means, expected, atol=1e-5)


def test_nothing_is_selected_at_intensity_0() -> None:
    assert np.allclose(fixation(GAME, 30, intensity=0), 1 / 30)
    assert np.allclose(rare_mutations(GAME, 30, intensity=0).means, 1 / 4)
