"""Many plays at once, compiled: the values of a play over the worlds 0 to 63 are the bits of a machine word.

`compile_agents` turns a set of agents, with those that they call, into flat arrays; `play_pairs` plays any pairs of
them. The worlds are those of `modal_env.provability`, whose evaluator this one must agree with, and to which it hands
over what takes more than 64 worlds. With t the values of p as bits, world 0 the lowest, []p is t ^ (t + 1).

A formula becomes a circuit. A step takes two values x and y to c0 ^ c1 x ^ c2 y ^ c3 x y, and says whether a box is
around that. These are all the connectives there are, negations of x, y and the result included, so a step needs no
branches; DIAMOND is ~[]~. The steps of a circuit read and write numbered slots:

    0           false
    1, 2        what the agent does, what the opponent does: `me`, X(me)
    3 ...       X(H) for the agents H that are called, in the sequence of `Agent.called`
    then        the boxes, then everything else

All that stands under boxes comes first, then the steps of what stands above them.

X on a helper needs the opponent's play against that helper, which may need further ones. The value of an agent A
against B depends on that of B against A if A says X(me), and otherwise only on plays in which the ranks (the longest
ways down from helper to helper) have a smaller sum. So there are no circles but those two values in one another. A play
with a helper is found when it is first needed, and kept for the rest of a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from modal_env.errors import GameError
from modal_env.formula import Agent, Op
from modal_env.provability import Plays, Solution, solve

LAST = 63  # world; what has not settled before it is handed over
UNKNOWN = (1 << LAST) - 1  # the `boxes` of such a play
BOX = 16  # in a step's code, above c0 to c3
OWN, OPPONENT, FIRST_CALL = 1, 2, 3  # slots
COIN = -1  # in place of a helper's row: RandomBot
# Plain integers, which compare faster than members of an enumeration.
CODE_NOT, CODE_BOX, CODE_DIAMOND, CODE_CALL = int(Op.NOT), int(Op.BOX), int(Op.DIAMOND), int(Op.CALL)
CODE_AND, CODE_OR, CODE_IMPLIES, CODE_ME, CODE_COIN = int(Op.AND), int(Op.OR), int(Op.IMPLIES), int(Op.ME), int(Op.COIN)

Words = NDArray[np.int64]
Step = tuple[int, int, int, int]


class Circuits(NamedTuple):
    """The circuits of some agents, one a row, in flat arrays.

    Attributes:
        steps: [all steps, 4] int32: code (c0 to c3, BOX as bits), slots of x and y, and the slot of the result.
        first: [rows + 1] int64, where a row's steps begin in `steps`.
        above: [rows] int64, where those begin that stand above all boxes.
        calls: [all calls] int32, the rows of the agents called, COIN for RandomBot.
        first_call: [rows + 1] int64, where a row's calls begin in `calls`.
        boxes, slots, output: [rows] int32, the numbers of boxes and slots, and the slot with the agent's value.
        own, itself: [rows] bool, whether `me` and X(me) occur.
        random: [rows] bool, whether this is RandomBot; its circuit says false, which nobody may rely on.
    """

    steps: NDArray[np.int32]
    first: Words
    above: Words
    calls: NDArray[np.int32]
    first_call: Words
    boxes: NDArray[np.int32]
    slots: NDArray[np.int32]
    output: NDArray[np.int32]
    own: NDArray[np.bool_]
    itself: NDArray[np.bool_]
    random: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Roster:
    """A set of agents that is ready to play.

    Attributes:
        helpers: all agents that somebody calls, without RandomBot, each after those that it calls. They are rows 0, 1,
            ... of all arrays.
        agents: those given, which are the rows behind them.
        circuits: of all rows.
        coins: [rows, 2] int64, of each against RandomBot its values and `boxes`, see the kernels.
        rank: the longest way down from helper to helper.
    """

    helpers: tuple[Agent, ...]
    agents: tuple[Agent, ...]
    circuits: Circuits
    coins: Words
    rank: int


class Traces(NamedTuple):
    """What pairs of agents do.

    Attributes:
        moves: [n, 2] bytes, b"C", b"D" or, of RandomBot, b"?".
        settles: [n] int64, first world from which nothing changes, as in `modal_env.provability.Outcome`.
        words: [n, 2] uint64, bit w says whether the agent cooperates at world w, up to world 63. 0 of RandomBot.
    """

    moves: NDArray[np.bytes_]
    settles: Words
    words: NDArray[np.uint64]


def compile_agents(agents: Iterable[Agent]) -> Roster:
    """Make agents ready to play.

    Raises:
        GameError: something else than agents.
    """
    players = tuple(agents)
    for agent in players:
        if not isinstance(agent, Agent):
            raise GameError(f"{agent!r:.80} is no agent: give one of the library, or parse('[]X(me)')")
    ranks = _ranks(players)
    helpers = tuple(agent for agent in ranks if not agent.is_random)
    everyone = (*helpers, *players)
    rows = {helper: row for row, helper in enumerate(helpers)}
    coin = any(agent.is_random for agent in (*ranks, *players))
    coins = _against_coin(everyone) if coin else np.zeros((len(everyone), 2), np.int64)
    return Roster(helpers, players, _circuits(everyone, rows), coins, 1 + max(ranks.values(), default=-1))


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
                found[row] = _word(solution, 0), (1 << min(solution.settles, LAST)) - 1
    return found


def _word(solution: Solution, number: int) -> int:
    """The values at the worlds of a word, as the bits of a signed number."""
    word = sum(solution.value(number, world) << world for world in range(LAST + 1))
    return word - (word >> LAST << LAST + 1)


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

    def steps(self) -> list[Step]:
        """All steps, with the slots that they have in the end."""
        last = self.first_box + self.boxes - 1
        return [
            (code, *(last - slot if slot < 0 else slot for slot in slots))  # type: ignore[misc]
            for code, *slots in (*self.below, *self.above)
        ]


def _circuits(agents: Sequence[Agent], rows: dict[Agent, int]) -> Circuits:
    """The circuits of agents; `rows` tells those of helpers."""
    built = [_Builder(agent) for agent in agents]
    steps = [one.steps() for one in built]
    calls = [[rows.get(called, COIN) for called in agent.called] for agent in agents]
    first = _starts([len(some) for some in steps])
    slots = np.array([one.first_box + one.boxes - one.temporary for one in built], np.int32)
    output = [one.output if one.output >= 0 else one.first_box + one.boxes - 1 - one.output for one in built]
    return Circuits(
        steps=np.array([step for some in steps for step in some], np.int32).reshape(-1, 4),
        first=first,
        above=first[1:] - np.array([len(one.above) for one in built], np.int64),
        calls=np.array([row for some in calls for row in some], np.int32),
        first_call=_starts([len(some) for some in calls]),
        boxes=np.array([one.boxes for one in built], np.int32),
        slots=slots,
        output=np.array(output, np.int32),
        own=np.array([CODE_ME in agent.program for agent in agents], np.bool_),
        itself=np.array([agent.calls_itself for agent in agents], np.bool_),
        random=np.array([agent.is_random for agent in agents], np.bool_),
    )


def _starts(lengths: Sequence[int]) -> Words:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def play_pairs(roster: Roster, first: ArrayLike, second: ArrayLike) -> Traces:
    """What the agents `first[i]` and `second[i]` of a roster do against each other, for every i.

    Args:
        first, second: [n] whole numbers, places in `roster.agents`.

    Raises:
        GameError: other numbers, or as `modal_env.provability.play`.
    """
    pairs = np.stack([_checked(roster, first), _checked(roster, second)], axis=1)
    pairs += len(roster.helpers)
    found = np.empty((len(pairs), 3), np.int64)
    _play_all(roster.circuits, roster.coins, roster.rank, pairs, found)
    words, settles = found[:, :2].view(np.uint64), np.bitwise_count(found[:, 2]).astype(np.int64)
    cooperates = words >> np.uint64(LAST) == 1
    for number in np.flatnonzero(settles == LAST):
        settles[number] = _play_plainly(roster, pairs[number], cooperates[number], words[number])
    moves = np.where(cooperates, b"C", b"D")
    moves[roster.circuits.random[pairs]] = b"?"
    return Traces(moves, settles, words)


def _checked(roster: Roster, numbers: ArrayLike) -> Words:
    found = np.asarray(numbers)
    count = len(roster.agents)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise GameError(f"pairs as {found.dtype} of shape {found.shape}: give two sequences of whole numbers")
    wrong = found[(found < 0) | (found >= count)]
    if wrong.size:
        raise GameError(f"agent {wrong[0]}: give numbers from 0 to {count - 1}, places in `roster.agents`")
    return found.astype(np.int64)


def _play_plainly(roster: Roster, pair: Words, cooperates: NDArray[np.bool_], words: NDArray[np.uint64]) -> int:
    """Ask the plain evaluator about a pair of rows; fill in what they do and tell when it settles."""
    everyone = (*roster.helpers, *roster.agents)
    a, b = (everyone[row] for row in pair)
    plays = Plays([(a, b), (b, a)])
    solution = solve(plays.equations)
    for side, number in enumerate((plays.number(a, b), plays.number(b, a))):
        if number >= 0:
            cooperates[side] = solution.value(number, solution.settles)
            words[side] = np.int64(_word(solution, number)).view(np.uint64)
    return solution.settles


# The kernels. All words are int64, as numba makes floats of mixed signs. What `boxes` says of a play is a word, too: a
# bit for every world before the last at which a box of it, or of a play that it depends on, turns false.


@njit(cache=True, nogil=True)
def _run(steps: NDArray[np.int32], first: int, last: int, slots: Words) -> int:
    """Run a circuit on the slots; the bits of the boxes that turn false within the worlds of a word."""
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


@njit(cache=True, nogil=True)
def _place(memo: Words, key: int) -> int:
    """Where a key stands in the hash table `memo`, or should stand; keys are from 1, and 0 is no entry."""
    place = (key * np.int64(-7046029254386353131) >> 32) & (len(memo) - 1)  # Fibonacci hashing: 2**64 / golden ratio
    while memo[place, 0] != key and memo[place, 0] != 0:
        place = (place + 1) & (len(memo) - 1)
    return place


@njit(cache=True, nogil=True)
def _keep(memo: Words, count: int, key: int, word: int, boxes: int) -> tuple[Words, int]:
    """Store what a play has come to; the table, a larger one if it is half full, and the number of entries."""
    place = _place(memo, key)
    count += memo[place, 0] == 0
    memo[place, 0], memo[place, 1], memo[place, 2] = key, word, boxes
    if 2 * count > len(memo):
        larger = np.zeros((4 * len(memo), 4), np.int64)
        for i in range(len(memo)):
            if memo[i, 0]:
                larger[_place(larger, memo[i, 0])] = memo[i]
        memo = larger
    return memo, count


@njit(cache=True, nogil=True)
def _load(
    c: Circuits, coins: Words, a: int, b: int, memo: Words, stack: Words, top: int, slots: Words
) -> tuple[int, int]:
    """Put what B does against the agents that A calls into A's slots; push what is not known yet onto the stack."""
    boxes = np.int64(0)
    rows = len(c.output)
    for i in range(c.first_call[a], c.first_call[a + 1]):
        slot = FIRST_CALL + i - c.first_call[a]
        helper = c.calls[i]
        if helper == COIN:
            slots[slot] = coins[b, 0]
            boxes |= coins[b, 1]
            continue
        key = b * rows + helper + 1
        place = _place(memo, key)
        if memo[place, 0] == 0:
            stack[top, 0], stack[top, 1] = b, helper
            top += 1
        slots[slot] = memo[place, 1]
        boxes |= memo[place, 2]
    return boxes, top


