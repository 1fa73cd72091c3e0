"""Tournaments: what everybody does against everybody, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal_env.logic.notation import Agent, as_agents
from modal_env.logic.provability import Plays, solve
from modal_env.logic.provability import cooperation as chance
from modal_env.progress import Report, unheard

MAX_SHOWN = 40  # agents of a printed table
MANY = 200  # agents of a tournament, from which on it takes longer than the compiled evaluators take to start


@dataclass(frozen=True)
class Tournament:
    """What everybody does against everybody.

    Attributes:
        agents: the n players, in the sequence given.
        cooperates: [n, n], of the row's agent against the column's: bool, or float64 (probabilities 0, 0.5, 1) if
            RandomBot takes part.
    """

    agents: tuple[Agent, ...]
    cooperates: NDArray[Any]

    def __repr__(self) -> str:
        return f"Tournament({listed([agent.name for agent in self.agents])})"

    def __str__(self) -> str:
        moves = (["D?C"[int(2 * chance)] for chance in row[:MAX_SHOWN]] for row in self.cooperates)
        return grid([agent.name for agent in self.agents], moves)

    @cached_property
    def worlds(self) -> NDArray[np.int64]:
        """[n, n] int64, symmetric: the world at which each play has settled."""
        found = np.zeros((len(self.agents), len(self.agents)), np.int64)
        if len(self.agents) >= MANY:
            # These import numba, which takes its time.
            from modal_env.logic.circuits import compile_agents
            from modal_env.logic.traces import play_rows

            for row, played in enumerate(play_rows(compile_agents(self.agents))):
                found[row, : row + 1] = found[: row + 1, row] = played.settles
            return found
        for row, a in enumerate(self.agents):
            for column, b in enumerate(self.agents[: row + 1]):
                found[row, column] = found[column, row] = solve(Plays([(a, b), (b, a)]).equations).settles
        return found


def tournament(agents: Iterable[Agent | str], report: Report = unheard) -> Tournament:
    """What everybody does against everybody, also against a copy of itself.

    Many agents play in `modal_env.logic.tiles`, which is compiled and takes some seconds the first time on a machine.

    Args:
        agents: agents, names such as "FairBot", or formulas, see `modal_env.logic.notation.find`.
        report: see `modal_env.progress`; of less than `MANY` agents.

    Raises:
        GameError, FormulaError: what is given are no agents, nobody at all, or as `play`.
    """
    players = as_agents(agents)
    if len(players) >= MANY:
        from modal_env.logic.tiles import cooperation

        return Tournament(players, cooperation(players))
    random = any(agent.is_random for agent in players)
    cooperates: NDArray[Any] = np.zeros((len(players), len(players)), np.float64 if random else np.bool_)
    for row, a in enumerate(players):
        pairs = [pair for b in players[: row + 1] for pair in ((a, b), (b, a))]
        plays = Plays(pairs)
        solution = solve(plays.equations)
        moves = [float(chance(solution, plays.number(*pair))) for pair in pairs]
        cooperates[row, : row + 1], cooperates[: row + 1, row] = moves[::2], moves[1::2]
        report(((row + 1) / len(players)) ** 2)
    return Tournament(players, cooperates)


def listed(names: Sequence[str]) -> str:
    """How many agents there are, and the first of their names."""
    more = ", ..." if len(names) > 4 else ""
    return f"{len(names)} agents: {', '.join(f'{name:.40}' for name in names[:4])}{more}"


def grid(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A square table as text, of the first `MAX_SHOWN` agents, which are numbered and named in front of their rows."""
    cells = [[str(cell) for cell in row[:MAX_SHOWN]] for row in islice(rows, MAX_SHOWN)]
    heads = [f"{number} {name:.40}" for number, name in enumerate(names[:MAX_SHOWN])]
    first = max(map(len, heads))
    width = max(len(cell) for row in [*cells, [str(len(heads) - 1)]] for cell in row)
    lines = [" " * first + " " + "".join(f" {number:>{width}}" for number in range(len(heads)))]
    lines += [
        f"{head:<{first}} " + "".join(f" {cell:>{width}}" for cell in row)
        for head, row in zip(heads, cells, strict=True)
    ]
    return "\n".join(lines if len(names) <= MAX_SHOWN else [*lines, f"... and {len(names) - MAX_SHOWN} more agents"])
