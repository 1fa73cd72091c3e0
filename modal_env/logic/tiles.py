"""All plays of a large set of agents, compiled: 512 opponents side by side, a bit each.

The rows of a roster are cut into blocks of 512. What the agents of two blocks do against each other is a tile. There
a row's agent is evaluated against the 512 opponents of the other block at once, with a bit of `LANES` machine words
for each of them; and all agents world by world from world 0, until nothing changes any more, however many worlds that
takes. What the opponents do against an agent is what their own rows say, transposed.

A box is true at first, and stays true as long as what it is about is true; nothing else has to be kept from world to
world. An agent is evaluated again only where something that its value follows from has changed.

X on a helper needs the opponents' plays against that helper. Helpers are the first rows, each after those that it
calls, in blocks of their own, so their plays are found in earlier tiles or in the same one. What was done against the
helpers of a tile at each of its worlds is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.errors import GameError
from modal_env.logic.circuits import (
    COIN,
    FIRST_CALL,
    LAST,
    OPPONENT,
    OWN,
    UNKNOWN,
    Circuits,
    Flags,
    Roster,
    Words,
    compile_agents,
)
from modal_env.logic.notation import Agent
from modal_env.logic.traces import play_rows

# Of what the kernels take from `modal_env.logic.circuits`: numba's cache sees changes of this file only.
CIRCUITS_DIGEST = "207f8a8865cab11c"
LANES = 8  # words
BLOCK = 64 * LANES  # agents


def cooperation(agents: Iterable[Agent]) -> NDArray[Any]:
    """[n, n], of the row's agent against the column's, as `modal_env.logic.tournaments.Tournament.cooperates`.

    Raises:
        GameError: what is given are no agents, or as `modal_env.logic.provability.play`.
    """
    roster = compile_agents(agents)
    count = len(roster.agents)
    if not _fits(roster):
        return _pair_by_pair(roster)
    bits = packed(roster).astype("<u8").view(np.uint8)
    found: NDArray[Any] = np.unpackbits(bits, axis=1, count=count, bitorder="little").view(np.bool_)
    random = _random(roster)
    if random.any():
        found = found.astype(np.float64)
        found[:, random] = roster.coins[len(roster.helpers) :, :1] < 0  # the sign is the bit of the last world
        found[random] = 0.5
    return found


def packed(roster: Roster) -> NDArray[np.uint64]:
    """Who cooperates with whom, a bit a pair. Rows and columns of RandomBot mean nothing.

    Returns:
        [n, n / 64, rounded up]: bit c % 64 of word c // 64 in row r says whether agent r cooperates with agent c. Bits
        from n on are 0.

    Raises:
        GameError: RandomBot takes part, and somebody's play with it takes more than 62 worlds, or is impossible.
    """
    if not _fits(roster):
        raise GameError("a play with RandomBot takes too many worlds or agents: use `cooperation`")
    plan, count = _plan(roster), len(roster.agents)
    first = plan.helper_blocks
    bits = np.zeros((len(plan.begin) - first, BLOCK, len(plan.begin) - first, LANES), np.int64)
    for blocks, value in _play(roster, plan):
        for side, block in enumerate(blocks):
            if blocks[0] >= first:
                bits[block - first, :, blocks[-1 - side] - first] = value[side]
    words = bits.view(np.uint64).reshape(len(bits) * BLOCK, len(bits) * LANES)[:count, : -(-count // 64)]
    if count % 64:
        words[:, -1] &= np.uint64((1 << count % 64) - 1)
    return words


def _play(roster: Roster, plan: Plan) -> Iterator[tuple[Words, Words]]:
    """For every tile: its blocks, [2] or [1], and what the rows of these do, [2, BLOCK, LANES]."""
    count, used = len(plan.begin), 0
    work = _work(roster.circuits, plan)
    table = np.zeros((3, count, count), np.int64)
    kept = Kept(table[0], table[1], table[2], np.zeros((4 * BLOCK, LANES), np.int64))
    for first in range(count):
        for second in range(first, count):
            blocks = np.array([first, second] if first < second else [first])
            _make_room(plan, kept, blocks, used)
            until = int(kept.last[: plan.helper_blocks, blocks].max(initial=0))
            while (done := _play_tile(roster.circuits, plan, kept, work, blocks, until, used)) < 0:
                kept = kept._replace(words=np.concatenate([kept.words, np.zeros_like(kept.words)]))
            used = done
            yield blocks, work.value


def _make_room(plan: Plan, kept: Kept, blocks: Words, used: int) -> None:
    """Say where a tile keeps what is done against its helpers."""
    step = 0
    for block, other in zip(blocks, blocks[::-1], strict=True):
        kept.at[block, other] = used + step
        step += int(plan.size[block]) if block < plan.helper_blocks else 0
    kept.step[blocks, blocks[::-1]] = step


def _fits(roster: Roster) -> bool:
    """Whether all plays with RandomBot, if any, are known."""
    return not (roster.coins[:, 1] == UNKNOWN).any()


def _random(roster: Roster) -> Flags:
    return roster.circuits.random[len(roster.helpers) :]


def _pair_by_pair(roster: Roster) -> NDArray[Any]:
    """`cooperation` without tiles."""
    count = len(roster.agents)
    found = np.zeros((count, count))
    for row, played in enumerate(play_rows(roster)):
        chances = (played.moves == b"C") + 0.5 * (played.moves == b"?")
        found[row, : row + 1], found[: row + 1, row] = chances.T
    return found if _random(roster).any() else found.astype(np.bool_)


class Plan(NamedTuple):
    """What tiles need to know besides the circuits.

    Attributes:
        begin, size: [blocks] int64, the first row of a block, and how many it has.
        helper_blocks: how many blocks have helpers; they come first.
        first_box: [rows + 1] int64, running numbers of boxes.
        deep: [rows] bool, whether boxes follow from boxes, or from `me`, and not from X(.) alone.
        coins: [64, blocks, LANES] int64, at each world, what the rows of a block do against RandomBot.
        coin_last: the last world at which that changes.
    """

    begin: Words
    size: Words
    helper_blocks: int
    first_box: Words
    deep: Flags
    coins: Words
    coin_last: int


class Work(NamedTuple):
    """What a tile is worked out in. Side 0 is the rows of its first block against the second one, side 1 the other way
    round; a block against itself has side 0 only.

    Attributes:
        value, seen: [2, BLOCK, LANES] int64, what the rows of a side do, and what their opponents do against them.
        value_moved, seen_moved, boxes_moved: [2, BLOCK] bool, whether that, or the boxes, differ from the world before.
        states: [boxes of both sides, LANES] int64.
        slots: [largest number of slots, LANES] int64.
        square: [64, LANES] int64, for transposing.
    """

    value: Words
    seen: Words
    value_moved: Flags
    seen_moved: Flags
    boxes_moved: Flags
    states: Words
    slots: Words
    square: Words


class Kept(NamedTuple):
    """What was done against helpers.

    Attributes:
        at, step, last: [blocks, blocks] int64. What block m did against the first helper of block k at world 0 stands
            at at[k, m], other helpers follow; and so at each next world, `step` later, up to world `last`, the values
            of which stay.
        words: [capacity, LANES] int64.
    """

    at: Words
    step: Words
    last: Words
    words: Words


def _work(c: Circuits, plan: Plan) -> Work:
    boxes = plan.first_box[plan.begin + plan.size] - plan.first_box[plan.begin]
    flags, value = np.zeros((3, 2, BLOCK), np.bool_), np.zeros((2, 2, BLOCK, LANES), np.int64)
    lengths = 2 * boxes.max(initial=0), c.slots.max(initial=0), 64
    return Work(*value, *flags, *(np.zeros((length, LANES), np.int64) for length in lengths))


def _plan(roster: Roster) -> Plan:
    helpers, rows = len(roster.helpers), len(roster.helpers) + len(roster.agents)
    begin = np.array([*range(0, helpers, BLOCK), *range(helpers, rows, BLOCK)], np.int64)
    return Plan(
        begin=begin,
        size=np.diff(begin, append=rows).astype(np.int64),
        helper_blocks=-(-helpers // BLOCK),
        first_box=np.concatenate([[0], np.cumsum(roster.circuits.boxes)]).astype(np.int64),
        deep=_deep(roster.circuits),
        coins=_coins(roster.coins[:, 0], begin),
        coin_last=int(np.bitwise_count(roster.coins[:, 1]).max(initial=0)),
    )


def _deep(c: Circuits) -> Flags:
    """`Plan.deep`."""
    row = np.repeat(np.arange(len(c.output)), np.diff(c.first))
    first_box = (FIRST_CALL + np.diff(c.first_call))[row]
    read = c.steps[:, 1:3].astype(np.int64)
    boxes = ((read >= first_box[:, None]) & (read < (first_box + c.boxes[row])[:, None])).any(axis=1)
    deep = c.own.copy()
    deep[row[boxes & (np.arange(len(row)) < c.above[row])]] = True
    return deep


def _coins(words: Words, begin: Words) -> Words:
    """`Plan.coins`, from everybody's values against RandomBot as bits."""
    bits = np.zeros((len(begin), BLOCK, LAST + 1), np.uint8)
    for block, some in enumerate(np.split(words, begin[1:]) if len(begin) else []):
        bits[block, : len(some)] = np.unpackbits(some.astype("<i8")[:, None].view(np.uint8), axis=1, bitorder="little")
    lanes = np.packbits(bits.transpose(2, 0, 1), axis=2, bitorder="little")
    return np.ascontiguousarray(lanes).view("<i8").astype(np.int64)


