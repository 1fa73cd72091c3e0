"""The speed of engine and environments, measured in one run on one core: `python -m benchmarks.speed`.

All rows are measured in every round, so that a busy machine affects all alike. A row plays the same phases in every
round, so that differences between rounds are due to the machine. Numbers are medians over the rounds. Wall time is
meaningful only on an idle machine; CPU time is less sensitive. By default rows play standard games of ten years from
the opening, at random.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.speed_rows import BATCH, RULES, SEED, STEPS, THREADED, Row, batched, rows
from welfare_env import load_board
from welfare_env.engine import layout_of
from welfare_env.envs.vector import VectorEnv

SECONDS, QUICK_SECONDS = 0.4, 0.05  # minimum duration of a measurement
MANY = 4096  # games
SIZES, QUICK_SIZES = (1, 16, BATCH, 1024, MANY), (1, 16, BATCH)
CPUS: set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
ONE = set(sorted(CPUS)[-1:])  # the last CPU, since the operating system uses the first most


class Sample(NamedTuple):
    """One measurement: phases and units played, wall seconds, and CPU seconds of all threads."""

    phases: int
    units: int
    wall: float
    cpu: float


class Result(NamedTuple):
    """The measurements of a row, one per round."""

    group: str
    name: str
    samples: tuple[Sample, ...]

    @property
    def rates(self) -> list[float]:
        """Phases per second."""
        return [sample.phases / sample.wall for sample in self.samples]

    @property
    def cpu_rates(self) -> list[float]:
        """Phases per CPU second."""
        return [sample.phases / sample.cpu for sample in self.samples]

    @property
    def microseconds(self) -> float:
        """Median wall time per unit."""
        return 1e6 * median(sample.wall / sample.units for sample in self.samples)

    @property
    def cpu_microseconds(self) -> float:
        """Median CPU time per unit."""
        return 1e6 * median(sample.cpu / sample.units for sample in self.samples)


class Start(NamedTuple):
    """The start of a fresh process: wall and CPU seconds of `STAGES`. CPU time includes the interpreter's start."""

    name: str
    wall: list[float]
    cpu: list[float]


# Measuring.


def pin(to: set[int]) -> None:
    """Pin this thread, and threads that it starts, to these CPUs, if the system supports it."""
    if to:
        os.sched_setaffinity(0, to)


def measure(row: Row, seconds: float) -> Sample:
    """Play the row repeatedly for at least this many seconds."""
    phases = units = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        played = row.play()
        phases, units = phases + played[0], units + played[1]
        taken = time.perf_counter() - wall
        if taken >= seconds:
            return Sample(phases, units, taken, time.process_time() - cpu)


def measure_all(chosen: Sequence[Row], rounds: int, seconds: float, progress: Progress) -> list[Result]:
    """Every row once to warm up, then all rows in every round."""
    bar = progress.add_task("measuring", total=len(chosen) * (rounds + 1))
    samples: list[list[Sample]] = [[] for _ in chosen]
    for number in range(rounds + 1):
        for row, found in zip(chosen, samples, strict=True):
            progress.update(bar, description=f"{row.group}: {row.name}")
            pin(ONE if row.pinned else CPUS)
            sample = measure(row, seconds if number else 0.0)
            if number:
                found.append(sample)
            progress.advance(bar)
    return [Result(row.group, row.name, tuple(found)) for row, found in zip(chosen, samples, strict=True)]


STAGES = ("imports", "board", "first phase", "vector_env")  # vector_env: first step and observation
START = """
import json, time
marks = [(time.perf_counter(), 0.0)]
mark = lambda: marks.append((time.perf_counter(), time.process_time()))
import numpy as np
import welfare_env
from welfare_env.engine import initial_state, kernels
from welfare_env.engine.fast import Scratch, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.envs.vector import VectorEnv
mark()
board, rules = welfare_env.load_board(), welfare_env.Rules("standard", years=10, press=None)
tables = tables_of(board)
mark()
at, start = Scratch(tables), initial_state(board).row.copy()
work = at.w, at.b, at.x, start, np.zeros(1, np.uint64), at.orders, at.starts, at.slots, at.powers, at.flags
kernels.play(tables.numbers, tables.masks, rules_array(board, rules), start.copy(), *work, 1)
mark()
games = VectorEnv(board, rules, 1)
games.reset()
games.step(games.sample())
games.observe(np.zeros(1, int), np.zeros(1, int))
mark()
print(json.dumps(np.diff(marks, axis=0).T.tolist()))
"""


def start(name: str, cache: str) -> Start:
    """Start a fresh Python process with this folder as numba's cache."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", START]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    return Start(name, *json.loads(done.stdout))


def starts(progress: Progress) -> list[Start]:
    """Starts with an empty cache, then with the filled cache."""
    bar = progress.add_task("starting a fresh process", total=2)
    found = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "cached"):
            found.append(start(name, cache))
            progress.advance(bar)
    return found


def memory_line(num_games: int) -> str:
    """A state's size, and the growth of a fresh process per game of a large `vector_env`."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        grown = pool.submit(resident_growth, num_games).result()
    resident = "unknown here" if grown is None else f"{grown / num_games:,.0f} bytes a game"
    size = 4 * layout_of(load_board()).size
    return f"state: {size:,} bytes a game; resident memory of vector_env with {num_games:,} games: {resident}"


