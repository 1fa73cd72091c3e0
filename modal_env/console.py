"""Progress and one-line errors on stderr, so that stdout can be piped."""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment

from modal_env.interruptions import CODE, ended_soon
from modal_env.progress import Report

WIDE = 124  # width of what is written to a file or a pipe, in characters


def plain(text: str) -> str:
    """A text of others without control characters (terminal escapes) and marks that change its direction."""
    if text.isprintable():
        return text
    return "".join(sign if sign in "\n\t" or unicodedata.category(sign)[0] != "C" else "\ufffd" for sign in text)


class PlainConsole(Console):
    """A console on which all text is `plain`."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments to print."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """A console that shows text as it is: by default rich interprets brackets as markup, and :names: as emoji."""
    return PlainConsole(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


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
def watched(doing: str) -> Iterator[Report]:
    """Show a bar on a terminal for work that calls the yielded report with the fraction done."""
    with Progress(
        TextColumn(doing, markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=plain_console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def print_anything() -> None:
    """In an ASCII locale (LC_ALL=C) print UTF-8; in others print characters that cannot be encoded as \\u25a1.

    Python does the same in the C locale unless PYTHONUTF8=0 is set; an encoding in PYTHONIOENCODING is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not in a notebook or a test
            is_ascii = stream.encoding.lower() in ("ascii", "ansi_x3.4-1968", "us-ascii")
            wanted = "utf-8" if is_ascii and not os.environ.get("PYTHONIOENCODING") else stream.encoding
            stream.reconfigure(encoding=wanted, errors="backslashreplace")