# The kernels. All words are int64, as numba makes floats of mixed signs.


@njit(cache=True, nogil=True, inline="always")
def _run(
    steps: NDArray[np.uint32], first: int, last: int, slots: Words, first_box: int, states: Words, at: int
) -> bool:
    """Run a part of a circuit at one world; the states of its boxes, from `at`, become those at the next world.

    Returns:
        Whether a box has changed.
    """
    moved = np.int64(0)
    for i in range(first, last):
        code = np.int64(steps[i, 0])
        x, y, to = steps[i, 1], steps[i, 2], np.int64(steps[i, 3])
        c0, c1, c2, c3 = -(code & 1), -(code >> 1 & 1), -(code >> 2 & 1), -(code >> 3 & 1)
        if code >> 4:
            box = at + to - first_box
            for lane in range(LANES):
                p, q = slots[x, lane], slots[y, lane]
                old = states[box, lane]
                new = old & (c0 ^ (c1 & p) ^ (c2 & q) ^ (c3 & p & q))
                states[box, lane] = new
                moved |= old ^ new
        else:
            for lane in range(LANES):
                p, q = slots[x, lane], slots[y, lane]
                slots[to, lane] = c0 ^ (c1 & p) ^ (c2 & q) ^ (c3 & p & q)
    return bool(moved != 0)


