"""Polynomials in one variable with exact coefficients, their quotients, and their real roots as exact numbers.

An irrational root is given by a polynomial and an interval in which it has no other root (Sturm's theorem; see Basu,
Pollack and Roy, Algorithms in Real Algebraic Geometry, 2006, chapter 2). Signs at roots are exact: nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, total_ordering
from itertools import pairwise, zip_longest
from math import gcd, isqrt, lcm

VARIABLE = "eps"
NARROW = 30  # bits of the first intervals of roots, enough for most comparisons


@dataclass(frozen=True)
class Polynomial:
    """Coefficients from the constant term up; the last is not 0, and the zero polynomial has none."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def of(cls, coefficients: Iterable[Fraction | int]) -> Polynomial:
        """The polynomial with these coefficients, which may end in zeros."""
        found = [Fraction(value) for value in coefficients]
        while found and not found[-1]:
            found.pop()
        return cls(tuple(found))

    @property
    def degree(self) -> int:
        """The degree; -1 for the polynomial 0."""
        return len(self.coefficients) - 1

    @property
    def lead(self) -> Fraction:
        """The coefficient of the highest power."""
        return self.coefficients[-1]

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def __call__(self, x: Fraction) -> Fraction:
        value = Fraction(0)
        for coefficient in reversed(self.coefficients):
            value = value * x + coefficient
        return value

    def __neg__(self) -> Polynomial:
        return self * -1

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial.of(
            a + b for a, b in zip_longest(self.coefficients, other.coefficients, fillvalue=Fraction(0))
        )

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial | Fraction | int) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial.of(value * other for value in self.coefficients)
        product = [Fraction(0)] * (len(self.coefficients) + len(other.coefficients))
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Polynomial.of(product)

    def __divmod__(self, other: Polynomial) -> tuple[Polynomial, Polynomial]:
        rest, quotient = list(self.coefficients), [Fraction(0)] * max(0, len(self.coefficients) - other.degree)
        for place in reversed(range(len(quotient))):
            factor = quotient[place] = rest[place + other.degree] / other.lead
            for i, value in enumerate(other.coefficients):
                rest[place + i] -= factor * value
        return Polynomial.of(quotient), Polynomial.of(rest)

    def __floordiv__(self, other: Polynomial) -> Polynomial:
        return divmod(self, other)[0]

    def __mod__(self, other: Polynomial) -> Polynomial:
        return divmod(self, other)[1]

    def gcd(self, other: Polynomial) -> Polynomial:
        """The greatest common divisor, with lead 1."""
        one, other = self, other
        while other:
            one, other = other, one % other
        return one * (1 / one.lead) if one else one

    def derivative(self) -> Polynomial:
        """The derivative."""
        return Polynomial.of(power * value for power, value in enumerate(self.coefficients) if power)

    def primitive(self) -> Polynomial:
        """The multiple with smallest integer coefficients and a positive lead."""
        scale = Fraction(
            lcm(*(value.denominator for value in self.coefficients)),
            gcd(*(value.numerator for value in self.coefficients)),
        )
        return self * (scale if self.lead > 0 else -scale)

    @cached_property
    def sturm(self) -> tuple[Polynomial, ...]:
        """Sturm's sequence of a polynomial without double roots."""
        chain = [self, self.derivative()]
        while chain[-1]:
            chain.append(-(chain[-2] % chain[-1]))
        return tuple(chain[:-1])

    def count_roots(self, low: Fraction, high: Fraction) -> int:
        """How many roots lie in (low, high], for a polynomial without double roots."""
        return self._changes(low) - self._changes(high)

    def _changes(self, x: Fraction) -> int:
        signs = [value > 0 for value in (p(x) for p in self.sturm) if value]
        return sum(a != b for a, b in pairwise(signs))

    def __str__(self) -> str:
        text = ""
        for power, value in enumerate(self.coefficients):
            if value:
                size = "" if abs(value) == 1 and power else f"{abs(value)}{' ' * (power > 0)}"
                sign = ("-" if value < 0 else "") if not text else " - " if value < 0 else " + "
                text += sign + size + ("" if not power else VARIABLE if power == 1 else f"{VARIABLE}^{power}")
        return text or "0"


