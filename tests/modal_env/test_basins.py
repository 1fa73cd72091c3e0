"""Basins of attraction: the proofs behind them checked by numbers, other ways to the same counts, known limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import log_softmax, softmax
from scipy.stats import binomtest

from modal_env.dynamics import basins as ours
from modal_env.dynamics.basins import basins, wilson
from modal_env.dynamics.populations import is_trapped, payoffs_of
from modal_env.errors import GameError
from tests.modal_env.conftest import post

EPSILONS = [Fraction(1, 5), Fraction(1, 10), Fraction(1, 50), Fraction(1, 100), Fraction(1, 10_000)]


def uniform(seed: int, agents: int, starts: int) -> np.ndarray:
    """[agents, starts]"""
    return np.random.default_rng(seed).dirichlet(np.ones(agents), starts).T


class TestProofs:
    @settings(max_examples=25)
    @given(st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=5, max_size=5), st.integers(0, 999))
    def test_where_trapped_the_winner_is_paid_most_and_the_trap_holds(self, rows: list[list[int]], seed: int) -> None:
        payoffs = payoffs_of(rows)
        for agent in payoffs.strict_pure:
            towards = np.linspace(0, 1, 60)
            shares = (1 - towards) * np.eye(5)[agent][:, None] + towards * uniform(seed, 5, 60)
            shares = shares[:, is_trapped(payoffs.floats, shares, agent)]
            assert shares.shape[1] > 0
            paid = payoffs.floats @ shares
            assert (np.delete(paid, agent, axis=0) < paid[agent]).all()
            later = shares * np.exp(0.05 * (paid - paid[agent]))
            assert is_trapped(payoffs.floats, later / later.sum(axis=0), agent).all()

    def test_the_trap_of_defect_bot(self) -> None:
        """For the post's game it comes down to (1 - e) (f + p) < e d."""
        _, d, f, p = shares = uniform(0, 4, 100_000)
        for epsilon in EPSILONS:
            payoffs = payoffs_of(post(epsilon))
            assert payoffs.strict_pure == (1,)
            e = float(epsilon)
            assert np.array_equal(is_trapped(payoffs.floats, shares, 1), (1 - e) * (f + p) < e * d)
        assert (0.8 * (f + p) < 0.2 * d).any()

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_no_way_out_of_the_region_where_defect_bot_dies(self, epsilon: Fraction) -> None:
        """On its wall d = 1 - q, and of ln(c d / p^2) everywhere, derivatives have the signs that the proof says."""
        matrix = payoffs_of(post(epsilon)).floats
        q = math.sqrt(2 * epsilon)
        wall = np.insert(uniform(1, 3, 200_000) * q, 1, 1 - q, axis=0)
        wall = wall[:, ours._escapes_the_post(float(epsilon), wall * [[1], [1 - 1e-12], [1], [1]])]
        assert wall.shape[1] > 1000
        paid = matrix @ wall
        assert (paid[1] < (wall * paid).sum(axis=0)).all()
        anywhere = uniform(2, 4, 200_000)
        rates = matrix @ anywhere
        np.testing.assert_allclose(
            rates[0] + rates[1] - 2 * rates[3], 4 * float(epsilon) - 1 - 2 * anywhere[3], atol=1e-12
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 50)])
    def test_fates_as_a_plain_solver_sees_them_much_later(self, epsilon: Fraction) -> None:
        e = float(epsilon)
        drawn = uniform(3, 4, 20_000)
        near = drawn[:, (drawn[2] + drawn[3] / 2 < 3 * e) & (drawn[3] < 6 * e * drawn[1])][:, :25]
        matrix = payoffs_of(post(epsilon)).floats

        def rates(_: float, logs: np.ndarray) -> np.ndarray:
            paid = matrix @ softmax(logs)
            return paid - paid[1]

        seen = ours.fates(payoffs_of(post(epsilon)), np.log(near), 1e6, 1e-6)
        assert sorted(set(seen)) == [-1, 1]
        for x, fate in zip(near.T, seen, strict=True):
            path = solve_ivp(rates, (0, 200 / e), np.log(x), "LSODA", rtol=1e-10, atol=1e-10)
            end = log_softmax(path.y[:, -1])[1]
            assert end > math.log(0.999) if fate == 1 else end < math.log(1e-6)


class TestCounts:
    def test_without_the_proof_the_same_starts_are_taken_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proven = basins(post("1/10"), 600, 5)
        monkeypatch.setattr(ours, "epsilon_of_the_post", lambda payoffs: None)
        waited = basins(post("1/10"), 600, 5, time=1000)
        assert (proven.is_proven, waited.is_proven) == (True, False)
        assert (waited.ends, waited.elsewhere, waited.undecided) == (proven.ends, 0, proven.elsewhere)

    def test_same_seed_same_counts_however_many_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = basins(post("1/10"), 5000, 3)
        monkeypatch.setattr(ours, "_CHUNK", 700)
        assert basins(post("1/10"), 5000, np.random.default_rng(3)) == whole
        assert basins(post("1/10"), 5000, 4) != whole
        assert whole.ends["DefectBot"] + whole.elsewhere == whole.starts

    def test_coordination(self) -> None:
        """Paid a for meeting one's like: of two agents the one with a = 2 wins above 1/3, equal ones share alike."""
        found = basins([[2, 0], [0, 1]], 50_000, 0)
        assert found.share("0").low < 2 / 3 < found.share("0").high
        assert sum(found.ends.values()) == 50_000
        three = basins([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 50_000, 0)
        assert all(three.share(name).low < 1 / 3 < three.share(name).high for name in three.ends)


class TestStatistics:
    @settings(max_examples=25)
    @given(st.integers(1, 10**6).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
    def test_wilson(self, counts: tuple[int, int]) -> None:
        count, total = counts
        theirs = binomtest(count, total).proportion_ci(method="wilson")
        assert wilson(count, total) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


class TestErrors:
    def test_no_strict_pure_equilibrium(self) -> None:
        with pytest.raises(GameError, match="no basins to count"):
            basins([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], 10)
        with pytest.raises(GameError, match="no basins to count"):
            basins(post(0), 10)
