"""The speed of modal combat, measured in one run on one core: `python -m benchmarks.modal`.

The agents are random (`random_agents`): 10,000 distinct players with a depth of at most 4, and 64 helpers that call
each other in four ranks. All rows are measured in every round, so that a busy machine affects all alike; numbers are
medians over the rounds. A play is one pair of agents, a move is one agent's action in a play: a tournament of n agents
has n x n moves, and n (n + 1) / 2 plays.

`--check 20000` measures nothing: it compares tournaments with single plays, pair by pair.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.speed import ONE, cpu_model, pin
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import Agent, Formula, Op, parse
from modal_env.logic.provability import Outcome, play
from modal_env.logic.tournaments import Tournament, tournament

SEED = 0
PLAYERS, HELPERS, RANKS = 10_000, 64, 4
PLAIN = 2_000  # plays per measurement
SIZES = (100, 200, 2_000, PLAYERS)  # of tournaments
CHAINS = (12, 64)
BINARY = (Op.AND, Op.OR, Op.IMPLIES, Op.IFF)


# The agents


def random_formula(rng: np.random.Generator, height: int, boxes: int, called: Sequence[Agent], boxed: bool) -> Formula:
    """A random formula with at most this height and box nesting.

    Leaves outside boxes are constants. Leaves in boxes are X(me) and X(H) of a called agent H with 45% each (if there
    are helpers), `me` with 5% and constants with 5%.
    """
    if height == 0 or (height < 3 and rng.random() < 0.3):
        kind = rng.random()
        if not boxed or kind < 0.05:
            return Formula(Op(int(rng.integers(2))))
        if kind < 0.1:
            return Formula(Op.ME)
        return Formula(Op.CALL, agent=called[int(rng.integers(len(called)))] if called and kind < 0.55 else None)
    if boxes and rng.random() < (0.4 if boxed else 0.7):
        op = Op.BOX if rng.random() < 0.7 else Op.DIAMOND
        return Formula(op, (random_formula(rng, height - 1, boxes - 1, called, True),))
    if rng.random() < 0.25:
        return Formula(Op.NOT, (random_formula(rng, height - 1, boxes, called, boxed),))
    sides = [random_formula(rng, height - 1, boxes, called, boxed) for _ in range(2)]
    return Formula(BINARY[int(rng.integers(4))], tuple(sides))


def random_agents(rng: np.random.Generator, players: int, helpers: int) -> list[Agent]:
    """Distinct players that call helpers, which call helpers of lower ranks; all with a depth of at most 4.

    The maximum height, 2 to 5, and maximum box nesting, 1 to 4, of a formula are uniformly random. Duplicates are drawn
    again, so all formulas differ, but some behave identically.
    """
    rank = max(helpers // RANKS, 1)
    called: dict[Agent, None] = {}
    found: dict[Agent, None] = {}
    while len(called) < helpers:
        below = [*called][: len(called) // rank * rank]
        formula = random_formula(rng, int(rng.integers(2, 6)), int(rng.integers(1, 5)), below, False)
        called.setdefault(Agent(f"H{len(called)}", formula))
    while len(found) < players:
        formula = random_formula(rng, int(rng.integers(2, 6)), int(rng.integers(1, 5)), [*called], False)
        found.setdefault(Agent(f"A{len(found)}", formula))
    return [*found]


def chain(rank: int) -> Agent:
    """An agent that calls an agent of the next lower rank, and so on down to FairBot."""
    agent = parse("[]X(me)", name="P")
    for _ in range(rank):
        agent = parse("[](X(me) | X(P))", name="P", helpers={"P": agent})
    return agent


# Agreement


@dataclass
class Agreement:
    """The results of comparing tournaments with single plays.

    Attributes:
        plays, agents: numbers; agents are counted once per set.
        kinds: number of plays with "helpers" (X(H) occurs), "helpers of helpers", "RandomBot", "`me`".
        worlds: number of plays by the world at which they settle.
        wrong: a line for every mismatch.
    """

    plays: int = 0
    agents: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    worlds: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, a: Agent, b: Agent, outcome: Outcome, faults: Sequence[str]) -> None:
        """Count a play."""
        self.plays += 1
        self.worlds[outcome.settles] += 1
        self.kinds["helpers"] += bool(a.called or b.called)
        self.kinds["helpers of helpers"] += any(helper.called for agent in (a, b) for helper in agent.called)
        self.kinds["RandomBot"] += a.is_random or b.is_random
        self.kinds["`me`"] += any(Op.ME in agent.program for agent in (a, b))
        if faults:
            self.wrong.append(f"{', '.join(faults)}: {a.text} against {b.text}")


def compare(pairs: int, progress: Progress) -> Agreement:
    """Play random pairs of random and library agents, singly and in a tournament, in sets of 500 pairs."""
    rng, found = np.random.default_rng(SEED), Agreement()
    for start in progress.track(range(0, pairs, 500), description="comparing"):
        agents = [*random_agents(rng, 100, 16), *LIBRARY.values()]
        first, second = rng.integers(len(agents), size=(2, min(500, pairs - start)))
        played = tournament(agents)
        found.agents += len(agents)
        for i, j in zip(first.tolist(), second.tolist(), strict=True):
            outcome = play(agents[i], agents[j])
            found.add(agents[i], agents[j], outcome, differences(outcome, played, i, j))
    return found


def differences(outcome: Outcome, played: Tournament, row: int, column: int) -> list[str]:
    """The results in which a tournament differs from a single play."""
    moves = played.cooperates[row, column], played.cooperates[column, row]
    same = {"moves": moves == outcome.cooperation, "settling world": played.worlds[row, column] == outcome.settles}
    return [name for name, right in same.items() if not right]


def print_agreement(found: Agreement) -> None:
    kinds = ", ".join(f"{number:,} with {kind}" for kind, number in found.kinds.items())
    worlds = ", ".join(f"{world}: {found.worlds[world]:,}" for world in sorted(found.worlds))
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False, markup=False)
    console.print(f"{found.plays:,} plays of {found.agents:,} agents: {kinds}")
    console.print(f"plays by the world at which they settle: {worlds}")
    console.print("compared: moves and settling world")
    console.print(*found.wrong[:20], f"mismatches: {len(found.wrong)}", sep="\n")


# Measured rows


@dataclass(frozen=True)
class Row:
    """A row of the table to measure.

    Attributes:
        run: runs once, and returns the number of units.
        unit: name of the units.
        times: the name of the row to compare its speed with.
    """

    name: str
    unit: str
    run: Callable[[], int]
    times: str | None = None


@dataclass(frozen=True)
class Result:
    """A row's measurements, one per round: units, seconds, CPU seconds."""

    row: Row
    samples: tuple[tuple[int, float, float], ...]

    @property
    def rates(self) -> list[float]:
        """Units per second."""
        return [units / wall for units, wall, _ in self.samples]

    @property
    def cpu_rates(self) -> list[float]:
        """Units per CPU second."""
        return [units / cpu for units, _, cpu in self.samples]

    @property
    def seconds(self) -> list[float]:
        """Seconds per run."""
        return [wall for _, wall, _ in self.samples]


