"""Progress reports: long computations call a `Report` repeatedly with the share of work done, from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[float], object]


def no_report(share: float) -> None:
    """A report that is ignored."""


def part(report: Report, low: float, high: float) -> Report:
    """The report of one part of the work, which takes it from share `low` to `high`."""
    return lambda share: report(low + share * (high - low))
