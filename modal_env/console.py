"""Progress and one-line errors on stderr, so that stdout can be piped.

Progress is a bar on a terminal; elsewhere, e.g. in a log, it is a line every ten seconds.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from modal_env.interruptions import CODE, ended_soon
from modal_env.progress import Report

EVERY = 10.0  # seconds between lines


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """A console that shows text as it is: by default rich interprets brackets as markup, and :names: as emoji."""
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def print_error(error: object) -> None:
    """Print an error in one line on stderr."""
    plain_console(stderr=True).print(f"error: {error}", style="red", soft_wrap=True)


@contextmanager
def errors_printed(
    interrupted: str, expected: tuple[type[Exception], ...], text: Callable[[Exception], object]
) -> Iterator[None]:
    """End the command after an expected error (exit code 2) or Ctrl-C (130), with one line on stderr.

    Args:
        interrupted: the line to print after Ctrl-C.
        text: error -> the text to print.
    """
    try:
        with ended_soon(interrupted):
            yield
    except BrokenPipeError:  # e.g. piped into head; typer exits quietly
        raise
    except expected as error:  # OSError: such as a full disk, a read-only folder, a folder in place of a file
        print_error(text(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interruption:
        print(interrupted, file=sys.stderr)
        raise typer.Exit(CODE) from interruption


@contextmanager
def lines_every(seconds: float, line: Callable[[], str]) -> Iterator[None]:
    """Print a line on stderr at intervals while the block runs, from a background thread."""
    is_over = Event()

    def print_lines() -> None:
        while not is_over.wait(seconds):
            print(line(), file=sys.stderr, flush=True)

    printer = Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield
    finally:
        is_over.set()
        printer.join()


@contextmanager
def watched(doing: str) -> Iterator[Report]:
    """Show the progress of work that calls the yielded report with the fraction done."""
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


def print_anything() -> None:
    """In an ASCII locale (LC_ALL=C) print UTF-8; in others print characters that cannot be encoded as \\u25a1.

    Python does the same in the C locale unless PYTHONUTF8=0 is set; an encoding in PYTHONIOENCODING is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not in a notebook or a test
            is_ascii = stream.encoding.lower() in ("ascii", "ansi_x3.4-1968", "us-ascii")
            wanted = "utf-8" if is_ascii and not os.environ.get("PYTHONIOENCODING") else stream.encoding
            stream.reconfigure(encoding=wanted, errors="backslashreplace")
