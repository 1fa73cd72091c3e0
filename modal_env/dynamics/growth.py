"""Best-reply growth: a finite population to which the best reply to it is added, step by step.

This is the post's second evolutionary model (a form of fictitious play). Payoffs are scaled to integers and populations
are counted in integers of any size, so nothing is rounded. While the same agent is added, every payoff changes
linearly, so we solve for the step at which another agent becomes the best reply and do whole runs at once: 10**30 steps
take a few hundred runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lcm

from modal_env.checks import whole
from modal_env.dynamics.populations import MOST, Matrix, Numbers, Payoffs, payoffs_of, read_counts
from modal_env.frames import Row, Tabular
from modal_env.games.game import ProgramGame, position
from modal_env.logic.tournaments import listed


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
        terms: of the game, see `ProgramGame.terms`; "" for a bare matrix.
    """

    names: tuple[str, ...]
    start: tuple[int, ...]
    runs: tuple[Run, ...]
    terms: str = ""

    def __repr__(self) -> str:
        return f"Growth({len(self.runs)} runs; {listed(self.names)})"

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


def growth(game: ProgramGame | Matrix, counts: Numbers, steps: int, *, max_runs: int = 10_000) -> Growth:
    """Add the best reply to the population `steps` times; of equally good replies the first agent is added.

    Args:
        game: a `ProgramGame`, or a square matrix of exact payoffs.
        counts: [n] how many of each agent there are, or name -> how many; at least one in total.
        steps: how many agents to add; 10**30 is fine.
        max_runs: stop after this many runs; `Growth.steps` is the number of steps done.

    Raises:
        GameError: payoffs that are not square and exact; counts that are not integers from 0, or all 0; steps or
            max_runs that are not whole numbers from 1; counts or steps above 10^400.
    """
    payoffs = payoffs_of(game)
    start = read_counts(payoffs, counts)
    steps, max_runs = whole("steps", steps, 1, MOST), whole("max_runs", max_runs, 1)
    matrix = scaled(payoffs)
    scores = [sum(value * count for value, count in zip(row, start, strict=True)) for row in matrix]
    runs: list[Run] = []
    left = steps
    while left and len(runs) < max_runs:
        best = scores.index(max(scores))
        length = _run_length(matrix, scores, best)
        done = left if length is None else min(length, left)
        runs.append(Run(payoffs.names[best], done, length is None))
        scores = [score + done * row[best] for score, row in zip(scores, matrix, strict=True)]
        left -= done
    return Growth(payoffs.names, start, tuple(runs), payoffs.terms)


def scaled(payoffs: Payoffs) -> list[list[int]]:
    """[n][n] the payoffs times the least factor that makes them integers."""
    scale = lcm(*(value.denominator for row in payoffs.exact for value in row))
    return [[int(value * scale) for value in row] for row in payoffs.exact]


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
