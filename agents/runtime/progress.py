"""Progress and one-line errors of commands, on stderr so that stdout can be piped.

Long work shows a bar on a terminal, and elsewhere a line at its next step after ten seconds. Only commands use this:
the library itself prints nothing except in `welfare_env.compiling`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agents.runtime.command_options import in_options
from agents.runtime.files import reason, shown
from modal_env.console import errors_printed, plain_console
from modal_env.errors import ModalError
from welfare_env.errors import WelfareEnvError

MEMORY = 600.0  # seconds over which the speed is averaged
EVERY = 10.0  # seconds between lines, at least


@contextmanager
def errors_in_one_line(kept: str) -> Iterator[None]:
    """Prints our own errors in one line, and on an interruption what to do next.

    Args:
        kept: what an interruption leaves, and what rerunning the command does.
    """
    with errors_printed(f"interrupted: {kept}", (ModalError, WelfareEnvError, OSError), _text_of):
        yield


def _text_of(error: Exception) -> object:
    if not isinstance(error, OSError):
        return in_options(str(error))
    return f"{shown(str(error.filename))}: {reason(error)}" if error.filename else error


class Meter:
    """The progress of some work, which may have several stages in sequence; see `metered`."""

    def __init__(self, is_watched: bool) -> None:
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=plain_console(stderr=True),
            disable=not is_watched,
            speed_estimate_period=MEMORY,
        )
        self._told = time.monotonic()

    def stage(self, what: str, total: int, unit: str) -> None:
        """Begins another stage, which replaces the one before."""
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        self.bar.add_task(what, total=total, unit=unit)

    def advance(self, count: int, what: str | None = None) -> None:
        """Adds to the number done."""
        self.bar.update(self.bar.task_ids[-1], advance=count, description=what)
        self._tell()

    def reach(self, done: int, what: str | None = None) -> None:
        """Sets the number done."""
        self.bar.update(self.bar.task_ids[-1], completed=done, description=what)
        self._tell()

    def _tell(self) -> None:
        """Without a terminal, prints a line on stderr, unless the last one is too recent."""
        if self.bar.disable and time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        """The progress in words: "playing: 12 of 60 games, 0:00:35 so far, about 0:02:20 left"."""
        task = self.bar.tasks[-1]
        done = f"{int(task.completed)} of {int(task.total or 0)} {task.fields['unit']}"
        left = "" if task.time_remaining is None or task.finished else f", about {_clock(task.time_remaining)} left"
        return f"{task.description}: {done}, {_clock(task.elapsed or 0)} so far{left}"


def _clock(seconds: float) -> timedelta:
    return timedelta(seconds=round(seconds))


@contextmanager
def metered(what: str, total: int, unit: str) -> Iterator[Meter]:
    """Shows the progress of some work on stderr while the block lasts."""
    meter = Meter(sys.stderr.isatty())
    meter.stage(what, total, unit)
    with meter.bar:
        yield meter
