"""Waiting times of a new user: `python -m benchmarks.cold_start --against REVISION`, on a quiet machine.

Each round exports a commit to an empty folder, with empty caches, and times four processes in sequence:

- table: `welfare-env self-play prosocial dove --years 3 --games 2`, which compiles the engine and loads the board
- again: the same in a new process, with other games
- first game: a new process until a `Game` has played its first phase
- vector: in another empty folder, a new process until the first `vector_env` step

Downloads and installation are not included. Prints medians with minimum and maximum, also for REVISION if given;
revisions are measured alternately.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SELF_PLAY = ["-m", "evaluation", "self-play", "prosocial", "dove", "--years", "3", "--games", "2"]
GAME = ["-c", "import welfare_env; welfare_env.Game(rules=welfare_env.Rules(years=3)).advance()"]
VECTOR = ["-c", "import welfare_env; e = welfare_env.vector_env(256, years=3); e.reset(seed=0); e.step(e.sample())"]


def main(
    against: Annotated[str, typer.Option(help="A commit to compare with.")] = "",
    repeats: Annotated[int, typer.Option(min=1, help="Rounds.")] = 3,
) -> None:
    """Time the first table and the following processes, from empty caches."""
    commits = ["HEAD", *filter(None, [against])]
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    said: dict[tuple[str, str], str] = {}
    for _ in range(repeats):
        for commit in commits:
            for what, taken, stderr in _round(commit):
                seconds[commit, what].append(taken)
                said[commit, what] = stderr
    console = Console()
    table = Table("", *commits, title=f"seconds, median (lowest - highest) of {repeats}; load {os.getloadavg()[0]:.1f}")
    for what in ("table", "again", "first game", "vector"):
        table.add_row(what, *(_shown(seconds[commit, what]) for commit in commits))
    console.print(table)
    for (commit, what), text in said.items():
        console.print(f"{commit}, {what}, on stderr: {text or '(nothing)'}", markup=False, highlight=False)


def _round(commit: str) -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (first, second):
            _export(commit, Path(folder))
        runs = [("table", first, SELF_PLAY), ("again", first, [*SELF_PLAY, "--seed", "1"]), ("first game", first, GAME)]
        return [(what, *_timed(Path(folder), words)) for what, folder, words in [*runs, ("vector", second, VECTOR)]]


def _export(commit: str, folder: Path) -> None:
    words = ["git", "archive", commit]
    packed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def _timed(folder: Path, words: Sequence[str]) -> tuple[float, str]:
    """Wall-clock seconds, and the text on stderr."""
    environment = os.environ | {"PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / ".cache"), "COLUMNS": "100"}
    environment.pop("NUMBA_CACHE_DIR", None)
    begun = time.perf_counter()
    ended = subprocess.run(  # noqa: S603 (this Python, with code of our own)
        [sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return time.perf_counter() - begun, " / ".join(ended.stderr.splitlines())


def _shown(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f} - {max(seconds):.1f})"


if __name__ == "__main__":
    typer.run(main)
