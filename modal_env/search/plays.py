"""All plays of two direct agents: products of two sets of agents that together make up all pairs.

A direct agent is a function from types of histories to moves (`modal_env.search.direct_agents`). In one play only some
types occur, on either side; the moves there are all that the play depends on. Branching on a move where its type first
occurs gives the plays: 44 at depth 1 and 1,100 at depth 2, each for all agents on the one side with these moves against
all on the other, so together for all 2**42 pairs of depth up to 2. The outcomes of all pairs, for any payoffs, can be
read off the plays, and best replies off the agents' *profiles*: the outcomes that opponents of each depth can reach
against them. At depth 2 there are few profiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.checks import whole
from modal_env.search.direct_agents import MAX_DEPTH, codes_up_to, following_types, types

OUTCOMES = ("DD", "DC", "CD", "CC")
"""The moves of the first agent and of the second; outcome k is bit k of a set of outcomes."""


@dataclass(frozen=True)
class Play:
    """Two agents' play.

    Attributes:
        first, second: the numbers of their `Side`.
        outcome: place in `OUTCOMES`.
    """

    first: int
    second: int
    outcome: int


@dataclass(frozen=True)
class Side:
    """The agents with some moves at some types: all codes with ``code & decided == moves``."""

    decided: int
    moves: int


@dataclass(frozen=True)
class Plays:
    """All plays of direct agents up to a depth.

    Attributes:
        depth: of the agents.
        sides: sets of agents; the same sets occur on both sides.
        plays: all plays.
        profile: [codes] the number of each agent's profile.
        profiles: [profiles, 1 + depth + 1] the least depth of the agents with this profile, and for d = 0 ... depth the
            outcomes that opponents of depth d or less can reach, as sets of bits: the opponent's move first.
        holds: [sides, profiles] whether a set has an agent of a profile.
    """

    depth: int
    sides: tuple[Side, ...]
    plays: tuple[Play, ...]
    profile: NDArray[np.int64]
    profiles: NDArray[np.int64]
    holds: NDArray[np.bool_]

    def meetings(self, outcome: int) -> NDArray[np.bool_]:
        """[profiles, profiles] whether some agents of two profiles have this outcome with each other."""
        found = np.zeros((len(self.profiles),) * 2, np.bool_)
        for play in self.plays:
            if play.outcome == outcome:
                found |= np.outer(self.holds[play.first], self.holds[play.second])
        return found

    def pairs(self, first: int, second: int, outcome: int) -> list[tuple[Side, Side]]:
        """The plays with this outcome in which agents of two profiles meet."""
        return [
            (self.sides[play.first], self.sides[play.second])
            for play in self.plays
            if play.outcome == outcome and self.holds[play.first, first] and self.holds[play.second, second]
        ]

    def codes(self, side: Side, profile: int) -> NDArray[np.int64]:
        """The agents of a profile in a set."""
        codes = np.flatnonzero(self.profile == profile)
        return codes[(codes & side.decided) == side.moves]


def plays(depth: int = MAX_DEPTH) -> Plays:
    """All plays of direct agents up to a depth; about a second for depth 2.

    Raises:
        GameError: a depth other than 0, 1, 2.
    """
    return _plays(whole("depth", depth, 0, MAX_DEPTH))


@lru_cache(maxsize=MAX_DEPTH + 1)
def _plays(depth: int) -> Plays:
    sides: dict[Side, int] = {}
    found = [
        Play(sides.setdefault(first, len(sides)), sides.setdefault(second, len(sides)), outcome)
        for first, second, outcome in _branches(following_types(depth).tolist())
    ]
    decided = np.array([side.decided for side in sides])
    moves = np.array([side.moves for side in sides])
    # For each set of opponents and depth d: the outcomes that agents of depth d or less reach against it.
    reach = np.zeros((len(sides), depth + 1), np.int64)
    for d in range(depth + 1):
        possible = [True] * len(sides) if d == depth else _any_of(codes_up_to(d, depth), sides)
        for play in found:
            if possible[play.first]:
                reach[play.second, d] |= 1 << play.outcome
    keys = _keys(decided, moves, reach, 1 << len(types(depth).words))
    for lower_depth in range(depth - 1, -1, -1):
        codes = codes_up_to(lower_depth, depth)
        keys[codes] = (keys[codes] & ~3) | lower_depth
    known, profile = np.unique(keys, return_inverse=True)
    profiles = np.stack([known & 3, *((known >> (4 * d + 2)) & 15 for d in range(depth + 1))], axis=1)
    holds = counts_on_sides(decided, moves, profile, len(known)) > 0
    return Plays(depth, tuple(sides), tuple(found), profile, profiles, holds)


def _any_of(codes: NDArray[np.int64], sides: Iterable[Side]) -> list[bool]:
    """For each set of agents, whether it has one of these codes."""
    return [bool(((codes & side.decided) == side.moves).any()) for side in sides]


def _branches(next_type: list[list[int]]) -> list[tuple[Side, Side, int]]:
    """Every play once, with the types and moves of both agents in it."""
    found = []
    todo: list[tuple[dict[int, int], dict[int, int], int, int]] = [({}, {}, 0, 0)]
    while todo:
        mine, theirs, s, t = todo.pop()
        if s not in mine:
            todo += [({**mine, s: move}, theirs, s, t) for move in (0, 1)]
        elif t not in theirs:
            todo += [(mine, {**theirs, t: move}, s, t) for move in (0, 1)]
        else:
            own, other = mine[s], theirs[t]
            after = next_type[s][other], next_type[t][own]
            if after == (s, t):
                found.append((_side(mine), _side(theirs), 2 * own + other))
            else:
                todo.append((mine, theirs, *after))
    return found


def _side(moves: dict[int, int]) -> Side:
    return Side(sum(1 << kind for kind in moves), sum(move << kind for kind, move in moves.items()))


# The codes are visited by their lowest bits, the moves at the types that occur first: few sets of agents agree with
# these bits, and only these sets are tried for all codes with the same lowest bits.
LOW = 11


@njit(cache=True, nogil=True)
def agreeing(decided, moves, low, mask):  # type: ignore[no-untyped-def]
    """The sets of agents that agree with the lowest bits of a code."""
    return np.flatnonzero(low & mask & decided == moves & mask)


@njit(cache=True, nogil=True)
def _keys(decided, moves, reach, count):  # type: ignore[no-untyped-def]
    """[codes] the greatest depth in the two lowest bits, and then the outcomes of each depth, four bits each."""
    depths = reach.shape[1]
    keys = np.full(count, depths - 1, np.int64)
    step = min(1 << LOW, count)
    for low in range(step):
        sides = agreeing(decided, moves, low, step - 1)
        for code in range(low, count, step):
            for side in sides:
                if code & decided[side] == moves[side]:
                    for d in range(depths):
                        keys[code] |= reach[side, d] << (4 * d + 2)
    return keys


@njit(cache=True, nogil=True)
def counts_on_sides(decided, moves, kind, kinds):  # type: ignore[no-untyped-def]
    """[sides, kinds] number of agents of each kind on each side; `kind` has that of each agent."""
    found = np.zeros((len(decided), kinds), np.int64)
    step = min(1 << LOW, len(kind))
    for low in range(step):
        sides = agreeing(decided, moves, low, step - 1)
        for code in range(low, len(kind), step):
            for side in sides:
                if code & decided[side] == moves[side]:
                    found[side, kind[code]] += 1
    return found
