"""Punishers that draw each for itself, between those that agree and those that do not draw; another solver."""

from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from agents.toy_boards.punishing_kernels import DEVIATORS, PUNISHERS
from agents.toy_boards.shape import clique_of
from evaluation.checks import board_of
from evaluation.exact import CertificateError, certify_threats
from evaluation.exact.clique_proofs import Naming
from evaluation.exact.drawn.apart import ApartSearch, ProductGame
from evaluation.exact.drawn.apart_proofs import UNITS, certify_apart, check_apart, product_of
from evaluation.exact.drawn.certificates import UNIT
from evaluation.exact.drawn.sampling import punisher_values, random_springs
from evaluation.exact.drawn.threats import ThreatSearch
from tests.evaluation.test_threats import BruteForce

GAP = 0.02


def new_search(board: str, deviator: int = 0) -> ApartSearch:
    return ApartSearch(ThreatSearch(clique_of(board_of(board)), deviator), enough=GAP)


@lru_cache(maxsize=1)
def on_four_cores() -> tuple[ApartSearch, object]:
    """shared-clique:4, three years, a player that shares no core: where agreeing helps."""
    apart = new_search("shared-clique:4", 1)
    return apart, certify_apart("shared-clique:4", "PLAYERB", 3, apart)


@pytest.mark.parametrize("drawing", range(6))
def test_products_are_whole_parts(drawing):
    rng = np.random.default_rng(drawing)
    orders = np.full((3, 8), -1, np.int16)
    mixes = []
    for who in range(5):
        own = orders.copy()
        own[:, who] = range(3)
        chosen = own if who < drawing else own[:1]
        mixes.append((chosen, rng.dirichlet(np.ones(len(chosen)))))
    joint, parts = product_of(mixes)
    assert parts.sum() == UNIT
    for who, (own, weights) in enumerate(mixes):
        for order, weight in zip(own, weights, strict=True):
            assert parts[joint[:, who] == order[who]].sum() / UNIT == pytest.approx(weight, abs=2 / min(UNITS[-1]))
    assert len({tuple(plan) for plan in joint.tolist()}) == len(joint)


def test_values_of_random_positions():
    """Joint randomizing is never worse than independent, and that never worse than none; one seed, one sample."""
    one, two = (next(punisher_values("clique:3", [1], 2, 3, seed=3)) for _ in range(2))
    assert len(one.joint) == 2
    values = [one.joint, one.independent_low, one.independent_high, one.deterministic]
    assert (np.diff(values, axis=0) >= -1e-6).all()
    assert (one.deterministic == two.deterministic).all()


def test_random_springs_are_distinct_and_small():
    threats = ThreatSearch(clique_of(board_of("clique:3")), 0)
    nodes = list(random_springs(threats, 20, 3, np.random.default_rng(1)))
    states = [Naming(threats.search).state(node) for node in nodes]
    assert len(nodes) == len(set(nodes)) == 20
    assert {state.phase for state in states} == {0}
    assert max(len(state.units) for state in states) == 3


@pytest.mark.slow
def test_between_agreeing_and_not_drawing():
    apart = new_search("clique:3")
    drawn = 0
    for node in random_springs(apart.threats, 40, 3, np.random.default_rng(0)):
        agreed, (low, high) = apart.threats.solve(node, 1)[1], apart.solve(node, 1)
        assert agreed - 1e-6 <= low <= high <= apart.pure(node, 1)
        drawn += high < apart.pure(node, 1)
    assert drawn


@pytest.mark.slow
def test_certificates():
    """The others' mixes are products; those of punishers that agree are not, and less is not kept."""
    _, found = on_four_cores()
    assert check_apart(found.certificate) == len(found.certificate)
    assert found.agreed + 0.09 < found.at_least <= found.at_most < found.at_least + 2 * GAP
    assert found.at_most < found.pure
    with pytest.raises(CertificateError, match="by this certificate"):
        check_apart(replace(found.certificate, upper=found.certificate.upper - UNIT // 100))
    together = certify_threats("shared-clique:4", 1, "PLAYERB", 3).certificate
    with pytest.raises(CertificateError, match="not a product"):
        check_apart(together)


@pytest.mark.slow
def test_against_another_solver():
    """Sequential quadratic programs over all orders of all punishers, from many starts, with values by brute force."""
    apart, _ = on_four_cores()
    brute, rng = BruteForce(apart.threats), np.random.default_rng(0)
    helped = [
        key
        for key, (low, _) in apart.known.items()
        if key[1] == 1 and key in apart.mixes and low > apart.threats.bounds(*key)[0] + 0.05
    ]
    chosen = [key for key in helped if is_last(apart, key)][:3]
    assert chosen
    for key in chosen:
        low, high = apart.known[key]
        least = min(other_solver(tensor(apart, brute, key), rng) for _ in range(25))
        assert low - 1e-6 <= least <= high + 1e-6


def is_last(apart: ApartSearch, key: tuple[int, int]) -> bool:
    """Whether nothing that follows is worth more to a deviator whom punishers draw apart, so brute force will do."""
    stage = ProductGame(apart, *key)
    size = np.prod([len(own) for own in stage.each])
    return len(stage.each) == 2 and size < 500 and apart.threats.phase(key[0]) == 2


def tensor(apart: ApartSearch, brute: BruteForce, key: tuple[int, int]) -> np.ndarray:
    """What each order of the deviator is worth against each pair of orders: [deviator's, one's, the other's]."""
    stage = ProductGame(apart, *key)
    joint = np.array([np.max(pair, axis=0) for pair in product(*stage.each)], np.int16)
    to = apart.threats.lead(key[0], apart.threats.orders(key[0], DEVIATORS), joint)
    single, back = np.unique(to, return_inverse=True)
    worth = np.array([brute.value(int(node), key[1]) for node in single])[back].reshape(len(to), *map(len, stage.each))
    assert len(joint) >= len(apart.threats.orders(key[0], PUNISHERS))
    return np.unique(worth, axis=0)


def other_solver(payoffs: np.ndarray, rng: np.random.Generator) -> float:
    """A local minimum of the most that the deviator gets, over pairs of mixes."""
    _, one, other = payoffs.shape
    start = np.concatenate([rng.dirichlet(np.ones(one) / 2), rng.dirichlet(np.ones(other) / 2)])

    def told(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("rmk,m,k->r", payoffs, x[:one], x[one:-1]))

    found = minimize(
        lambda x: x[-1],
        np.append(start, told(np.append(start, 0)).max()),
        constraints=[
            {"type": "ineq", "fun": lambda x: x[-1] - told(x)},
            {"type": "eq", "fun": lambda x: [x[:one].sum() - 1, x[one:-1].sum() - 1]},
        ],
        bounds=[(0, 1)] * (one + other) + [(0, None)],
        method="SLSQP",
    )
    x = np.clip(found.x, 0, None)
    x[:one] /= x[:one].sum()
    x[one:-1] /= x[one:-1].sum()
    return float(told(x).max())
