"""The exact Jacobian: against complex-step derivatives, known eigenvalues, and what the post says of its equilibria."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.dynamics.stability import jacobian, routh
from modal_env.games.game import ProgramGame
from tests.modal_env.conftest import post


def mixes(e: Fraction) -> dict[str, list[Fraction]]:
    """The post's three, and that of its commenter, which is one for 1/4 < e < 1/3."""
    zero = Fraction(0)
    return {
        "defect": [zero, Fraction(1), zero, zero],
        "defect and fair": [zero, 1 - e, e, zero],
        "good": [e, zero, 1 - 3 * e / 2, e / 2],
        "all four": [e, 1 - 3 * e, Fraction(1, 2), 2 * e - Fraction(1, 2)],
    }


def complex_step(game: ProgramGame, mix: list[Fraction]) -> np.ndarray:
    """[n - 1, n - 1] derivatives of the motion in all shares but the last agent's of the mix."""
    matrix = np.array([[float(value) for value in row] for row in game.utilities])
    left_out = max(i for i, share in enumerate(mix) if share)
    others = [i for i in range(len(mix)) if i != left_out]

    def motion(free: np.ndarray) -> np.ndarray:
        x = np.zeros(len(mix), dtype=complex)
        x[others] = free
        x[left_out] = 1 - free.sum()
        return (x * (matrix @ x - x @ (matrix @ x)))[others]

    free = np.array([float(mix[i]) for i in others], dtype=complex)
    steps = 1e-30j * np.eye(len(free))
    return np.array([motion(free + step).imag / 1e-30 for step in steps]).T


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        *((name, Fraction(1, 10)) for name in ("defect", "defect and fair", "good")),
        *((name, Fraction(3, 10)) for name in ("defect and fair", "good", "all four")),
    ],
)
def test_is_the_derivative_of_the_motion(name: str, epsilon: Fraction) -> None:
    mix = mixes(epsilon)[name]
    found = jacobian(post(epsilon), mix)
    numeric = complex_step(post(epsilon), mix)
    np.testing.assert_allclose(np.array(found.jacobian, dtype=float), numeric, atol=1e-14)
    key = lambda value: (round(value.real, 9), round(value.imag, 9))  # noqa: E731
    np.testing.assert_allclose(
        sorted(found.eigenvalues, key=key), sorted(np.linalg.eigvals(numeric), key=key), atol=1e-9
    )
    assert found.kind == ("stable" if name == "defect" else "unstable")


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=4, max_size=4), st.integers(0, 3))
def test_at_a_pure_population_eigenvalues_are_differences_of_payoffs(matrix: list[list[int]], agent: int) -> None:
    found = jacobian(matrix, [int(i == agent) for i in range(4)])
    rates = [matrix[i][agent] - matrix[agent][agent] for i in range(4) if i != agent]
    assert list(found.invasion.values()) == rates
    kind = "unstable" if max(rates) > 0 else "stable" if max(rates) < 0 else "undecided"
    assert found.kind == kind


class TestRouth:
    @settings(max_examples=25)
    @given(
        st.lists(st.integers(-6, 6).filter(bool), max_size=3),
        st.lists(st.tuples(st.integers(-4, 4).filter(bool), st.integers(1, 5)), max_size=2),
    )
    def test_counts_roots_on_the_right(self, real: list[int], pairs: list[tuple[int, int]]) -> None:
        polynomial = [Fraction(1)]
        for factor in [[1, -root] for root in real] + [[1, -2 * a, a * a + b * b] for a, b in pairs]:
            polynomial = [Fraction(value) for value in np.convolve(polynomial, np.array(factor, dtype=object))]
        column = routh(polynomial)
        right = sum(root > 0 for root in real) + 2 * sum(a > 0 for a, _ in pairs)
        if 0 not in column:
            assert sum((a < 0) != (b < 0) for a, b in pairwise(column)) == right
        if any(value < 0 for value in column):
            assert right > 0

    def test_a_center_is_undecided(self) -> None:
        third = [Fraction(1, 3)] * 3
        found = jacobian([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], third)
        assert found.kind == "undecided"
        assert (found.trace, found.determinant) == (0, Fraction(1, 3))
        assert jacobian([[0, -2, 1], [1, 0, -2], [-2, 1, 0]], third).kind == "unstable"
        assert jacobian([[0, -1, 2], [2, 0, -1], [-1, 2, 0]], third).kind == "stable"
