"""Polynomials, their quotients and their roots as exact numbers."""

from fractions import Fraction as F
from math import prod, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from modal_env.games.algebraic import Polynomial, Ratio, Root, between, positive_roots, sign

small = st.fractions(-5, 5, max_denominator=6)
polynomials = st.lists(small, max_size=6).map(Polynomial.of)
known_roots = st.lists(small, min_size=1, max_size=4)
known_squares = st.lists(st.sampled_from([2, 3, 5]), max_size=2)
X = Polynomial.of([0, 1])
SQRT2 = positive_roots(X * X - Polynomial.of([2]))[0]


def product_of(factors: list[Polynomial]) -> Polynomial:
    return prod(factors, start=Polynomial.of([1]))


@pytest.mark.slow
@settings(max_examples=40)
@given(polynomials, polynomials, small)
def test_arithmetic_is_that_of_the_values(p: Polynomial, q: Polynomial, x: F) -> None:
    assert ((p + q)(x), (p - q)(x), (p * q)(x)) == (p(x) + q(x), p(x) - q(x), p(x) * q(x))
    assume(q)
    quotient, rest = divmod(p, q)
    assert quotient * q + rest == p
    assert rest.degree < q.degree
    common = p.gcd(q)
    assert not p % common
    assert not q % common


@pytest.mark.slow
@settings(max_examples=25)
@given(polynomials, polynomials, polynomials, polynomials, small)
def test_quotients_are_those_of_the_values(a: Polynomial, b: Polynomial, c: Polynomial, d: Polynomial, x: F) -> None:
    assume(b(x) and d(x))
    left, right = Ratio.of(a, b), Ratio.of(c, d)
    assert left(x) == a(x) / b(x)
    assert (left + right)(x) == left(x) + right(x)
    assert (left * right)(x) == left(x) * right(x)
    assert left + right == right + left
    assert (-left)(x) == -left(x)
    assert left.sign(x) == (left(x) > 0) - (left(x) < 0)


@settings(max_examples=40)
@given(known_roots, known_squares)
def test_known_roots_are_found_and_fractions_as_such(fractions: list[F], squares: list[int]) -> None:
    polynomial = product_of([X - Polynomial.of([r]) for r in fractions] + [X * X - Polynomial.of([s]) for s in squares])
    roots = positive_roots(polynomial)
    assert [root for root in roots if isinstance(root, F)] == sorted({r for r in fractions if r > 0})
    expected = sorted([*{float(r) for r in fractions if r > 0}, *map(sqrt, set(squares))])
    assert [float(root) for root in roots] == pytest.approx(expected, rel=1e-15)


@settings(max_examples=40)
@given(polynomials)
def test_numpy_finds_the_same_number_of_roots_where_they_lie_apart(p: Polynomial) -> None:
    assume(p.degree > 0)
    found = np.roots([float(value) for value in reversed(p.coefficients)])
    assume(all(abs(a - b) > 1e-2 for i, a in enumerate(found) for b in found[:i]))
    assume(all(abs(z.imag) < 1e-9 or abs(z.imag) > 1e-2 for z in found))
    assume(all(abs(z.real) > 1e-2 for z in found))
    expected = sorted(z.real for z in found if abs(z.imag) < 1e-9 and z.real > 0)
    roots = positive_roots(p)
    assert [float(root) for root in roots] == pytest.approx(expected, rel=1e-6)
    assert all(sign(p, root) == 0 for root in roots)