@dataclass(frozen=True)
class Ratio:
    """A quotient of polynomials without a common divisor; the denominator has lead 1."""

    top: Polynomial
    bottom: Polynomial

    @classmethod
    def of(cls, top: Polynomial, bottom: Polynomial) -> Ratio:
        """The quotient of two polynomials, the second not 0."""
        common = top.gcd(bottom)
        top, bottom = top // common, bottom // common
        return cls(top * (1 / bottom.lead), bottom * (1 / bottom.lead))

    @classmethod
    def constant(cls, value: Fraction) -> Ratio:
        """A number."""
        return cls(Polynomial.of([value]), Polynomial.of([1]))

    def __bool__(self) -> bool:
        return bool(self.top)

    def __call__(self, x: Fraction) -> Fraction:
        return self.top(x) / self.bottom(x)

    def __neg__(self) -> Ratio:
        return Ratio(-self.top, self.bottom)

    def __add__(self, other: Ratio) -> Ratio:
        return Ratio.of(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __mul__(self, other: Ratio) -> Ratio:
        return Ratio.of(self.top * other.top, self.bottom * other.bottom)

    def sign(self, x: Algebraic) -> int:
        """The sign of the value: -1, 0 or 1."""
        return sign(self.top, x) * sign(self.bottom, x)

    def __str__(self) -> str:
        if self.bottom.degree == 0:
            return str(self.top)
        values = (*self.top.coefficients, *self.bottom.coefficients)
        first = next(value for value in self.bottom.coefficients if value)
        scale = lcm(*(value.denominator for value in values)) * (1 if first > 0 else -1)
        return f"({self.top * scale})/({self.bottom * scale})"


@total_ordering
@dataclass(frozen=True, eq=False)
class Root:
    """An irrational root of a polynomial.

    Attributes:
        polynomial: with integer coefficients, without double roots, and without rational roots >= 0.
        low, high: fractions >= 0; this is the only root between them.
    """

    polynomial: Polynomial
    low: Fraction
    high: Fraction

    def halved(self) -> Root:
        """The same root with an interval of half the width."""
        middle = (self.low + self.high) / 2
        at_middle, at_high = self.polynomial(middle), self.polynomial(self.high)
        if at_high and at_middle * at_high >= 0:  # the one root of (low, high] is not in (middle, high]
            return Root(self.polynomial, self.low, middle)
        return Root(self.polynomial, middle, self.high)

    def narrowed(self, width: Fraction) -> Root:
        """The same root with an interval of at most this width."""
        here = self
        while here.high - here.low > width:
            here = here.halved()
        return here

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Root, Fraction, int)):
            return NotImplemented
        if not isinstance(other, Root) or self.high <= other.low or other.high <= self.low:
            return False
        common = self.polynomial.gcd(other.polynomial)
        low, high = max(self.low, other.low), min(self.high, other.high)
        return common(low) * common(high) < 0

    __hash__ = None  # type: ignore[assignment]  # one number may have different polynomials

    def __lt__(self, other: Algebraic | int) -> bool:
        if self == other:
            return False
        here, there = self, other
        while True:
            if isinstance(there, Root):
                if here.high <= there.low or there.high <= here.low:
                    return here.high <= there.low
                there = there.halved()
            elif here.high <= there or there <= here.low:
                return here.high <= there
            here = here.halved()

    def __float__(self) -> float:
        return float(self.narrowed(self.high / 2**60).high)

    def __str__(self) -> str:
        if self.polynomial.degree == 2:
            return f"{self._closed_form()} = {float(self):.6g}"
        return f"the root of {self.polynomial} near {float(self):.6g}"

    def _closed_form(self) -> str:
        """(a + b sqrt(c)) / d, of the root of a quadratic polynomial."""
        c, b, a = (int(value) for value in self.polynomial.coefficients)
        square = b * b - 4 * a * c
        outer = max(n for n in range(1, min(isqrt(square), 1000) + 1) if square % (n * n) == 0)
        common = gcd(b, outer, 2 * a)
        front = "" if outer == common else f"{outer // common} "
        sign = "+" if self > Fraction(-b, 2 * a) else "-"
        text = f"{front}sqrt({square // outer**2})"
        text = f"({-b // common} {sign} {text})" if b else text
        return f"{text}/{2 * a // common}" if 2 * a != common else text


