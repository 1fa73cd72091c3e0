"""Mixes of all 2,097,152 direct agents of depth up to 2 as 400 numbers, and what every agent is paid against them.

*Blocks.* A type of depth 2 is a set of pairs (set of moves seen, next move). It holds (nothing seen, y) for the
opponent's first move y only; and it holds ({y}, y) if and only if the second move is y, too, because after another
second move both moves have been seen for ever. So a type of two moves or more remembers the first two, and these types
fall into four *blocks*, one for each pair of first moves. In one play an agent comes through one block only. So its
payoff against a mix is the sum of four terms, one for each block, each a function of the agent's *entry* for the block:
its moves at the first type, at the type after one move, and at the block's types. There are 128, 64, 64 and 128
entries, 384 in all.

*What follows.* (1) The payoffs of all agents against a mix are linear in its *marginals*, the share of the agents with
each entry. (2) Under replicator dynamics ln x_i(t) - ln x_i(0) is agent i's payoff, less the mean payoff, summed over
time: a sum of four terms, and the price of its depth times t. So if the logarithms of the shares are sums of four terms
at the start, up to the agents of depth 0 and 1, they are so for ever. (3) The same holds for logit responses, and for a
uniform mix of all best replies.

*Potentials.* Such a mix has 384 potentials, with ln x_i = the sum of the potentials of i's four entries, up to a
constant, for agents of depth 2; each of the 16 agents of less depth has a logarithm of its own. This is exact. Given
the moves at the first three types, the blocks are independent of each other, so the marginals are products of sums over
single blocks: a thousand exponentials in place of two million.

In the prisoner's dilemma the payoffs of all agents against all mixes span 180 dimensions, so fewer numbers than that
would not be enough in general.

Arrays have a last axis of length N, for N mixes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal_env.games.payoffs import PayoffTable
from modal_env.search.direct_agents import codes_up_to, following_types
from modal_env.search.plays import OUTCOMES, plays

DEPTH = 2
ENTRIES = 384
COUNT = 1 << 21  # agents
SHALLOW = 16  # agents of depth up to 1
CC = OUTCOMES.index("CC")
NEVER = -1000.0
"""A logarithm of a weight whose exponential is 0."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Blocks:
    """How agents and their plays are put together from entries.

    Attributes:
        kinds: of each block: the first type, the type after one move, and the block's types. An entry is the moves at
            these types, read as a binary number; the entries of the blocks are numbered one block after the other.
        shallow: [16] the codes of the agents of depth up to 1.
        depths: [16] their depths.
        has: [16, entries] 1 at their entries.
        outcomes: [4, entries, entries] 1 where an agent with the first entry, against one with the second, comes
            through these two blocks, and the play ends with this outcome.
        with_itself: [entries] 1 where an agent, against itself, comes through this block and cooperates in the end.
    """

    kinds: tuple[tuple[int, ...], ...]
    shallow: Codes
    depths: Codes
    has: Floats
    outcomes: Floats
    with_itself: Floats

    def entries(self, codes: Codes) -> Codes:
        """[..., 4] the entries of agents [...]."""
        found, first = [], 0
        for kinds in self.kinds:
            found.append(first + sum((codes >> kind & 1) << place for place, kind in enumerate(reversed(kinds))))
            first += 1 << len(kinds)
        return np.stack(found, axis=-1)

    def code(self, first: int, seconds: tuple[int, int], moves: Sequence[int]) -> int:
        """The agent with a move at the first type, moves at the two after one move, and moves in the four blocks."""
        code = 0
        for number, kinds in enumerate(self.kinds):
            entry = (2 * first + seconds[number // 2] << len(kinds) - 2) + int(moves[number])
            code |= sum((entry >> place & 1) << kind for place, kind in enumerate(reversed(kinds)))
        return code

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Four views [2, 2, moves in the block, N] of [entries, N]: by the moves at the first two types."""
        ends = np.cumsum([1 << len(kinds) for kinds in self.kinds])[:-1]
        return [part.reshape(2, 2, -1, values.shape[1]) for part in np.split(values, ends)]


@lru_cache(maxsize=1)
def blocks() -> Blocks:
    """The blocks; a second or more, most of it for `plays`."""
    after = following_types(DEPTH)
    kinds = tuple(_kinds(after, *moves) for moves in product((0, 1), repeat=2))
    shallow = codes_up_to(1, DEPTH)
    depths = np.where(np.isin(shallow, codes_up_to(0, DEPTH)), 0, 1)
    bare = Blocks(kinds, shallow, depths, np.zeros(0), np.zeros(0), np.zeros(0))
    has = np.zeros((SHALLOW, ENTRIES))
    has[np.arange(SHALLOW)[:, None], bare.entries(shallow)] = 1
    found, sides = plays(DEPTH), _on_sides(kinds)
    outcomes, with_itself = np.zeros((len(OUTCOMES), ENTRIES, ENTRIES)), np.zeros(ENTRIES)
    for play in found.plays:
        outcomes[play.outcome] += np.outer(sides[play.first], sides[play.second])
        if play.first == play.second and play.outcome == CC:
            with_itself += sides[play.first]
    for array in (shallow, depths, has, outcomes, with_itself):
        array.flags.writeable = False  # the blocks are cached
    return Blocks(kinds, shallow, depths, has, outcomes, with_itself)


def _kinds(after: Codes, one: int, two: int) -> tuple[int, ...]:
    """The first type, the one after a move, and all that can follow after two moves."""
    found = [0, int(after[0, one]), int(after[after[0, one], two])]
    for kind in found:
        if kind != 0 and kind != found[1]:
            found += [later for later in after[kind].tolist() if later not in found]
    return tuple(found)


def _on_sides(kinds: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """[sides, entries] whether agents with an entry are on a side of plays: each side decides types of one block."""
    rows = [
        (sum(1 << kind for kind in block), sum(move << kind for kind, move in zip(block, moves, strict=True)))
        for block in kinds
        for moves in product((0, 1), repeat=len(block))
    ]
    decided, moves = np.array(rows).T
    sides = plays(DEPTH).sides
    fixed = np.array([[side.decided] for side in sides])
    return (fixed & ~decided == 0) & (fixed & moves == np.array([[side.moves] for side in sides]))


def paid_by_outcome(table: PayoffTable) -> Floats:
    """[4] what the first agent is paid at each of `OUTCOMES`, on average over the two seats."""
    return np.array([float(table[moves] + table.turned[moves]) / 2 for moves in OUTCOMES])


@dataclass(frozen=True)
class Mixes:
    """N mixes.

    Attributes:
        entries: [entries, N] the marginals.
        shallow: [16, N] the shares of the agents of depth up to 1.
        log_sums: [N] the logarithms of the sums of all weights.
    """

    entries: Floats
    shallow: Floats
    log_sums: Floats

    @property
    def cooperation(self) -> Floats:
        """[N] the share of pairs that both cooperate."""
        both = (self.entries * (blocks().outcomes[CC] @ self.entries)).sum(axis=0)
        return np.clip(both, 0, 1)  # rounding errors are of the order of 1e-12

    @property
    def groups(self) -> Floats:
        """[18, N] the shares of the agents of depth up to 1, of those of depth 2 that cooperate with themselves, and of
        the others of depth 2.
        """
        known = blocks()
        both = known.with_itself @ self.entries - (known.has @ known.with_itself) @ self.shallow
        deep = 1 - self.shallow.sum(axis=0)
        return np.vstack([self.shallow, np.clip([both, deep - both], 0, 1)])


def mixes(potentials: Floats, own: Floats) -> Mixes:
    """The mixes with these logarithms of weights.

    Args:
        potentials: [entries, N] for agents of depth 2.
        own: [16, N] of the agents of depth up to 1.
    """
    known = blocks()
    copies = known.has @ potentials  # weights that the potentials give to agents of less depth: replaced by their own
    total, family = _family(potentials)
    top = np.maximum(total, own.max(axis=0))
    weights = np.exp(own - top)
    more = weights - np.exp(copies - top)
    scale = np.exp(total - top)
    sums = scale + more.sum(axis=0)
    return Mixes((family * scale + known.has.T @ more) / sums, weights / sums, top + np.log(sums))


def _family(potentials: Floats) -> tuple[Floats, Floats]:
    """[N] the logarithms of the sums of the weights of all 2**21 functions, and [entries, N] their marginals."""
    parts = blocks().split(potentials)
    sums = [_log_sum(part, 2) for part in parts]
    left, right = sums[0] + sums[1], sums[2] + sums[3]  # [2, 2, N] given the moves at the first two types
    on_left, on_right = _log_sum(left, 1), _log_sum(right, 1)
    total = _log_sum(on_left + on_right, 0)
    first = np.exp(on_left + on_right - total)[:, None]
    lefts, rights = first * np.exp(left - on_left[:, None]), first * np.exp(right - on_right[:, None])
    inner = [np.exp(part - known[:, :, None]) for part, known in zip(parts, sums, strict=True)]
    outer = (lefts, lefts, rights, rights)
    shape = (-1, potentials.shape[1])
    return total, np.concatenate([(a[:, :, None] * b).reshape(shape) for a, b in zip(outer, inner, strict=True)])


def _log_sum(logs: Floats, axis: int) -> Floats:
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray((top + np.log(np.exp(logs - top).sum(axis=axis, keepdims=True))).squeeze(axis))


def best_payoffs(values: Floats, own: Floats) -> Floats:
    """[N] the largest payoff of all agents.

    Args:
        values: [entries, N] the terms of the payoffs of agents of depth 2.
        own: [16, N] the payoffs of the agents of depth up to 1, which are not below those that `values` gives them.
    """
    return np.maximum(_tops(values)[-1], own.max(axis=0))


def best_replies(values: Floats, own: Floats, tie: float) -> Mixes:
    """Uniform mixes of all best replies, see `best_payoffs`.

    Args:
        tie: replies that are worse by at most this in one place count as best.
    """
    parts, tops = blocks().split(values), _tops(values)
    inner, (left, right), (on_left, on_right), top = tops[:4], tops[4:6], tops[6:8], tops[8]
    best = np.maximum(top, own.max(axis=0))
    first = on_left + on_right >= best - tie
    lefts = first[:, None] & (left >= on_left[:, None] - tie)
    rights = first[:, None] & (right >= on_right[:, None] - tie)
    kept = [
        (outer[:, :, None] & (part >= most[:, :, None] - tie)).reshape(-1, values.shape[1])
        for outer, part, most in zip((lefts, lefts, rights, rights), parts, inner, strict=True)
    ]
    potentials = np.where(np.concatenate(kept), 0.0, NEVER)
    return mixes(potentials, np.where(own >= best - tie, 0.0, NEVER))


def _tops(values: Floats) -> list[Floats]:
    """The largest sums: of each block, of the two on each side, of each side, and of all, as in `_family`."""
    inner = [part.max(axis=2) for part in blocks().split(values)]
    left, right = inner[0] + inner[1], inner[2] + inner[3]
    sides = left.max(axis=1), right.max(axis=1)
    return [*inner, left, right, *sides, (sides[0] + sides[1]).max(axis=0)]
