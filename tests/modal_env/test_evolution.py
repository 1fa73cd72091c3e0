"""Replicator dynamics: against other coordinates and solvers, exact laws of motion, known limits, the post's claims."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from modal_env.dynamics.replicator import replicator
from modal_env.errors import GameError
from tests.modal_env.conftest import post

ROCK_PAPER_SCISSORS = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
EQUAL = [Fraction(1, 4)] * 4


class TestMotion:
    @pytest.mark.parametrize(("start", "method"), [(EQUAL, "LSODA"), ([0.02, 0.9, 0.05, 0.03], "Radau")])
    def test_as_in_plain_coordinates_with_another_solver(self, start: list[float], method: str) -> None:
        matrix = np.array([[float(value) for value in row] for row in post("1/10").utilities])

        def rates(_: float, x: np.ndarray) -> np.ndarray:
            return x * (matrix @ x - x @ matrix @ x)

        times = np.linspace(0, 60, 13)
        plain = solve_ivp(rates, (0, 60), [float(x) for x in start], method, times, rtol=1e-10, atol=1e-13)
        ours = replicator(post("1/10"), start, 60, times=times)
        np.testing.assert_allclose(ours.shares, plain.y.T, atol=2e-8)

    def test_rock_paper_scissors_keeps_the_product_of_shares(self) -> None:
        path = replicator(ROCK_PAPER_SCISSORS, [0.6, 0.3, 0.1], 125)  # ends in the middle of a turn
        np.testing.assert_allclose(path.log_shares.sum(axis=1), np.log(0.6 * 0.3 * 0.1), atol=1e-6)
        assert str(path.limit) == "cycle: 0 -> 1 -> 2"
        assert np.ptp(path.lengths("0")) < 1e-5


class TestLimits:
    def test_almost_only_defect_bots(self) -> None:
        path = replicator(post("1/10"), [0.01, 0.97, 0.01, 0.01], 1000)
        assert str(path.limit) == "taken over: DefectBot"
        assert path.shares[-1, 1] > 1 - 1e-12

    def test_a_game_whose_inner_equilibrium_attracts(self) -> None:
        path = replicator([[0, 2], [1, 0]], [0.01, 0.99], 200)
        assert str(path.limit) == "at rest: 0, 1"
        np.testing.assert_allclose(path.shares[-1], [2 / 3, 1 / 3], atol=1e-9)


class TestCycle:
    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 5), Fraction(1, 50)])
    def test_their_ratio_tends_to_what_the_corners_eigenvalues_give(self, epsilon: Fraction) -> None:
        """In logarithms: what shrinks by `contraction` at one corner has to grow back at the next."""
        path = replicator(post(epsilon), EQUAL, 1e7 / float(10 * epsilon))
        expected = float((2 - 2 * epsilon) / (1 - 2 * epsilon))
        for agent in ("CooperateBot", "FairBot", "PrudentBot"):
            lengths = path.lengths(agent)
            assert lengths[-1] / lengths[-2] == pytest.approx(expected, rel=2e-3)

    def test_share_of_a_cycle_spent_at_fair_bot_tends_to_one_less_two_epsilon(self) -> None:
        cycling = replicator(post("1/10"), EQUAL, 3e5)
        last = max(i for i, stay in enumerate(cycling.stays[:-2]) if stay.agent == "FairBot" and stay.is_whole)
        fair, cooperate, prudent = cycling.stays[last : last + 3]
        assert (cooperate.agent, prudent.agent) == ("CooperateBot", "PrudentBot")
        assert fair.length / (prudent.stop - fair.start) == pytest.approx(1 - 2 * 0.1, rel=1e-3)
        assert prudent.length / cooperate.length == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("size", [10**300, -(10**300)])
@pytest.mark.filterwarnings("error")
def test_huge_payoffs_are_told_without_warnings(size: int) -> None:
    with pytest.raises(GameError):
        replicator([[size, 1], [2, 0]], [0.5, 0.5], 10.0)
