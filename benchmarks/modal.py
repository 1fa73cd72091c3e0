"""How fast modal combat is, measured in one run on one core: `python -m benchmarks.modal`.

The agents are random ones (`random_agents`): 10,000 different players of depth 4 at most, and 64 helpers that call each
other in four ranks. All rows are measured in every round, one after the other, so that a busy moment of the machine
falls on all alike; figures are medians over the rounds. A play is what two agents do against each other, a move what
one of them does: a tournament of n agents has n x n moves, and n (n + 1) / 2 plays.

`--check 20000` measures nothing: it compares both compiled evaluators with the plain one, pair by pair.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.speed import ONE, cpu_model, pin
from modal_env.logic.circuits import Roster, compile_agents
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import Agent, Formula, Op, parse
from modal_env.logic.provability import Outcome, play
from modal_env.logic.tiles import cooperation, packed
from modal_env.logic.tournaments import tournament
from modal_env.logic.traces import Traces, play_pairs

SEED = 0
PLAYERS, HELPERS, RANKS = 10_000, 64, 4
PLAIN, PAIRS = 2_000, 500_000  # plays a measurement
CHAINS = (12, 64)
SETTLING = 64  # worlds that a check compares
BINARY = (Op.AND, Op.OR, Op.IMPLIES, Op.IFF)


# The agents


def random_formula(rng: np.random.Generator, height: int, boxes: int, called: Sequence[Agent], boxed: bool) -> Formula:
    """A formula of at most this height and nesting of boxes.

    Above all boxes it has constants for leaves; under them X(me) and X(H), of an agent that is called, with 45 % each
    where there is any, `me` with 5 % and constants with 5 %.
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
    """Different players, which call helpers, which call helpers of lower ranks; all of depth 4 at most.

    A formula is at most 2 to 5 high, with boxes nested at most 1 to 4 deep, each of these as often as others. One
    that is there already is drawn again, so that there are no two alike; some behave alike nevertheless.
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
    """An agent that calls one that calls one ... and so on: FairBot in the end."""
    agent = parse("[]X(me)", name="P")
    for _ in range(rank):
        agent = parse("[](X(me) | X(P))", name="P", helpers={"P": agent})
    return agent


# Agreement


@dataclass
class Agreement:
    """What has been compared.

    Attributes:
        plays, agents: how many; agents are counted once in every set.
        kinds: plays by "helpers" (X(H) occurs), "helpers of helpers", "RandomBot", "`me`".
        worlds: plays by the world at which they settle.
        wrong: a line for every play in which an evaluator differs from the plain one.
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
    """Play random pairs of random agents, and of the library's, in all evaluators; a set has 500 pairs."""
    rng, found = np.random.default_rng(SEED), Agreement()
    for start in progress.track(range(0, pairs, 500), description="comparing"):
        agents = [*random_agents(rng, 100, 16), *LIBRARY.values()]
        first, second = rng.integers(len(agents), size=(2, min(500, pairs - start)))
        traces, tiles = play_pairs(compile_agents(agents), first, second), cooperation(agents)
        found.agents += len(agents)
        for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            outcome = play(agents[i], agents[j], worlds=SETTLING)
            faults = differences(outcome, traces, number, (float(tiles[i, j]), float(tiles[j, i])))
            found.add(agents[i], agents[j], outcome, faults)
    return found


def differences(outcome: Outcome, traces: Traces, number: int, tiles: tuple[float, float]) -> list[str]:
    """What is not as the plain evaluator has it."""
    words = [sum(bool(value) << world for world, value in enumerate(s)) for s in zip(*outcome.trace, strict=True)]
    moves = tuple(move.decode() for move in traces.moves[number].tolist())
    same = {
        "moves of traces": moves == outcome.moves,
        "settling world of traces": traces.settles[number] == outcome.settles,
        "words of traces": traces.words[number].tolist() == words,
        "moves of tiles": tiles == tuple(map(float, outcome.cooperation)),
    }
    return [name for name, right in same.items() if not right]


