"""Tournaments: all agents against all, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal_env.frames import Row, Tabular
from modal_env.logic.all_against_all import Played, play_all, settled
from modal_env.logic.notation import Agent, as_agents
from modal_env.pictures.style import notebook
from modal_env.pictures.tables import matrix
from modal_env.progress import Report, no_report

MAX_SHOWN = 40  # agents of a printed table


@dataclass(frozen=True)
class Tournament(Tabular):
    """The results of all agents against all.

    Attributes:
        agents: the n players, in the sequence given.
        cooperates: [n, n], whether the row's agent cooperates with the column's: bool, or float64 (probabilities 0,
            0.5, 1) if RandomBot takes part.
    """

    agents: tuple[Agent, ...]
    cooperates: NDArray[Any]

    def __repr__(self) -> str:
        return f"Tournament({listed([agent.name for agent in self.agents])})"

    def __str__(self) -> str:
        return grid(self.names, self.moves[:MAX_SHOWN])

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        return notebook(matrix("Who does what against whom", self.names, self.moves))

    def rows(self) -> list[Row]:
        """One row per ordered pair of agents."""
        worlds = self.worlds.tolist()
        return [
            {"agent": agent, "opponent": opponent, "cooperates": float(chance), "world": worlds[i][j]}
            for i, (agent, chances) in enumerate(zip(self.names, self.cooperates.tolist(), strict=True))
            for j, (opponent, chance) in enumerate(zip(self.names, chances, strict=True))
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """[n] the agents' names."""
        return tuple(agent.name for agent in self.agents)

    @cached_property
    def moves(self) -> tuple[str, ...]:
        """[n] texts of n letters: the row's move against each column, C, D, or ? for a coin."""
        return tuple("".join("D?C"[int(2 * chance)] for chance in row) for row in self.cooperates.tolist())

    @cached_property
    def worlds(self) -> NDArray[np.int64]:
        """[n, n] int64, symmetric: the world at which each play settles."""
        played = play_all(self.agents)
        return settled(played)[_places(played, self.agents)]


def tournament(agents: Iterable[Agent | str], report: Report = no_report) -> Tournament:
    """Play all agents against all, including themselves.

    Args:
        agents: agents, names such as "FairBot", or formulas, see `modal_env.logic.notation.find`.
        report: see `modal_env.progress`.

    Raises:
        GameError, FormulaError: not agents, no agents, or as `play`.
    """
    players = as_agents(agents)
    played = play_all(players, report)
    places = _places(played, players)
    cooperates: NDArray[Any] = played.cooperates[places]
    random = [agent.is_random for agent in players]
    if any(random):
        cooperates = cooperates.astype(np.float64)
        cooperates[random] = 0.5
    return Tournament(players, cooperates)


def _places(played: Played, players: Sequence[Agent]) -> tuple[NDArray[np.intp], ...]:
    """The indices of the players in the squares."""
    numbers = [played.agents[agent] for agent in players]
    return np.ix_(numbers, numbers)


def listed(names: Sequence[str]) -> str:
    """The number of agents, and the first of their names."""
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
