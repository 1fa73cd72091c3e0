"""Many plays at once, compiled: the values of a play at the worlds 0 to 63 are the bits of a machine word.

The worlds are those of `modal_env.logic.provability`, whose evaluator this one must agree with, and to which it hands
over what takes more worlds. With t the values of p as bits, world 0 the lowest, []p is t ^ (t + 1).

X on a helper needs the opponent's play against that helper, which may need further ones. What A does against B follows
from what B does against A if A says X(me), and otherwise only from plays in which the ranks of the two (see
`modal_env.logic.circuits`) have a smaller sum. So there are no circles but those two values in one another. A play
with a helper is found when it is first needed, and kept in the roster; for the rest of the call only, in a hash table,
where there are very many helpers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from modal_env.errors import GameError
from modal_env.logic.circuits import COIN, FIRST_CALL, LAST, OPPONENT, OWN, Circuits, Flags, Roster, Words, word
from modal_env.logic.provability import Plays, solve

KNOWN = -1 << 63
NO_NAMES = np.zeros(0, np.int64)
# Of what the kernels take from `modal_env.logic.circuits`: numba's cache sees changes of this file only.
CIRCUITS_DIGEST = "207f8a8865cab11c"


class Traces(NamedTuple):
    """What pairs of agents do.

    Attributes:
        moves: [n, 2] bytes, b"C", b"D" or, of RandomBot, b"?".
        settles: [n] int64, first world from which nothing changes, as in `modal_env.logic.provability.Outcome`.
        words: [n, 2] uint64, bit w says whether the agent cooperates at world w, up to world 63. 0 of RandomBot.
    """

    moves: NDArray[np.bytes_]
    settles: Words
    words: NDArray[np.uint64]


def play_pairs(roster: Roster, first: ArrayLike, second: ArrayLike) -> Traces:
    """What the agents `first[i]` and `second[i]` of a roster do against each other, for every i.

    Args:
        first, second: [n] whole numbers, places in `roster.agents`.

    Raises:
        GameError: other numbers, or as `modal_env.logic.provability.play`.
    """
    sides = [_checked(roster, first), _checked(roster, second)]
    if len(sides[0]) != len(sides[1]):
        raise GameError(f"{len(sides[0])} and {len(sides[1])} agents: give as many first ones as second ones")
    pairs = np.stack(sides, axis=1) + len(roster.helpers)
    found = np.empty((len(pairs), 3), np.int64)
    done, places = 0, 1 << (8 * len(pairs) + 1024).bit_length()
    while done < len(pairs):
        memo, names = (roster.known, NO_NAMES) if len(roster.known) else _hash_table(places)
        done += _play_all(roster.circuits, roster.coins, roster.rank, memo, names, pairs[done:], found[done:])
        places *= 4
    words, settles = found[:, :2].view(np.uint64), np.bitwise_count(found[:, 2]).astype(np.int64)
    cooperates = words >> np.uint64(LAST) == 1
    for number in np.flatnonzero(settles == LAST):
        settles[number] = _play_plainly(roster, pairs[number], cooperates[number], words[number])
    moves = np.where(cooperates, b"C", b"D")
    moves[roster.circuits.random[pairs]] = b"?"
    return Traces(moves, settles, words)


def _hash_table(places: int) -> tuple[Words, Words]:
    return np.zeros((places, 2), np.int64), np.full(places, -1)


def play_rows(roster: Roster) -> Iterator[Traces]:
    """For each agent of a roster, its plays against those before it and against a copy of itself, in their sequence.

    Raises:
        GameError: as `play_pairs`.
    """
    for row in range(len(roster.agents)):
        yield play_pairs(roster, np.full(row + 1, row), np.arange(row + 1))


def _checked(roster: Roster, numbers: ArrayLike) -> Words:
    found = np.asarray(numbers)
    count = len(roster.agents)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise GameError(f"pairs as {found.dtype} of shape {found.shape}: give two sequences of whole numbers")
    wrong = found[(found < 0) | (found >= count)]
    if wrong.size:
        raise GameError(f"agent {wrong[0]}: give numbers from 0 to {count - 1}, places in `roster.agents`")
    return found.astype(np.int64)


def _play_plainly(roster: Roster, pair: Words, cooperates: Flags, words: NDArray[np.uint64]) -> int:
    """Ask the plain evaluator about a pair of rows; fill in what they do and tell when it settles."""
    helpers = len(roster.helpers)
    a, b = (roster.helpers[row] if row < helpers else roster.agents[row - helpers] for row in pair)
    plays = Plays([(a, b), (b, a)])
    solution = solve(plays.equations)
    for side, number in enumerate((plays.number(a, b), plays.number(b, a))):
        if number >= 0:
            cooperates[side] = solution.value(number, solution.settles)
            words[side] = np.int64(word(solution, number)).view(np.uint64)
    return solution.settles


# The kernels. All words are int64, as numba makes floats of mixed signs. `falls` of a play is a word, too: it has a bit
# for each world before the first from which no box changes, neither its own nor one of a play that it depends on.


@njit(cache=True, nogil=True, inline="always")
def _run(steps: NDArray[np.uint32], first: int, last: int, slots: Words) -> np.int64:
    """Run a circuit on the slots; tell its falls."""
    fallen = np.int64(0)
    for i in range(first, last):
        code = np.int64(steps[i, 0])
        x, y = slots[steps[i, 1]], slots[steps[i, 2]]
        t = -(code & 1) ^ (-(code >> 1 & 1) & x) ^ (-(code >> 2 & 1) & y) ^ (-(code >> 3 & 1) & x & y)
        box = -(code >> 4)
        t ^= t + 1 & box
        slots[steps[i, 3]] = t
        fallen |= t & box & -np.int64(t != -1)
    return fallen


@njit(cache=True, nogil=True, inline="always")
def _place(memo: Words, names: Words, key: np.int64) -> np.int64:
    """Where a key stands in `memo`, or should stand; see `_play_all`."""
    if len(names) == 0:
        return key
    place = (key * np.int64(-7046029254386353131) >> 32) & (len(memo) - 1)  # Fibonacci hashing: 2**64 / golden ratio
    while names[place] != key and memo[place, 1] != 0:
        place = (place + 1) & (len(memo) - 1)
    return place


@njit(cache=True, nogil=True, inline="always")
def _keep(memo: Words, names: Words, key: np.int64, word: np.int64, falls: np.int64) -> bool:
    """Store what a play has come to; tell whether that is a new entry."""
    place = _place(memo, names, key)
    new = memo[place, 1] == 0
    memo[place, 0], memo[place, 1] = word, falls | KNOWN
    if len(names):
        names[place] = key
    return bool(new)


@njit(cache=True, nogil=True, inline="always")
def _load(
    c: Circuits, coins: Words, a: np.int64, b: np.int64, memo: Words, names: Words, stack: Words, top: int, slots: Words
) -> tuple[np.int64, int]:
    """Put what B does against the agents that A calls into A's slots; push what is not known yet onto the stack."""
    falls = np.int64(0)
    for i in range(c.first_call[a], c.first_call[a + 1]):
        slot = FIRST_CALL + i - c.first_call[a]
        helper = c.calls[i]
        if helper == COIN:
            slots[slot] = coins[b, 0]
            falls |= coins[b, 1]
            continue
        key = b * c.helpers + helper
        place = _place(memo, names, key)
        if memo[place, 1] == 0:
            stack[top, 0], stack[top, 1] = b, helper
            top += 1
        slots[slot] = memo[place, 0]
        falls |= memo[place, 1] & ~KNOWN
    return falls, top