@njit(cache=True, nogil=True)
def _transpose(
    value: Words, moved: Flags, seen: Words, seen_moved: Flags, square: Words, side: int, other: int
) -> None:
    """Show what the rows of a side do to their opponents; the arrays are those of `Work`.

    LANES squares of 64 x 64 bits at a time, by exchange of ever smaller squares (Warren, Hacker's Delight, 7-3).
    """
    for i in range(BLOCK):
        seen_moved[other, i] = False
    for group in range(LANES):
        any_moved = False
        for i in range(64):
            any_moved = any_moved or moved[side, 64 * group + i]
        if not any_moved:
            continue
        for i in range(64):
            for lane in range(LANES):
                square[i, lane] = value[side, 64 * group + i, lane]
        width, mask = 32, np.int64(0xFFFFFFFF)
        while width:
            for i in range(64):
                if i & width == 0:
                    for lane in range(LANES):
                        swap = (square[i, lane] >> width ^ square[i + width, lane]) & mask
                        square[i, lane] ^= swap << width
                        square[i + width, lane] ^= swap
            width >>= 1
            mask ^= mask << width
        for lane in range(LANES):
            for i in range(64):
                if seen[other, 64 * lane + i, group] != square[i, lane]:
                    seen[other, 64 * lane + i, group] = square[i, lane]
                    seen_moved[other, 64 * lane + i] = True