@settings(max_examples=40)
@given(polynomials)
def test_the_sign_at_an_irrational_number(p: Polynomial) -> None:
    rational = sum((value * 2 ** (i // 2) for i, value in enumerate(p.coefficients) if i % 2 == 0), F(0))
    irrational = sum((value * 2 ** (i // 2) for i, value in enumerate(p.coefficients) if i % 2), F(0))
    # a + b sqrt(2): of the sign of both, or compare a^2 and 2 b^2
    expected = np.sign(rational) if rational**2 > 2 * irrational**2 else np.sign(irrational)
    assert sign(p, SQRT2) == expected
    assert sign(p * (X * X - Polynomial.of([2])), SQRT2) == 0


def test_a_number_told_by_different_polynomials_is_one() -> None:
    other = positive_roots((X * X - Polynomial.of([2])) * (X * X - Polynomial.of([3])) * (X - Polynomial.of([1])))
    assert [float(root) for root in other] == pytest.approx([1, sqrt(2), sqrt(3)])
    assert other[1] == SQRT2 != other[2]
    assert not other[1] < SQRT2 < other[1]
    assert other[0] < SQRT2 < other[2]
    assert F(3, 2) != SQRT2
    assert F(7, 5) < SQRT2 < F(3, 2) <= F(3, 2)
    assert sorted([other[2], F(3, 2), SQRT2, F(1)]) == [1, SQRT2, F(3, 2), other[2]]


def test_numbers_that_lie_close_are_told_apart() -> None:
    near = positive_roots(X * X - Polynomial.of([2 + F(1, 10**40)]))[0]
    assert float(near) == float(SQRT2)
    assert near > SQRT2
    assert SQRT2 < between(SQRT2, near) < near
    assert sign(X * X - Polynomial.of([2]), near) == 1


@pytest.mark.slow
@given(st.fractions(0, 10), st.fractions(0, 10))
def test_the_simplest_fraction_between_two(a: F, b: F) -> None:
    assume(a != b)
    low, high = min(a, b), max(a, b)
    middle = between(low, high)
    assert low < middle < high
    smaller = range(1, middle.denominator) if middle.denominator < 200 else ()
    assert not any(
        F(-(-low.numerator * d // low.denominator) + k, d) in _open(low, high) for d in smaller for k in (0, 1)
    )
    assert between(low, None) > low


class _open:
    def __init__(self, low: F, high: F) -> None:
        self.low, self.high = low, high

    def __contains__(self, x: F) -> bool:
        return self.low < x < self.high


@pytest.mark.parametrize(
    ("coefficients", "text"),
    [
        ([], "0"),
        ([1], "1"),
        ([0, -1], "-eps"),
        ([1, F(-3, 2)], "1 - 3/2 eps"),
        ([F(-1, 2), 0, 1], "-1/2 + eps^2"),
    ],
)
def test_polynomials_in_words(coefficients: list[F], text: str) -> None:
    assert str(Polynomial.of(coefficients)) == text


def test_quotients_in_words() -> None:
    assert str(Ratio.of(Polynomial.of([1, -7]), Polynomial.of([F(1, 2), F(-5, 2)]))) == "(2 - 14 eps)/(1 - 5 eps)"
    assert str(Ratio.of(Polynomial.of([0, 2]), Polynomial.of([0, 4]))) == "1/2"


@pytest.mark.parametrize(
    ("coefficients", "texts"),
    [
        ([-2, 0, 1], ["sqrt(2) = 1.41421"]),
        ([-1, -1, 1], ["(1 + sqrt(5))/2 = 1.61803"]),
        ([2, -31, 60], ["(31 - sqrt(481))/120 = 0.0755691", "(31 + sqrt(481))/120 = 0.441098"]),
        ([-8, 0, 1], ["2 sqrt(2) = 2.82843"]),
        ([-2, 0, 9], ["sqrt(2)/3 = 0.471405"]),
        ([-3, 6, 9], ["1/3"]),
        ([-2, 0, 0, 1], ["the root of -2 + eps^3 near 1.25992"]),
    ],
)
def test_roots_in_words(coefficients: list[int], texts: list[str]) -> None:
    assert [str(root) for root in positive_roots(Polynomial.of(coefficients))] == texts


def test_a_root_has_no_hash() -> None:
    assert isinstance(SQRT2, Root)
    with pytest.raises(TypeError):
        hash(SQRT2)