def resident_growth(num_games: int) -> int | None:
    """Growth of this process in bytes when it plays this many games; None except on Linux."""
    statm = Path("/proc/self/statm")
    batched(1)()
    if not statm.exists():
        return None
    before = int(statm.read_text().split()[1])
    games = VectorEnv(load_board(), RULES["standard"], num_games)
    games.reset(SEED)
    for _ in range(STEPS):
        games.step(games.sample())
    return (int(statm.read_text().split()[1]) - before) * os.sysconf("SC_PAGE_SIZE")


def cpu_model() -> str:
    """The CPU's name from Linux, else from Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


# Output.


def ratio(mine: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios within rounds."""
    return median(a / b for a, b in zip(mine, others, strict=True))


def speed_table(results: Sequence[Result]) -> Table:
    """One row per result; the last is the `diplomacy` package's, to which all are compared."""
    rounds = len(results[0].samples)
    table = Table("what", title=f"random play, standard map: medians of {rounds} rounds", title_justify="left")
    for heading in ("phases/s", "lowest - highest", "per CPU-s", "us each", "CPU us", "x package"):
        table.add_column(heading, justify="right", no_wrap=True)
    group = ""
    for result in results:
        if result.group != group:
            group = result.group
            table.add_section()
            table.add_row(f"[bold]{group}[/bold]")
        rates, times = result.rates, ratio(result.cpu_rates, results[-1].cpu_rates)
        spread = f"{min(rates):,.0f} - {max(rates):,.0f}"
        speeds = (f"{median(rates):,.0f}", spread, f"{median(result.cpu_rates):,.0f}")
        each = (f"{result.microseconds:,.2f}", f"{result.cpu_microseconds:,.2f}")
        table.add_row(f"  {result.name}", *speeds, *each, f"{times:,.1f}")
    table.caption = "us each: of a phase; environments: of a step. x package: by CPU time, within rounds"
    return table


def thread_lines(results: Sequence[Result]) -> list[str]:
    """The speedup of two threads, by wall time."""
    threaded = [result for result in results if result.group == THREADED]
    lines = []
    for one, two in zip(threaded[::2], threaded[1::2], strict=True):
        ratios = [b / a for a, b in zip(one.rates, two.rates, strict=True)]
        spread = f"{min(ratios):.2f} - {max(ratios):.2f}"
        lines.append(f"two threads / one, {one.name.partition(', threads')[0]}: {median(ratios):.2f} ({spread})")
    return lines


def start_table(found: Sequence[Start]) -> Table:
    """Seconds of the stages, and the total of the first three."""
    table = Table("fresh process", title="seconds, and CPU seconds in brackets", title_justify="left")
    for heading in (*STAGES[:3], "until here", f"then {STAGES[3]}"):
        table.add_column(heading, justify="right")
    for s in found:
        wall, cpu = ([*values[:3], sum(values[:3]), values[3]] for values in (s.wall, s.cpu))
        table.add_row(s.name, *(f"{w:.2f} ({c:.2f})" for w, c in zip(wall, cpu, strict=True)))
    return table


def machine_lines(load: float, results: Sequence[Result]) -> list[str]:
    """A description of the machine, and a warning if it was busy. The final load includes this program."""
    pinned = f"pinned to CPU {max(ONE)}" if ONE else "not pinned"
    names = ("numpy", "numba", "llvmlite", "diplomacy", "pettingzoo")
    versions = ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])
    share = median(s.cpu / s.wall for result in results if result.group != THREADED for s in result.samples)
    end = os.getloadavg()[0]
    lines = [
        f"{cpu_model()}, {os.cpu_count()} cores, {pinned}; {versions}",
        f"load {load:.1f} at the start, {end:.1f} at the end; this program had its CPU {share:.0%} of the time",
    ]
    if load > 1 or end > 2:
        lines.append("[bold red]The machine was busy: wall and CPU times are longer than on an idle one.[/bold red]")
    return lines


def main(
    repeats: Annotated[int, typer.Option(help="Rounds of measurement.", min=1)] = 7,
    quick: Annotated[bool, typer.Option("--quick", help="Two short rounds, fewer games, no cold start.")] = False,
) -> None:
    """Measure and print the speed of engine and environments."""
    load = os.getloadavg()[0]
    pin(ONE)
    sizes = QUICK_SIZES if quick else SIZES
    rounds, seconds = (2, QUICK_SECONDS) if quick else (repeats, SECONDS)
    with Progress(console=Console(stderr=True)) as progress:
        started = [] if quick else starts(progress)
        memory = memory_line(MANY)
        results = measure_all(rows(sizes), rounds, seconds, progress)
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False)
    console.print(speed_table(results))
    console.print(*thread_lines(results), sep="\n")
    if started:
        console.print(start_table(started))
    console.print(memory, *machine_lines(load, results), sep="\n")


if __name__ == "__main__":
    typer.run(main)
