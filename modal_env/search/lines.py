"""Numbers that depend on epsilon as a line, and the range of epsilon where lines are not negative."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

Line = tuple[Fraction, Fraction]
"""A number that depends on epsilon: (a, b) is a + b * epsilon."""


class Range(NamedTuple):
    """The epsilons from `low` to `high`; to infinity if `high` is None."""

    low: Fraction
    high: Fraction | None

    def meets(self, other: Range) -> Range | None:
        """The intersection of two ranges; None if it is empty."""
        highs = [high for high in (self.high, other.high) if high is not None]
        found = Range(max(self.low, other.low), min(highs, default=None))
        return None if found.high is not None and found.high < found.low else found


def nonnegative(lines: Iterable[Line]) -> Range | None:
    """The epsilons from 0 at which no line is below 0; None if there are none."""
    low, high = Fraction(0), None
    for constant, slope in lines:
        if slope > 0:
            low = max(low, -constant / slope)
        elif slope < 0:
            high = -constant / slope if high is None else min(high, -constant / slope)
        elif constant < 0:
            return None
    return None if high is not None and high < low else Range(low, high)


def total(lines: Iterable[Line]) -> Line:
    """The sum of lines."""
    constants, slopes = Fraction(0), Fraction(0)
    for constant, slope in lines:
        constants, slopes = constants + constant, slopes + slope
    return constants, slopes


def range_text(low: Fraction, high: Fraction | None) -> str:
    """Bounds of epsilon in words."""
    return f"{low} <= epsilon" if high is None else f"{low} <= epsilon <= {high}"


def line_text(line: Line) -> str:
    """(1, -2) is "1 - 2 eps"."""
    constant, slope = line
    if not slope:
        return str(constant)
    times = "eps" if abs(slope) == 1 else f"{abs(slope)} eps"
    if not constant:
        return times if slope > 0 else f"-{times}"
    return f"{constant} {'+' if slope > 0 else '-'} {times}"