@njit(cache=True, nogil=True, inline="always")
def _settle(
    c: Circuits, a: np.int64, b: np.int64, both: bool, slots: Words
) -> tuple[np.int64, np.int64, np.int64, np.int64]:
    """The words of A against B and of B against A, of which only A's counts without `both`; then their falls.

    Each round makes one more world right at least, as in `modal_env.logic.provability`.
    """
    word_a = word_b = np.int64(-1)
    falls_a = falls_b = np.int64(0)
    waiting_a, waiting_b = True, both
    while waiting_a or waiting_b:
        if waiting_a:
            old, slots[0, OWN], slots[0, OPPONENT] = word_a, word_a, word_b
            falls_a = _run(c.steps, c.first[a], c.first[a + 1], slots[0])
            word_a = slots[0, c.output[a]]
            waiting_a = c.own[a] and word_a != old
            waiting_b |= both and c.itself[b] and word_a != old
        if waiting_b:
            old, slots[1, OWN], slots[1, OPPONENT] = word_b, word_b, word_a
            falls_b = _run(c.steps, c.first[b], c.first[b + 1], slots[1])
            word_b = slots[1, c.output[b]]
            waiting_b = c.own[b] and word_b != old
            waiting_a |= c.itself[a] and word_b != old
    return word_a, word_b, falls_a, falls_b


@njit(cache=True, nogil=True)
def _play_all(c: Circuits, coins: Words, rank: int, memo: Words, names: Words, pairs: Words, found: Words) -> int:
    """For all pairs of rows [n, 2], fill in [n, 3]: the words of both, and their falls together.

    Args:
        memo: [places, 2], 0 at first: word and falls of plays with helpers, the latter with KNOWN. The key of a play
            is its row times the number of helpers, plus the helper. That is also its place, without `names`.
        names: [0] or, in a hash table, [places], a power of 2: the keys.

    Returns:
        How many pairs are done: fewer than all if the hash table has become half full.
    """
    rows = len(c.output)
    calls = np.int64(0)
    for row in range(rows):
        calls = max(calls, c.first_call[row + 1] - c.first_call[row])
    stack = np.empty((1 + 4 * calls * (rank + 1), 2), np.int64)  # the sum of ranks, from 2 rank, shrinks on each level
    slots = np.zeros((2, max(c.slots)), np.int64)
    count = 0
    for i in range(len(pairs)):
        stack[0, 0], stack[0, 1] = pairs[i, 0], pairs[i, 1]
        top = 0 if c.random[pairs[i, 0]] or c.random[pairs[i, 1]] else 1
        if top == 0:
            for side in range(2):
                found[i, side] = coins[pairs[i, side], 0]
            found[i, 2] = coins[pairs[i, 0], 1] | coins[pairs[i, 1], 1]
        while top:
            a, b = stack[top - 1, 0], stack[top - 1, 1]
            key = a * c.helpers + b
            if top > 1 and memo[_place(memo, names, key), 1] != 0:
                top -= 1
                continue
            both = top == 1 or c.itself[a]
            loaded_b = np.int64(0)
            loaded_a, new = _load(c, coins, a, b, memo, names, stack, top, slots[0])
            if both:
                loaded_b, new = _load(c, coins, b, a, memo, names, stack, new, slots[1])
            if new > top:
                top = new
                continue
            word_a, word_b, falls_a, falls_b = _settle(c, a, b, both, slots)
            falls = falls_a | loaded_a | falls_b | loaded_b
            top -= 1
            if top == 0:
                found[i, 0], found[i, 1], found[i, 2] = word_a, word_b, falls
                continue
            count += _keep(memo, names, key, word_a, falls)
            if len(names) and 2 * count >= len(names):
                return i
    return len(pairs)
