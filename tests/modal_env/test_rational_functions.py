"""Numbers that are roots, their signs and comparisons, against numpy and against squares by hand."""

from fractions import Fraction as F
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modal_env.games.rational_functions import (
    EPSILON,
    FUNCTIONS,
    POLYNOMIALS,
    Root,
    affine,
    between,
    function_text,
    positive_roots,
    sign,
    value_of,
)

X = EPSILON
small = st.fractions(-5, 5, max_denominator=6)
coefficients = st.lists(small, min_size=2, max_size=6)
functions = coefficients.map(lambda values: quotient([*values]))


def quotient(top: list, bottom: list = (1,)) -> object:
    """A quotient of polynomials, from the constant terms up."""
    parts = (sum((affine(F(c), 0) * X**i for i, c in enumerate(part)), POLYNOMIALS(0)) for part in (top, bottom))
    return FUNCTIONS.new(*parts)


(SQRT2,) = positive_roots(quotient([-2, 0, 1]))


@settings(max_examples=40)
@given(coefficients)
def test_numpy_finds_the_same_roots_where_they_lie_apart(values: list[F]) -> None:
    assume(values[-1])
    found = np.roots([float(value) for value in reversed(values)])
    assume(all(abs(a - b) > 1e-2 for i, a in enumerate(found) for b in found[:i]))
    assume(all(abs(z.imag) < 1e-9 or abs(z.imag) > 1e-2 for z in found))
    assume(all(abs(z.real) > 1e-2 for z in found))
    expected = sorted(z.real for z in found if abs(z.imag) < 1e-9 and z.real > 0)
    roots = sorted(positive_roots(quotient(values)))
    assert [float(root) for root in roots] == pytest.approx(expected, rel=1e-6)
    assert all(sign(quotient(values), root) == 0 for root in roots)


@settings(max_examples=40)
@given(coefficients)
def test_the_sign_at_an_irrational_number(values: list[F]) -> None:
    rational = sum((value * 2 ** (i // 2) for i, value in enumerate(values) if i % 2 == 0), F(0))
    irrational = sum((value * 2 ** (i // 2) for i, value in enumerate(values) if i % 2), F(0))
    # a + b sqrt(2): of the sign of both, or compare a^2 and 2 b^2
    expected = np.sign(rational) if rational**2 > 2 * irrational**2 else np.sign(irrational)
    assert sign(quotient(values), SQRT2) == expected
    assert sign(quotient(values) * (X**2 - 2), SQRT2) == 0


def test_a_number_told_by_different_polynomials_is_one() -> None:
    one, other, three = sorted(positive_roots(FUNCTIONS.new((X**2 - 2) * (X**2 - 3) * (X - 1), POLYNOMIALS(1))))
    assert [float(root) for root in (one, other, three)] == pytest.approx([1, sqrt(2), sqrt(3)])
    assert (one, other) == (F(1), SQRT2)
    assert F(7, 5) < SQRT2 < F(3, 2) < three
    assert SQRT2 not in (F(3, 2), three)


def test_numbers_that_lie_close_are_told_apart() -> None:
    (near,) = positive_roots(quotient([-2 - F(1, 10**40), 0, 1]))
    assert float(near) == float(SQRT2)
    assert near > SQRT2
    assert SQRT2 < between(SQRT2, near) < near
    assert sign(quotient([-2, 0, 1]), near) == 1


@pytest.mark.slow
@given(st.fractions(0, 10), st.fractions(0, 10))
def test_a_fraction_between_two(a: F, b: F) -> None:
    assume(a != b)
    low, high = min(a, b), max(a, b)
    middle = between(low, high)
    assert low < middle < high
    assert between(low, None) > low


@pytest.mark.parametrize(
    ("top", "bottom", "text"),
    [
        ([0], [1], "0"),
        ([1, F(-3, 2)], [1], "1 - 3*eps/2"),
        ([F(-1, 2), 0, 1], [1], "-1/2 + eps**2"),
        ([1, -7], [F(1, 2), F(-5, 2)], "(2 - 14*eps)/(1 - 5*eps)"),
        ([0, 2], [0, 4], "1/2"),
    ],
)
def test_functions_in_words(top: list, bottom: list, text: str) -> None:
    assert function_text(quotient(top, bottom)) == text
    assert value_of(quotient(top, bottom), F(1, 7)) == value_of(quotient(top), F(1, 7)) / value_of(
        quotient(bottom), F(1, 7)
    )


def test_roots_in_words() -> None:
    texts = {str(root) for root in positive_roots(quotient([2, -31, 60], [-2, 0, 0, 1]))}
    assert texts == {
        "31/120 - sqrt(481)/120 = 0.0755691",
        "sqrt(481)/120 + 31/120 = 0.441098",
        "2**(1/3) = 1.25992",
    }
    assert all(isinstance(root, Root) for root in positive_roots(quotient([2, -31, 60])))
