"""Rational functions of epsilon and their roots as exact numbers, by sympy: nothing is rounded.

A number is a Fraction or, if it is irrational, a `Root`: one of the real roots of an irreducible polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, total_ordering
from itertools import count

from sympy import Poly, Rational, rootof, sstr
from sympy.polys.domains import QQ
from sympy.polys.fields import FracElement
from sympy.polys.rings import PolyElement, ring

POLYNOMIALS, EPSILON = ring("eps", QQ)
FUNCTIONS = POLYNOMIALS.to_field()


def affine(constant: Fraction, slope: Fraction | int) -> PolyElement:
    """The polynomial constant + slope * epsilon."""
    return QQ(constant.numerator, constant.denominator) + QQ(slope.numerator, slope.denominator) * EPSILON


def constant(value: Fraction) -> FracElement:
    """A number as a function."""
    return FUNCTIONS.new(affine(value, 0), POLYNOMIALS(1))


def value_of(function: PolyElement | FracElement, x: Fraction) -> Fraction:
    """The value of a polynomial or a quotient of polynomials at a fraction."""
    if isinstance(function, FracElement):
        return value_of(function.numer, x) / value_of(function.denom, x)
    found = function(QQ(x.numerator, x.denominator))
    return Fraction(int(found.numerator), int(found.denominator))


def sign(function: FracElement, x: Algebraic) -> int:
    """The sign of a quotient of polynomials at a number: -1, 0 or 1."""
    return _sign(function.numer, x) * _sign(function.denom, x)


@lru_cache(maxsize=100_000)
def _sign(polynomial: PolyElement, x: Algebraic) -> int:
    if isinstance(x, Root):
        if not polynomial % x.polynomial:
            return 0
        plain = _plain(polynomial)
        x = next(low for low, high in narrower(x) if not plain.count_roots(_rational(low), _rational(high)))
    value = value_of(polynomial, x)
    return (value > 0) - (value < 0)


@total_ordering
@dataclass(frozen=True)
class Root:
    """An irrational number above 0.

    Attributes:
        polynomial: irreducible, with integer coefficients.
        index: its number among the polynomial's real roots, from the lowest.
    """

    polynomial: PolyElement
    index: int

    def __lt__(self, other: Algebraic) -> bool:
        if self == other:
            return False
        ends = zip(narrower(self), narrower(other), strict=True)
        return next(mine[1] <= theirs[0] for mine, theirs in ends if mine[1] <= theirs[0] or theirs[1] <= mine[0])

    def __float__(self) -> float:
        return next(float(low) for low, high in narrower(self) if float(low) == float(high))

    def __str__(self) -> str:
        return f"{rootof(_plain(self.polynomial), self.index, radicals=True)} = {float(self):.6g}"


Algebraic = Fraction | Root


def narrower(x: Algebraic) -> Iterator[tuple[Fraction, Fraction]]:
    """Fractions on either side of a number, ever closer; a fraction itself."""
    return (_bounds(x, step) if isinstance(x, Root) else (x, x) for step in count())


@lru_cache(maxsize=100_000)
def _bounds(root: Root, step: int) -> tuple[Fraction, Fraction]:
    """The fractions of `narrower`; every step narrows them to a thousandth."""
    plain = _plain(root.polynomial)
    if step == 0:
        low, high = plain.intervals()[root.index][0]
    else:
        before = _bounds(root, step - 1)
        low, high = plain.refine_root(*map(_rational, before), eps=_rational((before[1] - before[0]) / 1000))
    return Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))


@lru_cache(maxsize=10_000)
def _plain(polynomial: PolyElement) -> Poly:
    return Poly(polynomial.as_expr(), EPSILON.as_expr())


def _rational(x: Fraction) -> Rational:
    return Rational(x.numerator, x.denominator)


def positive_roots(function: FracElement) -> frozenset[Algebraic]:
    """The roots and poles above 0."""
    return _roots(function.numer) | _roots(function.denom)


@lru_cache(maxsize=10_000)
def _roots(polynomial: PolyElement) -> frozenset[Algebraic]:
    found: set[Algebraic] = set()
    for factor, _ in polynomial.factor_list()[1] if polynomial else ():
        if factor.degree() == 1:
            found.add(-value_of(factor, Fraction(0)) / value_of(factor.diff(EPSILON), Fraction(0)))
        else:
            found |= {Root(factor, index) for index in range(_plain(factor).count_roots())}
    return frozenset(root for root in found if root > Fraction(0))


def between(low: Algebraic, high: Algebraic | None) -> Fraction:
    """A simple fraction between two numbers, or above `low` if `high` is None."""
    if high is None:
        return Fraction(next(narrower(low))[1].__floor__() + 1)
    ends = ((a[1], b[0]) for a, b in zip(narrower(low), narrower(high), strict=True))
    floor, ceiling = next((floor, ceiling) for floor, ceiling in ends if floor < ceiling)
    parts = next(2**n for n in count() if (floor * 2**n).__floor__() + 1 < ceiling * 2**n)
    return Fraction((floor * parts).__floor__() + 1, parts)


def function_text(function: FracElement) -> str:
    """ "1 - 3*eps/2": powers ascend, and the denominator begins with a positive number."""
    sign = 1 if function.denom.terms()[-1][1] > 0 else -1
    top, bottom = ((sign * part).as_expr() for part in (function.numer, function.denom))
    return str(sstr(top / bottom, order="rev-lex"))
