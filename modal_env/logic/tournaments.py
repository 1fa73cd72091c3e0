"""Tournaments: all agents against all, world by world.

The worlds are those of `modal_env.logic.provability`, and `play` there gives the same results. A box holds at a world
iff at the world before both it and its content held; <> is ~[]~. So only boxes are kept from world to world, and the
first world at which no box changes is final. X(H) needs the opponents' plays against H, so every agent that is called
takes part. The values against all opponents are the bits of an integer; transposing their square at each world gives
the opponents' moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.logic.notation import MAX_AGENTS, as_agents
from modal_env.logic.provability import AND, BOX, CALL, DIAMOND, IMPLIES, ME, NOT, OR, Plays, play, solve
from modal_env.logic.syntax import Agent, closure
from modal_env.progress import Report, check_report, no_report

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
        letters = {0.0: "D", 1.0: "C"}
        return tuple("".join(letters.get(float(chance), "?") for chance in row) for row in self.cooperates.tolist())

    @cached_property
    def worlds(self) -> NDArray[np.int64]:
        """[n, n] int64, symmetric: the world at which each play settles, from single plays."""
        found = np.zeros(self.cooperates.shape, np.int64)
        for i, agent in enumerate(self.agents):
            found[i, : i + 1] = [play(agent, other).settles for other in self.agents[: i + 1]]
        return np.maximum(found, found.T)


def tournament(agents: Iterable[Agent | str], report: Report = no_report) -> Tournament:
    """Play all agents against all, including themselves.

    Args:
        agents: agents, names such as "FairBot", or formulas, see `modal_env.logic.notation.find`.
        report: see `modal_env.progress`.

    Raises:
        GameError, FormulaError: not agents, no agents, more than `MAX_AGENTS`, or as `play`.
    """
    check_report(report)
    players = as_agents(agents)
    numbers = {agent: number for number, agent in enumerate(closure(players))}
    if len(numbers) > MAX_AGENTS:
        raise GameError(f"{len(numbers):,} agents, called ones included: a tournament takes at most {MAX_AGENTS:,}")
    game = _Game(numbers)
    while game.moved or game.world < game.last_toss:
        game.next_world()
        report(1 - 1 / (game.world + 2))
    places = [numbers[agent] for agent in players]
    cooperates: NDArray[Any] = _unpacked(game.values)[np.ix_(places, places)]
    random = [agent.is_random for agent in players]
    if any(random):
        cooperates = cooperates.astype(np.float64)
        cooperates[random] = 0.5
    return Tournament(players, cooperates)


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


class _Game:
    """The values, world after world. Integers have a bit for each opponent, and may be negative.

    Attributes:
        above, bodies: each agent's formula, see `split`. letters: the agents that X is called on in it, itself first.
        values: each agent's moves at `world`. boxes: each agent's boxes at the next world.
        seen: the moves against each agent.
        moved: agents with a box that has changed.
        coin: RandomBot's index; -1 if it does not take part. tossed: the solutions of all plays against it, by the
            plain evaluator. last_toss: the last world at which anything changes in these.
    """

    def __init__(self, numbers: dict[Agent, int]) -> None:
        self.above, self.bodies = zip(*map(split, numbers), strict=True)
        self.letters = [[number, *(numbers[called] for called in agent.called)] for agent, number in numbers.items()]
        agents, self.world = [*numbers], -1
        self.coin = next((number for number, agent in enumerate(agents) if agent.is_random), -1)
        met = agents if self.coin >= 0 else []
        self.tossed = [solve(Plays([(agent, agents[self.coin])]).equations) for agent in met]
        self.last_toss = max((solution.settles for solution in self.tossed), default=0)
        self.boxes = [[-1] * len(bodies) for bodies in self.bodies]
        self.values, self.seen = [0] * len(numbers), [0] * len(numbers)
        self.moved = set(range(len(numbers))) - {self.coin}
        self.others = (1 << len(numbers)) - 1  # as bits, all but RandomBot
        if self.coin >= 0:
            self.others ^= 1 << self.coin

    def next_world(self) -> None:
        """Compute the values at the next world, and the resulting boxes."""
        self.world += 1
        for number in self.moved:
            self.values[number] = evaluate(self.above[number], self.boxes[number], 0, ())
        seen, self.seen = self.seen, self._transposed()
        fresh = [new != old for new, old in zip(self.seen, seen, strict=True)]
        self.moved = {
            number
            for number, letters in enumerate(self.letters)
            if self.world == 0 or number in self.moved or any(fresh[letter] for letter in letters)
            if self._new_boxes(number)
        }

    def _new_boxes(self, number: int) -> bool:
        """Update an agent's boxes; returns whether any became false."""
        boxes, calls = self.boxes[number], [self.seen[letter] for letter in self.letters[number]]
        bodies = [evaluate(body, boxes, self.values[number], calls) for body in self.bodies[number]]
        change = 0
        for place, body in enumerate(bodies):
            change |= boxes[place] & ~body
            boxes[place] &= body
        return bool(change & self.others)

    def _transposed(self) -> list[int]:
        square = _unpacked(self.values)
        if self.coin >= 0:
            square[:, self.coin] = [bool(one.words) and one.value(0, self.world) for one in self.tossed]
            self.values = _packed(square)
        return _packed(square.T)


def split(agent: Agent) -> tuple[list[int], list[list[int]]]:
    """An agent's formula, split at its boxes: the part above all boxes, and the content of each.

    Codes are those of `Agent.program`, and ~k stands for box k; <> is ~[]~.
    """
    bodies: list[list[int]] = []
    stack: list[list[int]] = []
    for code in agent.program:
        if code in (BOX, DIAMOND):
            sign = [NOT] * (code == DIAMOND)
            bodies.append(stack.pop() + sign)
            stack.append([~(len(bodies) - 1), *sign])
        elif code == NOT:
            stack[-1].append(code)
        elif code <= ME or code >= CALL or agent.is_random:
            stack.append([code])
        else:
            right = stack.pop()
            stack[-1] += [*right, code]
    return stack[0], bodies


def evaluate(program: Sequence[int], boxes: Sequence[int], own: int, calls: Sequence[int]) -> int:
    """The value of a part of a formula, given those of the boxes, of `me` and of X(.), each as bits."""
    stack: list[int] = []
    for code in program:
        if code < 0:
            stack.append(boxes[~code])
        elif code >= CALL:
            stack.append(calls[code - CALL])
        elif code == NOT:
            stack[-1] = ~stack[-1]
        elif code <= ME:
            stack.append((0, -1, own)[code])
        else:
            right, left = stack.pop(), stack.pop()
            if code == AND:
                stack.append(left & right)
            elif code == OR:
                stack.append(left | right)
            else:
                stack.append(~left | right if code == IMPLIES else ~(left ^ right))
    return stack[0]


def _unpacked(words: Sequence[int]) -> NDArray[np.bool_]:
    """[n, n] the bits of n words, the lowest first."""
    count = len(words)
    size, full = -(-count // 8), (1 << count) - 1
    packed = np.frombuffer(b"".join((word & full).to_bytes(size, "little") for word in words), np.uint8)
    return np.unpackbits(packed.reshape(count, size), axis=1, count=count, bitorder="little").view(np.bool_)


def _packed(square: NDArray[np.bool_]) -> list[int]:
    square = np.ascontiguousarray(square)
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(square, axis=1, bitorder="little")]
