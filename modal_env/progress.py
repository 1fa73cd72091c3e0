"""Progress reports: long computations call a `Report` repeatedly with the share of work done, from 0 to 1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

EVERY = 10.0  # seconds between lines

Report = Callable[[float], object]


def unheard(share: float) -> None:
    """A report that is ignored."""


def part(report: Report, low: float, high: float) -> Report:
    """The report of one part of the work, which takes it from share `low` to `high`."""
    return lambda share: report(low + share * (high - low))


@contextmanager
def lines_every(seconds: float, line: Callable[[], str]) -> Iterator[None]:
    """Print a line on stderr again and again while the block lasts, whatever it is at; most work lets threads run."""
    is_over = Event()

    def tell() -> None:
        while not is_over.wait(seconds):
            print(line(), file=sys.stderr, flush=True)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
