"""Populations of all direct agents: beside the chain of 16 agents, and beside a random walk with its own evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from modal_env import GameError, SlipBot
from modal_env.dynamics.finite import fixation, rare_mutations
from modal_env.games.game import Game
from modal_env.search.direct.shares import code_shares, direct_shares
from modal_env.search.direct_agents import code_of, shallow_agents

Numbers = NDArray[np.int64]


@pytest.mark.parametrize(("epsilon", "size", "game"), [("2/5", 5, "prisoners-dilemma"), ("1/10", 20, "rg-66")])
def test_depth_1_beside_the_chain_of_sixteen(epsilon: str, size: int, game: str) -> None:
    listed = rare_mutations(Game(shallow_agents()[:16], epsilon, payoffs=game), size)
    found = code_shares(epsilon, size, depth=1, payoffs=game)
    assert found == pytest.approx([mean.value for mean in listed.means], abs=1e-12)
    grouped = direct_shares(epsilon, size, depth=1, payoffs=game)
    assert grouped.cooperation.value == pytest.approx(listed.cooperation.value, abs=1e-12)
    shares = dict(zip(listed.names, (mean.value for mean in listed.means), strict=True))
    for name, mean in zip(grouped.names[:2], grouped.means, strict=False):
        assert mean.value == pytest.approx(shares[name], abs=1e-12)


def test_mutants_of_each_depth_equally_often() -> None:
    names = [agent.name for agent in shallow_agents()[:16]]
    shallow = [names.index("CooperateBot"), names.index("DefectBot")]
    weights = np.full(16, 1 / 14)
    weights[shallow] = 1 / 2
    jumps = fixation(Game(shallow_agents()[:16], "1/10"), 10) * weights
    np.fill_diagonal(jumps, 0)
    balance = np.vstack([(jumps - np.diag(jumps.sum(axis=1))).T, np.ones(16)])
    expected = np.linalg.lstsq(balance, np.array([0.0] * 16 + [1.0]), rcond=None)[0]
    assert code_shares("1/10", 10, depth=1, mutants="depths") == pytest.approx(expected, abs=1e-10)


def test_wrong_arguments() -> None:
    for wrong in ({"depth": 3}, {"mutants": "all"}, {"payoffs": "go"}, {"intensity": -1}):
        with pytest.raises(GameError):
            code_shares("1/10", 20, **wrong)
    with pytest.raises(GameError, match="process"):
        direct_shares("1/10", 20, depth=1, process="logit")


class Kinds:
    """The types of histories up to depth 2 by their definition: sets of (type of one depth less, move)."""

    def __init__(self) -> None:
        start = frozenset[object](), frozenset[object]()
        self.found, after = [start], []
        for shallow, deep in self.found:
            row = []
            for move in (0, 1):
                now = shallow | {move}, deep | {(shallow, move)}
                if now not in self.found:
                    self.found.append(now)
                row.append(self.found.index(now))
            after.append(row)
        self.after = np.array(after)
        self.shallow = np.array([[set(), {0}, {1}, {0, 1}].index(set(shallow)) for shallow, _ in self.found])

    def play(self, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
        """[n] the last moves of agents [n, types]."""
        rows, seen, other = np.arange(len(first)), np.zeros(len(first), int), np.zeros(len(first), int)
        for _ in range(9):
            one, two = first[rows, seen], second[rows, other]
            seen, other = self.after[seen, two], self.after[other, one]
        return first[rows, seen], second[rows, other]

    def drawn(self, rng: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
        """Agents [n, types] and their depths [n], every depth equally often."""
        depths = rng.integers(3, size=count)
        deep = rng.integers(2, size=(count, len(self.found)))
        listed = rng.integers(2, size=(count, 4))
        while (same := (listed == listed[:, :1]).all(axis=1)).any():  # constant: of depth 0
            listed[same] = rng.integers(2, size=(int(same.sum()), 4))
        flat = np.repeat(rng.integers(2, size=(count, 1)), len(self.found), axis=1)
        # of 2**21 functions of depth 2, 16 are shallower: too few to matter here
        return np.choose(depths[:, None], [flat, listed[:, self.shallow], deep]), depths


@pytest.mark.slow
def test_depth_2_beside_a_random_walk() -> None:
    kinds, rng, size, price = Kinds(), np.random.default_rng(0), 10, 0.1
    assert len(kinds.found) == 21
    paid = np.array([[1, 3], [0, 2]])
    count = np.arange(1, size)
    resident, depth = kinds.drawn(rng, 4000)
    for _ in range(1500):
        mutant, deeper = kinds.drawn(rng, len(resident))
        old, new = kinds.play(resident, mutant)
        own, (changed, _) = kinds.play(resident, resident)[0], kinds.play(mutant, mutant)
        of_mutant = (paid[changed, changed][:, None] * (count - 1) + paid[new, old][:, None] * (size - count)) / (
            size - 1
        ) - price * deeper[:, None]
        of_resident = (paid[old, new][:, None] * count + paid[own, own][:, None] * (size - count - 1)) / (
            size - 1
        ) - price * depth[:, None]
        chance = 1 / (1 + np.exp(np.cumsum(of_resident - of_mutant, axis=1)).sum(axis=1))
        taken = rng.random(len(resident)) < chance
        resident[taken], depth[taken] = mutant[taken], deeper[taken]
    cooperates = kinds.play(resident, resident)[0]
    found = direct_shares("1/10", size, mutants="depths")
    for observed, expected in (
        (cooperates.mean(), found.cooperation.value),
        ((depth == 2).mean(), found.means[-1].value + found.means[-2].value),
    ):
        assert abs(observed - expected) < 4 * np.sqrt(expected * (1 - expected) / len(resident))
    assert code_shares("1/10", size, mutants="depths")[code_of(SlipBot)] > 0
