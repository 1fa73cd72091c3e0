"""Progress of long commands on stderr: a bar on a terminal; elsewhere, e.g. in a log, a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modal_env.progress import EVERY, Report, lines_every


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
    begun, done = monotonic(), 0.0

    def report(share: float) -> None:
        nonlocal done
        done = share

    with lines_every(EVERY, lambda: _line(doing, monotonic() - begun, done)):
        yield report


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
