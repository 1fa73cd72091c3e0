"""Agents as circuits in flat arrays, for the compiled evaluators in `modal_env.logic.traces` and
`modal_env.logic.tiles`.

A step of a circuit takes two values x and y to c0 ^ c1 x ^ c2 y ^ c3 x y, and says whether a box is around that. These
are all the connectives there are, with negations of x, y and the result, so a step needs no branches; <> is ~[]~. The
steps read and write numbered slots:

    0           false
    1, 2        what the agent does, what the opponent does: `me`, X(me)
    3 ...       X(H) for the agents H that are called, in the sequence of `Agent.called`
    then        the boxes, then everything else

All that stands under boxes comes first, each box after those in it; then the steps of what stands above all boxes.
Constants are worked out here. But no box is left out, even where nothing follows from it any more: it counts when
a play settles.

A roster has the circuits of the players and, before them, of their helpers: all agents that X is called on, directly
or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modal_env.checks import items, shown
from modal_env.errors import GameError
from modal_env.logic.notation import Agent, Op, as_agent
from modal_env.logic.provability import Plays, Solution, solve

LAST = 63  # the last world whose values fit into a word
UNKNOWN = (1 << LAST) - 1  # in `Roster.coins`
MAX_KNOWN = 1 << 22
BOX = 16  # in a step's code, above c0 to c3
OWN, OPPONENT, FIRST_CALL = 1, 2, 3  # slots
COIN = -1  # in place of a helper's row: RandomBot
# Plain integers, which compare faster than members of an enumeration.
CODE_NOT, CODE_BOX, CODE_DIAMOND, CODE_CALL = int(Op.NOT), int(Op.BOX), int(Op.DIAMOND), int(Op.CALL)
CODE_AND, CODE_OR, CODE_IMPLIES, CODE_ME, CODE_COIN = int(Op.AND), int(Op.OR), int(Op.IMPLIES), int(Op.ME), int(Op.COIN)

Words = NDArray[np.int64]
Flags = NDArray[np.bool_]
Step = tuple[int, int, int, int]


class Circuits(NamedTuple):
    """The circuits of some agents, one a row, in flat arrays.

    Attributes:
        steps: [all steps, 4] uint32: code (c0 to c3 and BOX as bits), slots of x and y, and the slot of the result.
        first: [rows + 1] int64, where a row's steps begin in `steps`.
        above: [rows] int64, where those begin that stand above all boxes.
        calls: [all calls] int32, the rows of the agents called, COIN for RandomBot.
        first_call: [rows + 1] int64, where a row's calls begin in `calls`.
        boxes, slots, output: [rows] int32, the numbers of boxes and slots, and the slot with the agent's value.
        own, itself: [rows] bool, whether `me` and X(me) occur.
        random: [rows] bool, whether this is RandomBot; its circuit says false, which nobody may rely on.
        helpers: how many rows are helpers.
    """

    steps: NDArray[np.uint32]
    first: Words
    above: Words
    calls: NDArray[np.int32]
    first_call: Words
    boxes: NDArray[np.int32]
    slots: NDArray[np.int32]
    output: NDArray[np.int32]
    own: Flags
    itself: Flags
    random: Flags
    helpers: int


@dataclass(frozen=True, eq=False)
class Roster:
    """A set of agents that is ready to play.

    Attributes:
        helpers: all agents that somebody calls, without RandomBot, each after those that it calls. They are rows 0, 1,
            ... of all arrays.
        agents: those given, which are the rows behind them.
        circuits: of all rows.
        coins: [rows, 2] int64, of each against RandomBot: its values at the worlds of a word, as bits, and bits for
            the worlds before it settles. The second is UNKNOWN if that is beyond the word, or the play impossible.
        known: [rows * helpers, 2] int64, what `modal_env.logic.traces` has found out of plays with helpers and keeps
        here;
            [0, 2] if that could be more than `MAX_KNOWN`. Threads must not play in one roster at the same time.
        rank: of an agent it is the longest way down from one that is called to the next. At most that of all agents.
    """

    helpers: tuple[Agent, ...]
    agents: tuple[Agent, ...]
    circuits: Circuits
    coins: Words
    known: Words
    rank: int


def compile_agents(agents: Iterable[Agent]) -> Roster:
    """Make agents ready to play.

    Raises:
        GameError: something else than agents.
    """
    given = items(agents)
    if given is None:
        raise GameError(f"agents={shown(agents)}: give a sequence of agents")
    players = tuple(map(as_agent, given))
    ranks = _ranks(players)
    helpers = tuple(agent for agent in ranks if not agent.is_random)
    everyone = (*helpers, *players)
    rows = {helper: row for row, helper in enumerate(helpers)}
    coin = any(agent.is_random for agent in (*ranks, *players))
    coins = _against_coin(everyone) if coin else np.zeros((len(everyone), 2), np.int64)
    keys = len(everyone) * len(helpers)
    known = np.zeros((keys if keys <= MAX_KNOWN else 0, 2), np.int64)
    return Roster(helpers, players, _circuits(everyone, rows), coins, known, 1 + max(ranks.values(), default=-1))


def _ranks(agents: Sequence[Agent]) -> dict[Agent, int]:
    """All agents that these call, directly or not, each after those that it calls, and how far down its calls go."""
    ranks: dict[Agent, int] = {}
    todo = [called for agent in dict.fromkeys(agents) for called in agent.called]
    while todo:
        agent = todo[-1]
        missing = [called for called in agent.called if called not in ranks]
        if missing:
            todo.extend(missing)
        else:
            ranks[agent] = 1 + max((ranks[called] for called in agent.called), default=-1)
            todo.pop()
    return ranks


def _against_coin(agents: Sequence[Agent]) -> Words:
    """`Roster.coins`, from the plain evaluator."""
    coin = next(found for agent in agents for found in (agent, *agent.called) if found.is_random)
    found = np.zeros((len(agents), 2), np.int64)
    for row, agent in enumerate(agents):
        try:
            solution = solve(Plays([(agent, coin)]).equations)
        except GameError:  # it calls too many agents; the plain evaluator will say so to those who need this play
            found[row, 1] = UNKNOWN
        else:
            if solution.words:
                found[row] = word(solution, 0), (1 << min(solution.settles, LAST)) - 1
    return found


def word(solution: Solution, number: int) -> int:
    """The values at the worlds of a word, as the bits of a signed number."""
    bits = sum(solution.value(number, world) << world for world in range(LAST + 1))
    return bits - (bits >> LAST << LAST + 1)


class _Builder:
    """Makes the circuit of one agent.

    What stands for a value is twice its slot, plus one if it is negated; 0 is false and 1 is true. Temporary slots
    are -1, -2, ... until the number of boxes is known.
    """

    def __init__(self, agent: Agent) -> None:
        self.first_box = FIRST_CALL + len(agent.called)
        self.boxes = self.temporary = 0
        self.below: list[Step] = []
        self.above: list[Step] = []
        self.output = self.build(agent.program)

    def build(self, program: Sequence[int]) -> int:
        """Fill the lists of steps; tell the slot of the whole formula."""
        stack: list[int] = []
        for code, steps in zip(program, self.places(program), strict=True):
            if code >= CODE_CALL:
                stack.append(2 * (code - CODE_CALL + OPPONENT))
            elif code == CODE_NOT:
                stack[-1] ^= 1
            elif code == CODE_BOX:
                stack.append(self.box(stack.pop()))
            elif code == CODE_DIAMOND:
                stack.append(self.box(stack.pop() ^ 1) ^ 1)
            elif code <= CODE_ME:
                stack.append(code)
            elif code == CODE_COIN:
                stack.append(0)
            else:
                y = stack.pop()
                stack.append(self.join(code, stack.pop(), y, steps))
        slot, negated = divmod(stack.pop(), 2)
        return self.step(0b0010 | negated, slot, 0, self.above) >> 1 if negated else slot

    def places(self, program: Sequence[int]) -> list[list[Step]]:
        """For every code, the list that its step belongs to."""
        found, stack = [], [self.above]
        for code in reversed(program):
            steps = stack.pop()
            found.append(steps)
            if code in (CODE_BOX, CODE_DIAMOND):
                stack.append(self.below)
            elif code == CODE_NOT:
                stack.append(steps)
            elif CODE_AND <= code < CODE_COIN:
                stack += steps, steps
        return found[::-1]

    def step(self, code: int, x: int, y: int, steps: list[Step]) -> int:
        """Append a step; tell what stands for its result."""
        self.temporary -= 1
        steps.append((code, x, y, self.temporary))
        return 2 * self.temporary

    def join(self, code: int, x: int, y: int, steps: list[Step]) -> int:
        """A connective of two values."""
        if code == CODE_AND:
            return self.conjunction(x, y, steps)
        if code == CODE_OR:
            return self.conjunction(x ^ 1, y ^ 1, steps) ^ 1
        if code == CODE_IMPLIES:
            return self.conjunction(x, y ^ 1, steps) ^ 1
        if x in (0, 1) or y in (0, 1):
            return x ^ y ^ 1
        return self.step(0b0110, x >> 1, y >> 1, steps) ^ (x & 1) ^ (y & 1) ^ 1

    def conjunction(self, x: int, y: int, steps: list[Step]) -> int:
        if x in (0, 1) or y in (0, 1):
            return 0 if 0 in (x, y) else x + y - 1
        a, b = x & 1, y & 1
        return self.step(0b1000 | b << 1 | a << 2 | a & b, x >> 1, y >> 1, steps)

    def box(self, inner: int) -> int:
        """A box, in one step with the connective that it is around."""
        if inner == 1:
            return 1
        slot, negated = divmod(inner, 2)
        code, x, y = 0b0010, slot, 0
        if slot < 0 and self.below[-1][3] == slot:
            code, x, y, _ = self.below.pop()
        self.below.append((code ^ negated | BOX, x, y, self.first_box + self.boxes))
        self.boxes += 1
        return 2 * (self.first_box + self.boxes - 1)

    def slot(self, number: int) -> int:
        """The slot that a number has in the end."""
        return self.first_box + self.boxes - 1 - number if number < 0 else number

    def steps(self) -> list[int]:
        """All steps, one behind the other."""
        return [
            number
            for code, x, y, to in (*self.below, *self.above)
            for number in (code, self.slot(x), self.slot(y), self.slot(to))
        ]


def _circuits(agents: Sequence[Agent], rows: dict[Agent, int]) -> Circuits:
    """The circuits of agents; `rows` tells those of helpers."""
    steps: list[int] = []
    numbers: list[tuple[int, int, int, int, int]] = []
    for agent in agents:
        one = _Builder(agent)
        steps += one.steps()
        slots = one.first_box + one.boxes - one.temporary
        numbers.append((len(one.below) + len(one.above), len(one.above), one.boxes, slots, one.slot(one.output)))
    lengths, above, boxes, slot_counts, output = np.array(numbers, np.int64).reshape(-1, 5).T
    first = _starts(lengths)
    return Circuits(
        steps=np.array(steps, np.uint32).reshape(-1, 4),
        first=first,
        above=first[1:] - above,
        calls=np.array([rows.get(called, COIN) for agent in agents for called in agent.called], np.int32),
        first_call=_starts([len(agent.called) for agent in agents]),
        boxes=boxes.astype(np.int32),
        slots=slot_counts.astype(np.int32),
        output=output.astype(np.int32),
        own=np.array([CODE_ME in agent.program for agent in agents], np.bool_),
        itself=np.array([agent.calls_itself for agent in agents], np.bool_),
        random=np.array([agent.is_random for agent in agents], np.bool_),
        helpers=len(rows),
    )


def _starts(lengths: ArrayLike) -> Words:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
