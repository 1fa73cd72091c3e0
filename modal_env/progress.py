"""Progress reports: long computations call a `Report` repeatedly with the fraction of work done, 0 to 1."""

from __future__ import annotations

from collections.abc import Callable

from modal_env.checks import brief
from modal_env.errors import GameError

Report = Callable[[float], object]


def check_report(report: object) -> None:
    """Check that a report can be called.

    Raises:
        GameError: it cannot.
    """
    if not callable(report):
        raise GameError(f"report={brief(report)}: give a function of the fraction of work done, or leave it out")


def no_report(share: float) -> None:
    """Ignore progress."""


def part(report: Report, low: float, high: float) -> Report:
    """A report for one part of the work: its fractions from 0 to 1 are `low` to `high` of the whole."""
    return lambda share: report(low + share * (high - low))