def print_agreement(found: Agreement) -> None:
    kinds = ", ".join(f"{number:,} with {kind}" for kind, number in found.kinds.items())
    worlds = ", ".join(f"{world}: {found.worlds[world]:,}" for world in sorted(found.worlds))
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False, markup=False)
    console.print(f"{found.plays:,} plays of {found.agents:,} agents: {kinds}")
    console.print(f"plays by the world at which they settle: {worlds}")
    console.print(f"compared: moves, settling world and {SETTLING} worlds of the bit traces; moves of the tiles")
    console.print(*found.wrong[:20], f"mismatches: {len(found.wrong)}", sep="\n")


# What is measured


@dataclass(frozen=True)
class Row:
    """Something to measure.

    Attributes:
        run: does it once, and tells how many units that were.
        unit: of what.
        times: the name of the row that its speed is compared with.
    """

    name: str
    unit: str
    run: Callable[[], int]
    times: str | None = None


@dataclass(frozen=True)
class Result:
    """A row's measurements, one a round: units, seconds, CPU seconds."""

    row: Row
    samples: tuple[tuple[int, float, float], ...]

    @property
    def rates(self) -> list[float]:
        """Units a second."""
        return [units / wall for units, wall, _ in self.samples]

    @property
    def cpu_rates(self) -> list[float]:
        """Units a CPU second."""
        return [units / cpu for units, _, cpu in self.samples]

    @property
    def seconds(self) -> list[float]:
        """Of one run."""
        return [wall for _, wall, _ in self.samples]


def rows() -> list[Row]:
    """Everything in the table."""
    rng = np.random.default_rng(SEED)
    players = random_agents(rng, PLAYERS, HELPERS)
    roster = compile_agents(players)
    found = [
        Row("plain: pairs", "plays", plain_pairs(players, rng)),
        Row("plain: tournament of 100", "moves", lambda: tournament(players[:100]).cooperates.size),
        Row("bit traces: pairs", "plays", traced_pairs(roster, rng, anew=False), "plain: pairs"),
        Row("the same, helpers anew", "plays", traced_pairs(roster, rng, anew=True), "plain: pairs"),
        Row(f"tiles: bits of {PLAYERS:,}", "moves", tiled(roster), "plain: tournament of 100"),
        Row(f"tournament of {PLAYERS:,}", "moves", lambda: tournament(players).cooperates.size),
        Row("of that: compile_agents", "agents", lambda: len(compile_agents(players).agents)),
    ]
    for rank in CHAINS:
        name, agent = f"chain of rank {rank}", chain(rank)
        found.append(Row(f"{name}: plain", "plays", partial(played_once, agent)))
        found.append(Row(f"{name}: bit traces", "plays", partial(traced_once, agent), f"{name}: plain"))
    return found


def plain_pairs(players: Sequence[Agent], rng: np.random.Generator) -> Callable[[], int]:
    chosen = [(players[i], players[j]) for i, j in rng.integers(len(players), size=(PLAIN, 2)).tolist()]

    def run() -> int:
        for a, b in chosen:
            play(a, b)
        return len(chosen)

    return run


def traced_pairs(roster: Roster, rng: np.random.Generator, anew: bool) -> Callable[[], int]:
    """The plays with helpers are known from the round to warm up, or have to be found anew each time."""
    first, second = rng.integers(len(roster.agents), size=(2, PAIRS))

    def run() -> int:
        played = replace(roster, known=np.zeros_like(roster.known)) if anew else roster
        return len(play_pairs(played, first, second).settles)

    return run


def tiled(roster: Roster) -> Callable[[], int]:
    def run() -> int:
        packed(roster)
        return len(roster.agents) ** 2

    return run


def played_once(agent: Agent) -> int:
    play(agent, agent)
    return 1


def traced_once(agent: Agent) -> int:
    """From the agent: its circuits and those of its helpers, then one play."""
    return len(play_pairs(compile_agents([agent]), [0], [0]).settles)


# Measuring


def measure(row: Row) -> tuple[int, float, float]:
    """Once, or as often as it takes to fill 20 ms; the seconds are those of one run."""
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