@njit(cache=True, nogil=True)
def _settle(c: Circuits, a: int, b: int, both: bool, slots: Words) -> tuple[int, int, int, int]:
    """The words of A against B and of B against A, of which only A's counts without `both`; then their boxes.

    Each round makes one more world right at least, as in `modal_env.provability`.
    """
    words_a = words_b = np.int64(-1)
    boxes_a = boxes_b = np.int64(0)
    waiting_a, waiting_b = True, both
    while waiting_a or waiting_b:
        if waiting_a:
            old, slots[0, OWN], slots[0, OPPONENT] = words_a, words_a, words_b
            boxes_a = _run(c.steps, c.first[a], c.first[a + 1], slots[0])
            words_a = slots[0, c.output[a]]
            waiting_a = c.own[a] and words_a != old
            waiting_b |= both and c.itself[b] and words_a != old
        if waiting_b:
            old, slots[1, OWN], slots[1, OPPONENT] = words_b, words_b, words_a
            boxes_b = _run(c.steps, c.first[b], c.first[b + 1], slots[1])
            words_b = slots[1, c.output[b]]
            waiting_b = c.own[b] and words_b != old
            waiting_a |= c.itself[a] and words_b != old
    return words_a, words_b, boxes_a, boxes_b


@njit(cache=True, nogil=True)
def _play_stack(
    c: Circuits, coins: Words, stack: Words, top: int, slots: Words, memo: Words, count: int
) -> tuple[Words, int]:
    """Find the plays with helpers on the stack, and those that they depend on; the table and its number of entries."""
    rows = len(c.output)
    while top:
        a, b = stack[top - 1, 0], stack[top - 1, 1]
        key = a * rows + b + 1
        if memo[_place(memo, key), 0] == key:
            top -= 1
            continue
        both = c.itself[a]
        loaded_a, new = _load(c, coins, a, b, memo, stack, top, slots[0])
        loaded_b = np.int64(0)
        if both:
            loaded_b, new = _load(c, coins, b, a, memo, stack, new, slots[1])
        if new > top:
            top = new
            continue
        words_a, words_b, boxes_a, boxes_b = _settle(c, a, b, both, slots)
        boxes_a, boxes_b = boxes_a | loaded_a, boxes_b | loaded_b
        memo, count = _keep(memo, count, key, words_a, boxes_a | boxes_b)
        if both:
            boxes = boxes_a | boxes_b if c.itself[b] else boxes_b
            memo, count = _keep(memo, count, b * rows + a + 1, words_b, boxes)
        top -= 1
    return memo, count


