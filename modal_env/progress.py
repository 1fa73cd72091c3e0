"""Long work tells how far it has come: it calls a report with the share that is done, from 0 to 1, again and again."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[float], object]


def unheard(share: float) -> None:
    """The report of who does not want to know."""


def part(report: Report, low: float, high: float) -> Report:
    """The report of a part of the work, which takes it from one share to another."""
    return lambda share: report(low + share * (high - low))
