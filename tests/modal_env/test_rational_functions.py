"""Numbers that are roots, their signs and comparisons, against numpy and against squares by hand."""

from fractions import Fraction as F

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.games.rational_functions import EPSILON, FUNCTIONS, POLYNOMIALS, affine, between, positive_roots, sign

X = EPSILON
small = st.fractions(-5, 5, max_denominator=6)
coefficients = st.lists(small, min_size=2, max_size=6)


def quotient(top: list, bottom: list = (1,)) -> object:
    """A quotient of polynomials, from the constant terms up."""
    parts = (sum((affine(F(c), 0) * X**i for i, c in enumerate(part)), POLYNOMIALS(0)) for part in (top, bottom))
    return FUNCTIONS.new(*parts)


(SQRT2,) = positive_roots(quotient([-2, 0, 1]))


@settings(max_examples=12)
@given(coefficients)
def test_the_sign_at_an_irrational_number(values: list[F]) -> None:
    rational = sum((value * 2 ** (i // 2) for i, value in enumerate(values) if i % 2 == 0), F(0))
    irrational = sum((value * 2 ** (i // 2) for i, value in enumerate(values) if i % 2), F(0))
    # a + b sqrt(2): of the sign of both, or compare a^2 and 2 b^2
    expected = np.sign(rational) if rational**2 > 2 * irrational**2 else np.sign(irrational)
    assert sign(quotient(values), SQRT2) == expected
    assert sign(quotient(values) * (X**2 - 2), SQRT2) == 0


def test_numbers_that_lie_close_are_told_apart() -> None:
    (near,) = positive_roots(quotient([-2 - F(1, 10**40), 0, 1]))
    assert float(near) == float(SQRT2)
    assert near > SQRT2
    assert SQRT2 < between(SQRT2, near) < near
    assert sign(quotient([-2, 0, 1]), near) == 1