STAGES = ("import modal_env", "import tiles", "first pairs", "first tiles")
START = """
import json, time
marks = [(time.perf_counter(), 0.0)]
mark = lambda: marks.append((time.perf_counter(), time.process_time()))
import modal_env
mark()
from modal_env.logic import circuits
from modal_env.logic import library
from modal_env.logic import tiles
from modal_env.logic import traces
mark()
traces.play_pairs(circuits.compile_agents(library.POST), [0], [1])
mark()
tiles.cooperation(library.POST)
mark()
print(json.dumps([[b[0] - a[0], b[1] - a[1]] for a, b in zip(marks, marks[1:])]))
"""


def start(cache: str) -> list[tuple[float, float]]:
    """Start a fresh Python with this folder as numba's cache: seconds and CPU seconds of `STAGES`.

    The first CPU seconds have the interpreter's own start in them.
    """
    command = [sys.executable, "-c", START]
    root, environment = Path(__file__).resolve().parents[1], os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    return [tuple(stage) for stage in json.loads(done.stdout)]


def starts(repeats: int, progress: Progress) -> dict[str, list[list[tuple[float, float]]]]:
    """With an empty cache, and then with what that has left in it, `repeats` times."""
    bar = progress.add_task("starting a fresh process", total=2 * repeats)
    found: dict[str, list[list[tuple[float, float]]]] = {"cold": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for samples in found.values():
                samples.append(start(cache))
                progress.advance(bar)
    return found


# What is printed


def span(values: Sequence[float]) -> str:
    return f"{min(values):,.0f} - {max(values):,.0f}"


def speed_table(results: Sequence[Result]) -> Table:
    rates = {result.row.name: result.cpu_rates for result in results}
    table = Table("what", title=f"medians of {len(results[0].samples)} rounds", title_justify="left")
    for heading in ("a second", "lowest - highest", "per CPU-s", "ms a run", "x plain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        row = result.row
        other = rates.get(row.times or "")
        times = "" if other is None else f"{median(a / b for a, b in zip(result.cpu_rates, other, strict=True)):,.0f}"
        speeds = (f"{median(result.rates):,.0f} {row.unit}", span(result.rates), f"{median(result.cpu_rates):,.0f}")
        table.add_row(row.name, *speeds, f"{1000 * median(result.seconds):,.2f}", times)
    table.caption = "x plain: against pairs, a tournament of 100, the same chain; by CPU time, within rounds"
    return table


def start_table(found: dict[str, list[list[tuple[float, float]]]]) -> Table:
    title = f"a fresh process: seconds, and CPU seconds in brackets, medians of {len(found['cold'])}"
    table = Table("numba's cache", title=title, title_justify="left")
    for stage in STAGES:
        table.add_column(stage, justify="right")
    for name, samples in found.items():
        stages = [list(zip(*stage, strict=True)) for stage in zip(*samples, strict=True)]
        table.add_row(name, *(f"{median(wall):.2f} ({median(cpu):.2f})" for wall, cpu in stages))
    return table


def machine_line(load: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    pinned = f"pinned to CPU {max(ONE)}" if ONE else "not pinned"
    return (
        f"{cpu_model()}, {os.cpu_count()} cores, {pinned}; Python {platform.python_version()}, {versions}; "
        f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    )


def main(
    repeats: Annotated[int, typer.Option(help="Rounds in which everything is measured.", min=1)] = 7,
    quick: Annotated[bool, typer.Option("--quick", help="Two rounds, no fresh processes.")] = False,
    check: Annotated[int, typer.Option(help="Compare so many random plays, and measure nothing.", min=0)] = 0,
) -> None:
    """Measure the speed of modal combat, or check that its evaluators agree."""
    load = os.getloadavg()[0]
    pin(ONE)
    with Progress(console=Console(stderr=True)) as progress:
        if check:
            agreement = compare(check, progress)
        else:
            started = {} if quick else starts(3, progress)
            results = measure_all(rows(), 2 if quick else repeats, progress)
    if check:
        print_agreement(agreement)
        raise typer.Exit(bool(agreement.wrong))
    console = Console(width=None if sys.stdout.isatty() else 116, highlight=False)
    console.print(speed_table(results))
    if started:
        console.print(start_table(started))
    console.print(machine_line(load))


if __name__ == "__main__":
    typer.run(main)