@njit(cache=True, nogil=True)
def _play_all(c: Circuits, coins: Words, rank: int, pairs: Words, found: Words) -> None:
    """For all pairs of rows [n, 2], fill in [n, 3]: the words of both, and their boxes together."""
    calls = np.int64(0)
    for row in range(len(c.output)):
        calls = max(calls, c.first_call[row + 1] - c.first_call[row])
    stack = np.empty((4 * calls * (rank + 1), 2), np.int64)  # the sum of ranks, at most 2 rank, shrinks with each level
    slots = np.zeros((2, max(c.slots)), np.int64)
    memo, count = np.zeros((1024, 4), np.int64), 0
    for i in range(len(pairs)):
        a, b = pairs[i]
        if c.random[a] or c.random[b]:
            found[i, 0] = coins[a, 0]
            found[i, 1] = coins[b, 0]
            found[i, 2] = coins[a, 1] | coins[b, 1]
            continue
        top = 1
        while top:
            loaded_a, top = _load(c, coins, a, b, memo, stack, 0, slots[0])
            loaded_b, top = _load(c, coins, b, a, memo, stack, top, slots[1])
            memo, count = _play_stack(c, coins, stack, top, slots, memo, count)
        words_a, words_b, boxes_a, boxes_b = _settle(c, a, b, True, slots)
        found[i, 0], found[i, 1] = words_a, words_b
        found[i, 2] = boxes_a | boxes_b | loaded_a | loaded_b