def rows() -> list[Row]:
    """All rows of the table."""
    rng = np.random.default_rng(SEED)
    players = random_agents(rng, PLAYERS, HELPERS)
    found = [Row("single plays", "plays", plain_pairs(players, rng))]
    for size in SIZES:
        found.append(Row(f"tournament of {size:,}", "moves", partial(played_all, players[:size]), "single plays"))
    for rank in CHAINS:
        name, agent = f"chain of rank {rank}", chain(rank)
        found.append(Row(f"{name}: play", "plays", partial(played_once, agent)))
        found.append(Row(f"{name}: tournament", "plays", partial(played_all, [agent]), f"{name}: play"))
    return found


def plain_pairs(players: Sequence[Agent], rng: np.random.Generator) -> Callable[[], int]:
    chosen = [(players[i], players[j]) for i, j in rng.integers(len(players), size=(PLAIN, 2)).tolist()]

    def run() -> int:
        for a, b in chosen:
            play(a, b)
        return len(chosen)

    return run


def played_all(players: Sequence[Agent]) -> int:
    return tournament(players).cooperates.size


def played_once(agent: Agent) -> int:
    play(agent, agent)
    return 1


# Measuring


def measure(row: Row) -> tuple[int, float, float]:
    """Run a row repeatedly for at least 20 ms; returns the units and seconds of one run."""
    units = runs = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while True:
        units, runs = row.run(), runs + 1
        taken = time.perf_counter() - wall
        if taken > 0.02:
            return units, taken / runs, (time.process_time() - cpu) / runs


def measure_all(chosen: Sequence[Row], rounds: int, progress: Progress) -> list[Result]:
    """Every row once to warm up, then all rows in every round."""
    bar = progress.add_task("measuring", total=len(chosen) * (rounds + 1))
    samples: list[list[tuple[int, float, float]]] = [[] for _ in chosen]
    for number in range(rounds + 1):
        for row, found in zip(chosen, samples, strict=True):
            progress.update(bar, description=row.name)
            sample = measure(row)
            if number:
                found.append(sample)
            progress.advance(bar)
    return [Result(row, tuple(found)) for row, found in zip(chosen, samples, strict=True)]


# Output


def span(values: Sequence[float]) -> str:
    return f"{min(values):,.0f} - {max(values):,.0f}"


def speed_table(results: Sequence[Result]) -> Table:
    rates = {result.row.name: result.cpu_rates for result in results}
    table = Table("what", title=f"medians of {len(results[0].samples)} rounds", title_justify="left")
    for heading in ("a second", "lowest - highest", "per CPU-s", "ms a run", "x single"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        row = result.row
        other = rates.get(row.times or "")
        times = "" if other is None else f"{median(a / b for a, b in zip(result.cpu_rates, other, strict=True)):,.0f}"
        speeds = (f"{median(result.rates):,.0f} {row.unit}", span(result.rates), f"{median(result.cpu_rates):,.0f}")
        table.add_row(row.name, *speeds, f"{1000 * median(result.seconds):,.2f}", times)
    table.caption = "x single: moves or plays against single plays, or the same chain alone; by CPU time, within rounds"
    return table


def machine_line(load: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    pinned = f"pinned to CPU {max(ONE)}" if ONE else "not pinned"
    return (
        f"{cpu_model()}, {os.cpu_count()} cores, {pinned}; Python {platform.python_version()}, {versions}; "
        f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    )


def main(
    repeats: Annotated[int, typer.Option(help="Rounds of measurement.", min=1)] = 7,
    quick: Annotated[bool, typer.Option("--quick", help="Two rounds.")] = False,
    check: Annotated[int, typer.Option(help="Compare this many random plays, and measure nothing.", min=0)] = 0,
) -> None:
    """Measure the speed of modal combat, or check that tournaments agree with single plays."""
    load = os.getloadavg()[0]
    pin(ONE)
    with Progress(console=Console(stderr=True)) as progress:
        if check:
            agreement = compare(check, progress)
        else:
            results = measure_all(rows(), 2 if quick else repeats, progress)
    if check:
        print_agreement(agreement)
        raise typer.Exit(bool(agreement.wrong))
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False)
    console.print(speed_table(results))
    console.print(machine_line(load))


if __name__ == "__main__":
    typer.run(main)
