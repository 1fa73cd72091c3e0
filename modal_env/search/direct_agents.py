"""All agents of depth up to 2 whose only letter is X(me): a complete search of 2,097,152 behaviors.

Such a *direct* agent is a function from the types of histories (see `modal_env.search.best_replies`) to moves. There
are 4 types of depth 1 and 21 of depth 2, so 2**4 behaviors of depth up to 1 and 2**21 of depth up to 2. Here a
behavior is a *code*, an integer whose bit t is the move at type t. Different codes are different behaviors: every
history is produced by some agent, and if two agents differ after it, another agent can prove so. All plays of all
against all are covered, because against one agent the other 2**21 fall into a few dozen groups that meet the same
types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.checks import whole
from modal_env.errors import GameError
from modal_env.logic.finite_machines import machine
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import Agent, Op, as_agent
from modal_env.search.best_replies import Types, agent_of

MAX_DEPTH = 2  # the 133 types of depth 3 would give 2**133 behaviors
NAMED_SHALLOW = ("CooperateBot", "DefectBot", "FairBot", "UnfairBot", "CUPOD", "ReverseFairBot", "FalseBot", "TrueBot")
PAYOFFS = ((1, 3), (0, 2))
"""Payoff of a player by its own move (D, C) and the other's: punishment, temptation, sucker's payoff, reward."""


def types(depth: int) -> Types:
    """The types of depth 0, 1 or 2, numbered by the length of the shortest history, then by the history.

    Raises:
        GameError: the depth is not 0, 1 or 2.
    """
    return _types(whole("depth", depth, 0, MAX_DEPTH))


@lru_cache(maxsize=MAX_DEPTH + 1)
def _types(depth: int) -> Types:
    return Types(depth).completed()


def code_of(agent: Agent | str, depth: int = MAX_DEPTH) -> int:
    """The code of a direct agent, in the numbering of a depth.

    Raises:
        GameError: an agent that calls others, uses `me` or has a greater depth; RandomBot.
    """
    agent, depth = as_agent(agent), whole("depth", depth, 0, MAX_DEPTH)
    if agent.depth > depth or agent.is_random or agent.called or Op.ME in agent.program:
        raise GameError(
            f"{agent.name[:60]!r} is not a direct agent of depth {depth}: it is deeper, or contains more than X(me)"
        )
    own = machine(agent)
    return sum(int(own.outputs[own.run(word)]) << number for number, word in enumerate(types(depth).words))


def agent_with(code: int, depth: int = MAX_DEPTH) -> Agent:
    """A direct agent with this code.

    Raises:
        GameError: there is no such code.
    """
    count = len(types(depth).words)
    code = whole("code", code, 0, (1 << count) - 1)
    return agent_of(types(depth), {number: bool(code >> number & 1) for number in range(count)})


def codes_up_to(lower: int, depth: int = MAX_DEPTH) -> NDArray[np.int64]:
    """The codes, in the numbering of a depth, of the agents of a lower depth: 2 of depth 0, 16 of depth 1."""
    below = [_number(types(lower), word) for word in types(depth).words]
    count = len(types(lower).words)
    moves = product((0, 1), repeat=count)
    return np.array([sum(move[kind] << number for number, kind in enumerate(below)) for move in moves], np.int64)


def _number(kinds: Types, word: tuple[int, ...]) -> int:
    number = 0
    for symbol in word:
        number = kinds.after(number, symbol)
    return number


@dataclass(frozen=True)
class Survey:
    """What opponents of each depth can reach against every direct agent. Arrays are indexed by codes.

    Attributes:
        depth: depth of the class.
        best: [codes, depth + 1] int8, the best payoff that agents of depth d or less get against it, costs not counted.
        befriends: [codes, depth + 1] bool, whether it cooperates with any agent of depth d or less.
        least: [codes] int8, the least depth of an agent with this behavior.
    """

    depth: int
    best: NDArray[np.int8]
    befriends: NDArray[np.bool_]
    least: NDArray[np.int8]


def survey(depth: int = MAX_DEPTH) -> Survey:
    """Play every direct agent against every other; about two seconds for depth 2.

    Raises:
        GameError: a depth other than 0, 1, 2.
    """
    return _survey(whole("depth", depth, 0, MAX_DEPTH))


@lru_cache(maxsize=MAX_DEPTH + 1)
def _survey(depth: int) -> Survey:
    kinds = types(depth)
    count = 1 << len(kinds.words)
    best = np.zeros((count, depth + 1), np.int8)
    befriends = np.zeros((count, depth + 1), np.bool_)
    least = np.full(count, depth, np.int8)
    following = following_types(depth)
    payoffs = np.array(PAYOFFS, np.int8)
    for lower in range(depth - 1, -1, -1):
        codes = codes_up_to(lower, depth)
        least[codes] = lower
        _meet_listed(following, payoffs, codes, best[:, lower], befriends[:, lower])
    _meet_all(following, payoffs, best[:, depth], befriends[:, depth])
    for array in (best, befriends, least):
        array.flags.writeable = False  # the survey is cached
    return Survey(depth, best, befriends, least)


def following_types(depth: int) -> NDArray[np.int64]:
    """[types, 2]: the type one world later."""
    kinds = types(depth)
    return np.array([[kinds.after(number, symbol) for symbol in (0, 1)] for number in range(len(kinds.words))])


def partners(depth: int = MAX_DEPTH) -> NDArray[np.int64]:
    """[pairs, 2]: all pairs of codes, the first <= the second, that cooperate with each other, where each has the least
    depth that gets the other's cooperation, and no agent of that depth or less gets more.

    These are the pure equilibria in which both cooperate, if exploitation by deeper agents is ignored.
    """
    seen = survey(depth)
    # The depth required of a partner: below it the payoff is at most 1, at it 2. -1: there is none.
    needs = np.full(len(seen.best), -1)
    for d in range(depth + 1):
        needs[(seen.best[:, d] == 2) & (seen.best[:, :d] <= 1).all(axis=1)] = d
    following = following_types(depth)
    found = []
    for d, e in product(range(depth + 1), repeat=2):
        rows = np.flatnonzero((seen.least == d) & (needs == e))
        columns = np.flatnonzero((seen.least == e) & (needs == d))
        found.append(_cooperating(following, rows, columns))
    pairs = np.concatenate(found)
    pairs = pairs[pairs[:, 0] <= pairs[:, 1]]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _cooperating(
    following: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    cooperates = np.zeros((len(rows), len(columns)), np.bool_)
    _mark_cooperating(following, rows, columns, cooperates)
    places = np.argwhere(cooperates)
    return np.stack([rows[places[:, 0]], columns[places[:, 1]]], axis=1)


@njit(cache=True, nogil=True)
def _play(following, a, b):  # type: ignore[no-untyped-def]
    """The final moves of two codes."""
    s = t = 0
    while True:
        x, y = a >> s & 1, b >> t & 1
        u, v = following[s, y], following[t, x]
        if u == s and v == t:
            return x, y
        s, t = u, v


@njit(cache=True, nogil=True)
def _mark_cooperating(following, rows, columns, cooperates):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for j in range(len(columns)):
            x, y = _play(following, rows[i], columns[j])
            cooperates[i, j] = x == 1 and y == 1


@njit(cache=True, nogil=True)
def _meet_listed(following, payoffs, codes, best, befriends):  # type: ignore[no-untyped-def]
    """Play every code against the listed ones."""
    for b in range(len(best)):
        for a in codes:
            x, y = _play(following, a, b)
            best[b] = max(best[b], payoffs[x, y])
            befriends[b] = befriends[b] or y == 1


@njit(cache=True, nogil=True)
def _meet_all(following, payoffs, best, befriends):  # type: ignore[no-untyped-def]
    """Play every code against all: branches on the opponent's move at a type when the type first occurs.

    A branch is the decided types (bits), the moves there (bits), and the two types at which the play stands. There are
    never more pending branches than types, since each has one more decided type than the one pending before it.
    """
    waiting = np.empty((len(following) + 1, 4), np.int64)
    for b in range(len(best)):
        waiting[0] = 0
        count = 1
        while count:
            count -= 1
            decided, a, s, t = waiting[count]
            while True:
                if not decided >> s & 1:
                    decided |= 1 << s
                    waiting[count, 0], waiting[count, 1] = decided, a | 1 << s
                    waiting[count, 2], waiting[count, 3] = s, t
                    count += 1
                x, y = a >> s & 1, b >> t & 1
                u, v = following[s, y], following[t, x]
                if u == s and v == t:
                    best[b] = max(best[b], payoffs[x, y])
                    befriends[b] = befriends[b] or y == 1
                    break
                s, t = u, v


def shallow_agents() -> tuple[Agent, ...]:
    """The 16 direct agents of depth up to 1, then PrudentBot, SlipBot, MirrorBot and OneBot.

    Direct agents that behave like an agent of the library have its name.
    """
    found = [agent_with(code, 1).renamed(name) for code, name in enumerate(shallow_names())]
    return (*found, *(LIBRARY[name] for name in ("PrudentBot", "SlipBot", "MirrorBot", "OneBot")))


def shallow_names() -> tuple[str, ...]:
    """The names of the 16 direct agents of depth up to 1, by their codes of depth 1."""
    known = {code_of(LIBRARY[name], 1): name for name in NAMED_SHALLOW}
    return tuple(known.get(code, f"Direct{code}") for code in range(16))


def moves_against_itself(depth: int = MAX_DEPTH) -> NDArray[np.bool_]:
    """[codes] whether each direct agent cooperates with itself in the end."""
    return np.asarray(_against_itself(following_types(depth), 1 << len(types(depth).words)))


@njit(cache=True, nogil=True)
def _against_itself(following, count):  # type: ignore[no-untyped-def]
    found = np.zeros(count, np.bool_)
    for code in range(count):
        found[code] = _play(following, code, code)[0] == 1
    return found