@njit(cache=True, nogil=True)
def _next_world(c: Circuits, p: Plan, k: Kept, w: Work, side: int, block: int, other: int, world: int) -> bool:
    """Evaluate the rows of a side at a world, which gives their boxes and values at the next one.

    Before world 0 there are no boxes to be found.

    Returns:
        Whether there was any row to evaluate.
    """
    calls, first_call, steps, first, above, boxes = c.calls, c.first_call, c.steps, c.first, c.above, c.boxes
    value, seen, slots, states, kept = w.value, w.seen, w.slots, w.states, k.words
    value_moved, seen_moved, boxes_moved = w.value_moved, w.seen_moved, w.boxes_moved
    begin, first_box = p.begin[block], p.first_box
    active = False
    for i in range(p.size[block]):
        row = begin + i
        moved = np.int64(world < 1 or (p.deep[row] and boxes_moved[side, i]) or (c.itself[row] and seen_moved[side, i]))
        value_moved[side, i] = False
        boxes_moved[side, i] = False
        for call in range(first_call[row], first_call[row] if moved else first_call[row + 1]):
            helper = np.int64(calls[call])
            home = helper // BLOCK
            if helper == COIN:
                moved |= world <= p.coin_last
            elif home == block:
                moved |= seen_moved[side, helper % BLOCK]
            elif world <= k.last[home, other]:
                now = k.at[home, other] + world * k.step[home, other] + helper % BLOCK
                for lane in range(LANES):
                    moved |= kept[now, lane] ^ kept[now - k.step[home, other], lane]
        if moved == 0:
            continue
        active = True
        for lane in range(LANES):
            slots[OWN, lane] = value[side, i, lane]
            slots[OPPONENT, lane] = seen[side, i, lane]
        box = FIRST_CALL + first_call[row + 1] - first_call[row]
        for slot in range(FIRST_CALL, box):
            helper = np.int64(calls[first_call[row] + slot - FIRST_CALL])
            home = helper // BLOCK
            if helper == COIN:
                for lane in range(LANES):
                    slots[slot, lane] = p.coins[min(max(world, 0), LAST), other, lane]
            elif home == block:
                for lane in range(LANES):
                    slots[slot, lane] = seen[side, helper % BLOCK, lane]
            else:
                now = k.at[home, other] + min(max(world, 0), k.last[home, other]) * k.step[home, other] + helper % BLOCK
                for lane in range(LANES):
                    slots[slot, lane] = kept[now, lane]
        at = side * (len(states) // 2) + first_box[row] - first_box[begin]
        for part in range(world < 0, 2):
            for number in range(boxes[row]):
                for lane in range(LANES):
                    slots[box + number, lane] = states[at + number, lane]
            start = above[row] if part else first[row]
            last = first[row + 1] if part else above[row]
            if _run(steps, start, last, slots, box, states, at):
                boxes_moved[side, i] = True
        moved = np.int64(0)
        for lane in range(LANES):
            new = slots[c.output[row], lane]
            moved |= new ^ value[side, i, lane]
            value[side, i, lane] = new
        value_moved[side, i] = moved != 0
    return active


@njit(cache=True, nogil=True)
def _play_tile(c: Circuits, p: Plan, k: Kept, w: Work, blocks: NDArray[np.int64], until: int, used: int) -> int:
    """Play two blocks against each other; afterwards `w.value` is what they do.

    Args:
        blocks: [sides].
        until: the last world at which anything changes in the tiles of helpers that this one depends on.
        used: how much of `k.words` is in use.

    Returns:
        How much is in use now; -1 if there is too little of it.
    """
    sides, step = len(blocks), k.step[blocks[0], blocks[-1]]
    w.value.fill(0)
    w.seen.fill(0)
    w.states.fill(-1)
    w.value_moved.fill(False)
    world, active = np.int64(-1), True
    while active:
        if world >= 0:
            if used + step > len(k.words):
                return -1
            used += step
            for side in range(sides):
                _transpose(w.value, w.value_moved, w.seen, w.seen_moved, w.square, side, sides - 1 - side)
            for side in range(sides):
                block, other = blocks[side], blocks[sides - 1 - side]
                k.last[block, other] = world
                at = k.at[block, other] + world * step
                for i in range(p.size[block] if block < p.helper_blocks else 0):
                    for lane in range(LANES):
                        k.words[at + i, lane] = w.seen[side, i, lane]
        active = bool(world < until)
        for side in range(sides):
            active |= bool(_next_world(c, p, k, w, side, int(blocks[side]), int(blocks[sides - 1 - side]), int(world)))
        world += 1
    return used
