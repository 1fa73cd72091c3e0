"""Progress of long work, shown by commands on stderr, so that stdout can be piped.

On a terminal there is a bar, elsewhere a line every ten seconds. The library itself stays silent: only commands use
this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

EVERY = 10.0  # seconds between two lines
MEMORY = 600.0  # seconds over which the speed is averaged for the time left


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """A console that shows text as it is: by default rich interprets brackets as markup, and :names: as emoji."""
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


class Meter:
    """The progress of some work, which may have several stages in sequence; see `metered`."""

    def __init__(self, is_watched: bool) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        unit = TextColumn("{task.fields[unit]}", markup=False)
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        console = plain_console(stderr=True)
        self.bar = Progress(
            *columns, unit, *times, console=console, disable=not is_watched, speed_estimate_period=MEMORY
        )
        self._task: TaskID | None = None

    def stage(self, what: str, total: int, unit: str) -> None:
        """Begins another stage, which replaces the one before."""
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(what, total=total, unit=unit)

    def advance(self, count: int) -> None:
        """Adds to the number done."""
        if self._task is not None:
            self.bar.advance(self._task, count)

    def reach(self, done: int, what: str | None = None) -> None:
        """Sets the number done."""
        if self._task is not None:
            self.bar.update(self._task, completed=done, description=what)

    def line(self) -> str:
        """The progress in words: "playing: 12 of 60 games, 0:35 so far, about 2:20 left"."""
        return "".join(map(_line, self.bar.tasks))


def _line(task: Task) -> str:
    left = task.time_remaining
    rest = "" if left is None or task.finished else f", about {_clock(left)} left"
    done = f"{int(task.completed)} of {int(task.total or 0)} {task.fields['unit']}"
    return f"{task.description}: {done}, {_clock(task.elapsed or 0)} so far{rest}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def metered(what: str, total: int, unit: str) -> Iterator[Meter]:
    """Shows the progress of some work for the duration of the block."""
    meter, is_over = Meter(sys.stderr.isatty()), Signal()
    meter.stage(what, total, unit)

    def tell() -> None:
        while not is_over.wait(EVERY):
            print(meter.line(), file=sys.stderr, flush=True)

    teller = Thread(target=tell, daemon=True)
    if meter.bar.disable:
        teller.start()
    try:
        with meter.bar:
            yield meter
    finally:
        is_over.set()
        if meter.bar.disable:
            teller.join()
