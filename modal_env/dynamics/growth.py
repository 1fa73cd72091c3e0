"""Best-reply growth: a finite population to which the best reply to it is added, step by step.

This is the post's second evolutionary model (a form of fictitious play). Payoffs are scaled to integers and populations
are counted in integers of any size, so nothing is rounded. While the same agent is added, every payoff changes
linearly, so we solve for the step at which another agent becomes the best reply and do whole runs at once: 10**30 steps
take a few hundred runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb, lcm

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import brief, whole
from modal_env.dynamics.populations import MOST, Bools, Matrix, Numbers, Payoffs, payoffs_of, read_counts
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import Game, position
from modal_env.logic.tournaments import listed
from modal_env.progress import Report, no_report

MAX_STARTS = 1_000_000  # of a census


MOST_SHOWN = 30  # runs in a notebook


@dataclass(frozen=True)
class Run:
    """Consecutive steps in which the same agent is added.

    Attributes:
        agent: its name.
        steps: number of steps.
        is_endless: whether it would go on for ever.
    """

    agent: str
    steps: int
    is_endless: bool


@dataclass(frozen=True)
class Growth(Tabular):
    """The growth of a population.

    Attributes:
        names: [n] the agents.
        start: [n] how many of each there were at the start.
        runs: the runs in sequence. The last run may have been cut off by the number of steps.
        terms: of the game, see `Game.terms`; "" for a bare matrix.
    """

    names: tuple[str, ...]
    start: tuple[int, ...]
    runs: tuple[Run, ...]
    terms: str = ""

    def __repr__(self) -> str:
        return f"Growth({len(self.runs)} runs; {listed(self.names)})"

    def _repr_html_(self) -> str:
        """The last runs, for a notebook."""
        from modal_env.pictures.style import notebook
        from modal_env.pictures.tables import rows

        shown = self.runs[-MOST_SHOWN:]
        cells = [(run.agent, f"{run.steps:,}") for run in shown]
        left = len(self.runs) - len(shown)
        note = f"after {left} earlier runs" if left else ""
        return notebook(rows("Agents added, run by run", ("agent", ">steps"), cells, note))

    def rows(self) -> list[Row]:
        """One row per run and agent, after the start (run 0)."""
        steps = [0, *(run.steps for run in self.runs)]
        return [
            {"run": number, "steps": steps[number], "agent": agent, "count": count}
            for number, counts in enumerate(self.populations)
            for agent, count in zip(self.names, counts, strict=True)
        ]

    @property
    def steps(self) -> int:
        """Number of agents added."""
        return sum(run.steps for run in self.runs)

    @cached_property
    def populations(self) -> tuple[tuple[int, ...], ...]:
        """[runs + 1][n] how many of each there were at the start and after each run."""
        counts = list(self.start)
        found = [self.start]
        for run in self.runs:
            counts[self.names.index(run.agent)] += run.steps
            found.append(tuple(counts))
        return tuple(found)

    @property
    def counts(self) -> tuple[int, ...]:
        """[n] how many of each there are at the end."""
        return self.populations[-1]

    @property
    def added(self) -> tuple[str, ...]:
        """The agents that were ever added, in the sequence of `names`."""
        ever = {run.agent for run in self.runs}
        return tuple(name for name in self.names if name in ever)

    def lengths(self, agent: str) -> tuple[int, ...]:
        """The number of steps of each run of `agent`, except the last run of all, which may have been cut off.

        Raises:
            GameError: there is no agent of this name.
        """
        name = self.names[position(self.names, agent)]
        return tuple(run.steps for run in self.runs[:-1] if run.agent == name)


@dataclass(frozen=True)
class Census:
    """All populations of one size, and whether the growth of each ever adds a given agent.

    Attributes:
        agent: its name.
        names: [n] the agents.
        starts: [starts, n] how many of each there are.
        adds: [starts] whether `agent` is ever added.
        is_endless: [starts] whether the growth ends with an endless run within the given steps.
    """

    agent: str
    names: tuple[str, ...]
    starts: NDArray[np.int64]
    adds: Bools
    is_endless: Bools

    def __repr__(self) -> str:
        return f"Census({self.agent}, {len(self.starts)} starts; {listed(self.names)})"

    @property
    def share(self) -> float:
        """The share of the starts that add the agent."""
        return float(self.adds.mean())


def growth(
    game: Game | Matrix, counts: Numbers, steps: int, *, max_runs: int = 10_000, report: Report = no_report
) -> Growth:
    """Add the best reply to the population `steps` times; of equally good replies the first agent is added.

    Args:
        game: a `Game`, or a square matrix of exact payoffs.
        counts: [n] how many of each agent there are, or name -> how many; at least one in total.
        steps: how many agents to add; 10**30 is fine.
        max_runs: stop after this many runs; `Growth.steps` is the number of steps done.
        report: see `modal_env.progress`.

    Raises:
        GameError: payoffs that are not square and exact; counts that are not integers from 0, or all 0; steps or
            max_runs that are not whole numbers from 1; counts or steps above 10^400.
    """
    payoffs = payoffs_of(game)
    start = read_counts(payoffs, counts)
    steps, max_runs = whole("steps", steps, 1, MOST), whole("max_runs", max_runs, 1)
    return _grown(payoffs, scaled(payoffs), start, steps, max_runs, report)


def census(game: Game | Matrix, agent: str, size: int, steps: int = 10**9) -> Census:
    """For every population of `size` members, whether `agent` is added within `steps` steps.

    There are (size + n - 1 choose n - 1) of them.

    Raises:
        GameError: as for `growth`; an unknown agent, a size below 1, or more than `MAX_STARTS` populations.
    """
    payoffs = payoffs_of(game)
    name = payoffs.names[payoffs.index(agent)]
    size, steps = whole("size", size, 1), whole("steps", steps, 1, MOST)
    if size > MAX_STARTS or comb(size + payoffs.size - 1, size) > MAX_STARTS:
        raise GameError(
            f"size={brief(size)}: {payoffs.size} agents have more than {MAX_STARTS:,} populations of this size"
        )
    matrix = scaled(payoffs)
    starts = list(compositions(size, payoffs.size))
    grown = [_grown(payoffs, matrix, start, steps, max_runs=10_000) for start in starts]
    adds = np.array([name in growth.added for growth in grown])
    endless = np.array([growth.runs[-1].is_endless for growth in grown])
    return Census(name, payoffs.names, np.array(starts), adds, endless)


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as an ordered sum of `parts` integers from 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in compositions(total - first, parts - 1))


def scaled(payoffs: Payoffs) -> list[list[int]]:
    """[n][n] the payoffs times the least factor that makes them integers."""
    scale = lcm(*(value.denominator for row in payoffs.exact for value in row))
    return [[int(value * scale) for value in row] for row in payoffs.exact]


def _grown(
    payoffs: Payoffs,
    matrix: list[list[int]],
    start: tuple[int, ...],
    steps: int,
    max_runs: int,
    report: Report = no_report,
) -> Growth:
    scores = [sum(value * count for value, count in zip(row, start, strict=True)) for row in matrix]
    runs: list[Run] = []
    left = steps
    while left and len(runs) < max_runs:
        report(max(len(runs) / max_runs, 1 - left / steps))
        best = scores.index(max(scores))
        length = _run_length(matrix, scores, best)
        done = left if length is None else min(length, left)
        runs.append(Run(payoffs.names[best], done, length is None))
        scores = [score + done * row[best] for score, row in zip(scores, matrix, strict=True)]
        left -= done
    return Growth(payoffs.names, start, tuple(runs), payoffs.terms)


def _run_length(matrix: list[list[int]], scores: list[int], best: int) -> int | None:
    """How often `best` is added before another agent is the best reply; None if it stays the best reply for ever.

    Agent i catches up by `gain` with every step. It takes over when it is ahead, or level if it comes first.
    """
    lengths = []
    for i, row in enumerate(matrix):
        gap, gain = scores[best] - scores[i], row[best] - matrix[best][best]
        if gain > 0:
            lengths.append(-(-gap // gain) if i < best else gap // gain + 1)
    return min(lengths, default=None)
