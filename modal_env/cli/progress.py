"""Progress of long commands on stderr: a bar on a terminal; elsewhere, e.g. in a log, a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modal_env.progress import Report

EVERY = 10.0  # seconds between lines


@contextmanager
def watched(doing: str) -> Iterator[Report]:
    """Show elapsed and remaining time of some work, which must call the yielded report."""
    if sys.stderr.isatty():
        with Progress(
            TextColumn(doing, markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task("", total=1.0)
            yield lambda share: bar.update(task, completed=share)
        return
    lines = _Lines(doing)
    lines.start()
    try:
        yield lines.report
    finally:
        lines.stop()


class _Lines(Thread):
    """Prints a line at intervals while the work runs, most of which releases the GIL."""

    def __init__(self, doing: str) -> None:
        super().__init__(daemon=True)
        self.doing, self.share, self.begun = doing, 0.0, monotonic()
        self.done = Event()

    def report(self, share: float) -> None:
        """Record the share of the work that is done."""
        self.share = share

    def run(self) -> None:
        while not self.done.wait(EVERY):
            print(_line(self.doing, monotonic() - self.begun, self.share), file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Stop printing."""
        self.done.set()
        self.join()


def _line(doing: str, seconds: float, share: float) -> str:
    """ "searching: 40% done in 20 s, about 30 s left"."""
    if not share > 0:
        return f"{doing}: {_time(seconds)} so far, time left not known yet"
    return f"{doing}: {share:.0%} done in {_time(seconds)}, about {_time(seconds / share - seconds)} left"


def _time(seconds: float) -> str:
    """ "12 s", "3 min 20 s", "2 h 5 min"; beyond a year "years"."""
    whole = round(min(seconds, 1e9))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min" if whole < 365 * 24 * 3600 else "years"