Algebraic = Fraction | Root


def sign(polynomial: Polynomial, x: Algebraic) -> int:
    """The sign of a polynomial at a number >= 0: -1, 0 or 1."""
    if not isinstance(x, Root):
        value = polynomial(x)
        return (value > 0) - (value < 0)
    found = _plain_sign(polynomial, x)
    if found or not polynomial:
        return found
    common = polynomial.gcd(x.polynomial)
    if common(x.low) * common(x.high) < 0:
        return 0
    while not (found := _plain_sign(polynomial, x)):
        x = x.halved()
    return found


def _plain_sign(polynomial: Polynomial, x: Root) -> int:
    """The sign throughout a root's interval, from bounds of the positive and negative terms; 0 if undecided."""
    rising = Polynomial(tuple(max(value, Fraction(0)) for value in polynomial.coefficients))
    falling = rising - polynomial
    if rising(x.low) > falling(x.high):
        return 1
    return -1 if rising(x.high) < falling(x.low) else 0


def without_double_roots(polynomial: Polynomial) -> Polynomial:
    """The polynomial of the same roots, each simple, in integers."""
    return (polynomial // polynomial.gcd(polynomial.derivative())).primitive()


def positive_roots(polynomial: Polynomial) -> list[Algebraic]:
    """The roots above 0, ascending, each once; none for the polynomial 0."""
    if polynomial.degree < 1:
        return []
    simple = without_double_roots(polynomial)
    if not simple(Fraction(0)):
        simple = simple // Polynomial.of((0, 1))
    found: list[Algebraic] = []
    for root in _isolated(simple):
        fraction = _as_fraction(root)
        if fraction is not None:
            found.append(fraction)
            simple = simple // Polynomial.of((-fraction, 1))
    rest = simple.primitive()
    return sorted([*found, *(root.narrowed(root.high / 2**NARROW) for root in _isolated(rest) if rest.degree > 1)])


def _isolated(simple: Polynomial) -> Iterator[Root]:
    """Intervals (low, high] with one positive root each, of a polynomial without double roots."""
    bound = 1 + max(abs(value / simple.lead) for value in simple.coefficients)  # Cauchy's
    todo = [(Fraction(0), bound)]
    while todo:
        low, high = todo.pop()
        count = simple.count_roots(low, high)
        if count == 1:
            yield Root(simple, low, high)
        elif count:
            middle = (low + high) / 2
            todo += [(low, middle), (middle, high)]


def _as_fraction(root: Root) -> Fraction | None:
    """The root as a fraction, if it is rational: its denominator divides the lead; such fractions are far apart."""
    largest = int(root.polynomial.lead)
    root = root.narrowed(Fraction(1, 2 * largest**2 + 1))
    nearest = ((root.low + root.high) / 2).limit_denominator(largest)
    return nearest if root.low < nearest <= root.high and not root.polynomial(nearest) else None


def between(low: Algebraic, high: Algebraic | None) -> Fraction:
    """A simple fraction between two numbers, or above `low` if `high` is None."""
    while isinstance(low, Root) and high is not None and not low.high < high:
        low = low.halved()
    floor = low.high if isinstance(low, Root) else low
    if high is None:
        return Fraction(floor.__floor__() + 1)
    while isinstance(high, Root) and not high.low > floor:
        high = high.halved()
    return _simplest(floor, high.low if isinstance(high, Root) else high)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in the open interval (low, high), low >= 0 (Stern and Brocot)."""
    whole = low.__floor__()
    if whole + 1 < high:
        return Fraction(whole + 1)
    if low == whole:
        return whole + Fraction(1, (1 / (high - whole)).__floor__() + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))
