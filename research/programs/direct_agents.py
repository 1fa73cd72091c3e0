"""All direct agents up to a depth, whose only letter is X(me), and all their plays.

A direct agent is a function from types of histories (`modal_env.best_replies.types`) to moves. There are 4 types of
depth 1 and 21 of depth 2, so 2**4 behaviors of depth up to 1 and 2**21 of depth up to 2. A behavior is a *code*, an
integer whose bit t is the move at type t. Different codes are different behaviors: every history is produced by some
agent, and if two agents differ after it, another agent can prove so.

In one play only some types occur, on either side; the moves there are all that the play depends on. Branching on a move
where its type first occurs gives 44 plays at depth 1 and 1,100 at depth 2, each for all agents on the one side with
these moves against all on the other, so together for all pairs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modal_env import Agent
from modal_env.best_replies.types import Types
from modal_env.best_replies.writing import agent_of
from modal_env.logic.finite_machines import machine

OUTCOMES = ("DD", "DC", "CD", "CC")
"""The moves of the first agent and of the second; outcome k is bit k of a set of outcomes."""
Codes = NDArray[np.int64]


@lru_cache
def types(depth: int) -> Types:
    """All types of a depth, numbered by the length of the shortest history, then by the history."""
    return Types(depth).completed()


def code_of(agent: Agent, depth: int = 2) -> int:
    """The code of a direct agent."""
    own = machine(agent)
    return sum(int(own.outputs[own.run(word)]) << number for number, word in enumerate(types(depth).words))


def agent_with(code: int, depth: int = 2) -> Agent:
    """A direct agent with this code."""
    return agent_of(types(depth), {number: bool(code >> number & 1) for number in range(len(types(depth).words))})


def codes_up_to(lower: int, depth: int) -> Codes:
    """The codes, in the numbering of a depth, of the agents of a lower depth: 2 of depth 0, 16 of depth 1."""
    kinds = types(lower)
    below = []
    for word in types(depth).words:
        number = 0
        for symbol in word:
            number = kinds.after(number, symbol)
        below.append(number)
    moves = product((0, 1), repeat=len(kinds.words))
    return np.array([sum(move[kind] << number for number, kind in enumerate(below)) for move in moves], np.int64)


class Side(NamedTuple):
    """The agents with some moves at some types: all codes with ``code & decided == moves``."""

    decided: int
    moves: int

    def codes(self, depth: int) -> Codes:
        """All of them."""
        found = np.array([self.moves], np.int64)
        for kind in range(len(types(depth).words)):
            if not self.decided >> kind & 1:
                found = np.concatenate([found, found | 1 << kind])
        return found


class Play(NamedTuple):
    """All agents of one side against all of another: their outcome, as a place in `OUTCOMES`."""

    first: Side
    second: Side
    outcome: int


class Plays:
    """All plays of direct agents up to a depth.

    Attributes:
        plays: each once.
        least: [codes] the least depth of an agent with this behavior.
        reach: [codes, depth + 1] the outcomes that opponents of depth d or less can reach against each agent, as sets
            of bits, the opponent's move first.
        profiles, profile: [profiles, 1 + depth + 1] the different rows of `least` and `reach`; [codes] the number of
            each agent's.
    """

    def __init__(self, depth: int) -> None:
        self.depth, self.plays = depth, list(_branches(depth))
        count = 1 << len(types(depth).words)
        self.least = np.full(count, depth, np.int8)
        self.reach = np.zeros((count, depth + 1), np.uint8)
        sides = {side: side.codes(depth) for play in self.plays for side in play[:2]}
        for level in range(depth, -1, -1):
            own = codes_up_to(level, depth) if level < depth else None
            if own is not None:
                self.least[own] = level
            reached: dict[Side, int] = dict.fromkeys(sides, 0)
            for first, second, outcome in self.plays:
                if own is None or ((own & first.decided) == first.moves).any():
                    reached[second] |= 1 << outcome
            for side, bits in reached.items():
                self.reach[sides[side], level] |= bits
        keys = self.least.astype(np.int64) << 4 * (depth + 1)
        for level in range(depth + 1):
            keys |= self.reach[:, level].astype(np.int64) << 4 * level
        _, first, self.profile = np.unique(keys, return_index=True, return_inverse=True)
        self.profiles = np.column_stack([self.least[first], self.reach[first]])
        self.held = {side: np.unique(self.profile[codes]) for side, codes in sides.items()}

    def meetings(self, outcome: int) -> list[tuple[int, int]]:
        """The pairs of profiles of which some agents have this outcome with each other."""
        found = {
            (int(one), int(other))
            for first, second, end in self.plays
            if end == outcome
            for one in self.held[first]
            for other in self.held[second]
        }
        return sorted(found)

    def codes(self, side: Side, profile: int) -> Codes:
        """The agents of a profile on a side."""
        codes = np.sort(side.codes(self.depth))
        return codes[self.profile[codes] == profile]

    def pairs(self, first: int, second: int, outcome: int) -> list[tuple[Codes, Codes]]:
        """The agents of two profiles, in all plays in which they have this outcome."""
        return [
            (self.codes(play.first, first), self.codes(play.second, second))
            for play in self.plays
            if play.outcome == outcome and first in self.held[play.first] and second in self.held[play.second]
        ]


@lru_cache
def plays(depth: int = 2) -> Plays:
    """All plays of direct agents up to a depth: seconds for depth 2."""
    return Plays(depth)


def _branches(depth: int) -> list[Play]:
    """Every play once."""
    kinds, found = types(depth), []
    todo: list[tuple[dict[int, int], dict[int, int], int, int]] = [({}, {}, 0, 0)]
    while todo:
        mine, theirs, s, t = todo.pop()
        if s not in mine:
            todo += [({**mine, s: move}, theirs, s, t) for move in (0, 1)]
        elif t not in theirs:
            todo += [(mine, {**theirs, t: move}, s, t) for move in (0, 1)]
        else:
            own, other = mine[s], theirs[t]
            after = kinds.after(s, other), kinds.after(t, own)
            if after == (s, t):
                found.append(Play(_side(mine), _side(theirs), 2 * own + other))
            else:
                todo.append((mine, theirs, *after))
    return found


def _side(moves: dict[int, int]) -> Side:
    return Side(sum(1 << kind for kind in moves), sum(move << kind for kind, move in moves.items()))
