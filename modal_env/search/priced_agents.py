"""All direct agents up to a given cost, each with a cheapest formula.

The cost of a formula is a sum over its nodes: a price for each node ("symbol"), for each [] or <> ("box") and for each
X(me) ("call"), as in `modal_env.games.costs`. Formulas are made from cheaper ones and compared by what they do after
every type of history of a depth (`modal_env.search.best_replies`): of those that do the same a cheapest one is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.checks import brief, whole
from modal_env.errors import GameError
from modal_env.logic.notation import Agent, parse
from modal_env.logic.syntax import ASCII, PARTS, Op
from modal_env.progress import Report, no_report
from modal_env.search.best_replies import Types

UNITS = ("symbol", "box", "call")
MAX_DEPTH = 4
MAX_COST = 20
MAX_DIGITS = 3
MOST = 2_000_000  # formulas, about 300 bytes each at depth 4
BITS = 64
LAST = 3  # so many costs report progress; each takes about this many times longer than the one before
NOT, DIAMOND, AND, OR, IMPLIES, IFF = (int(op) for op in (Op.NOT, Op.DIAMOND, Op.AND, Op.OR, Op.IMPLIES, Op.IFF))
IMPLIED = -1  # p <- q

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PricedAgents:
    """All behaviors of direct agents up to a depth and a cost, the cheapest first.

    Attributes:
        depth: greatest depth of the formulas.
        formulas: how many formulas were told apart, those with an X(me) outside all boxes included.
        costs: [n] the least cost of a formula.
        moves: [n, types] bool, the move after each type of history.
        numbers, origins: [n] each agent's number among the formulas; [formulas, 3] the operation of each formula and
            the numbers of its parts.
    """

    depth: int
    formulas: int
    costs: NDArray[np.int64]
    moves: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    origins: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.numbers)

    def agent(self, number: int) -> Agent:
        """An agent of least cost with a behavior."""
        return parse(self._text(int(self.numbers[number])))

    def _text(self, formula: int) -> str:
        op, left, right = map(int, self.origins[formula])
        if op == Op.CALL:
            return "X(me)"
        if not PARTS.get(Op(op)):
            return ASCII[Op(op)]
        if PARTS[Op(op)] == 1:
            return f"{ASCII[Op(op)]}{self._text(left)}"
        return f"({self._text(left)} {ASCII[Op(op)]} {self._text(right)})"


def priced_agents(
    prices: Mapping[str, int], most: int, depth: int = MAX_DEPTH, report: Report = no_report
) -> PricedAgents:
    """All behaviors of direct agents up to a given cost; see the module.

    Args:
        prices: of the `UNITS`, whole numbers, 0 if left out: {"symbol": 1} is the size of a formula.
        most: greatest cost, 1 to `MAX_COST`.
        depth: greatest depth of the formulas, 1 to `MAX_DEPTH`.
        report: see `modal_env.progress`.

    Raises:
        GameError: unknown units, prices that are not whole numbers from 0 or that are all 0, a number out of bounds, or
            more than `MOST` formulas, or none.
    """
    checked = _check_prices(prices)
    most, depth = whole("most", most, 1, MAX_COST), whole("depth", depth, 1, MAX_DEPTH)
    if checked[0] > most:  # a constant is one symbol
        raise GameError(f"no formula costs at most {most}: a symbol costs {checked[0]}")
    made = _Formulas(checked, all_types(depth))
    for cost in range(most + 1):
        made.add_cost(cost)
        if most - cost < LAST:
            report(float(LAST) ** (cost - most - 1))
    return made.agents()


def prices_of(text: str) -> dict[str, int]:
    """Prices written as UNIT=NUMBER,...

    Raises:
        GameError: an unknown unit, one that is given twice, or a price that is not a whole number.
    """
    found: dict[str, int] = {}
    for piece in text.split(","):
        unit, _, price = (part.strip() for part in piece.partition("="))
        if unit not in UNITS or unit in found or not price.isdecimal() or len(price) > MAX_DIGITS:
            raise GameError(f"cost {text!r:.80}: give whole prices of {', '.join(UNITS)}, such as box=1,call=2")
        found[unit] = int(price)
    return found


def _check_prices(prices: Mapping[str, int]) -> tuple[int, int, int]:
    if not isinstance(prices, Mapping) or not set(prices) <= set(UNITS):
        raise GameError(f"prices={brief(prices)}: give prices of {', '.join(UNITS)}")
    symbol, box, call = (whole(f"the price of {unit}", prices.get(unit, 0), 0) for unit in UNITS)
    if not symbol + box + call:
        raise GameError(f"prices={brief(dict(prices))}: give a price above 0")
    return symbol, box, call


def all_types(depth: int) -> Types:
    """All types of histories of a depth."""
    return Types(depth).completed()


class _Formulas:
    """Formulas by cost, in rows of bits: bit 2 t + x is the value after type t if the opponent's move is x.

    Types stand for the shortest histories that have them, so a box at one is a conjunction over the prefixes of that
    history. This is right for formulas up to the depth of the types; deeper ones are not made.
    """

    def __init__(self, prices: tuple[int, int, int], types: Types) -> None:
        self.symbol, self.box, self.call = prices
        self.depth, self.types = types.depth, types
        places = {word: number for number, word in enumerate(types.words)}
        self.before = np.array([-1, *(2 * places[word[:-1]] + word[-1] for word in types.words[1:])])
        bits = 2 * len(types.words)
        self.mask = _packed(np.ones(bits, np.bool_))
        self.rows = np.zeros((MOST, len(self.mask)), np.uint64)  # memory is only used when it is written
        self.origins = np.zeros((MOST, 3), np.int32)  # operation, left part, right part
        self.depths = np.zeros(MOST, np.int8)
        self.fresh = np.zeros(MOST, np.bool_)  # the first formula with its row
        self.places = np.full(1 << (2 * MOST - 1).bit_length(), -1, np.int32)  # open addressing
        self.count = 0
        self.first: list[int] = []  # of each cost
        odd = np.arange(bits) % 2 == 1
        self.leaves = ((Op.FALSE, np.zeros_like(self.mask)), (Op.TRUE, self.mask), (Op.CALL, _packed(odd)))

    def add_cost(self, cost: int) -> None:
        """Make all formulas of this cost, which is one more than that of the last ones."""
        self.first.append(self.count)
        for op, row in self.leaves:
            if cost == self.symbol + self.call * (op is Op.CALL):
                self._leaf(op, row)
        for op, price in (
            (Op.NOT, self.symbol),
            (Op.BOX, self.symbol + self.box),
            (Op.DIAMOND, self.symbol + self.box),
        ):
            if 0 < price <= cost:
                self._unary(op, *self._level(cost - price))
        rest = cost - self.symbol
        for left in range(0 if self.symbol else 1, rest // 2 + 1):
            if rest - left < cost:
                self._binary(*self._level(left), *self._level(rest - left))
        if not self.symbol:
            self._close()

    def _level(self, cost: int) -> tuple[int, int]:
        ends = [*self.first, self.count]
        return ends[cost], ends[cost + 1]

    def _close(self) -> None:
        """Apply what costs nothing: connectives with formulas of cost 0, and boxes if they are free."""
        done = self.first[-1]
        while done < self.count:
            low, done = done, self.count
            for op in (Op.NOT, Op.BOX, Op.DIAMOND) if not self.box else (Op.NOT,):
                self._unary(op, low, done)
            self._binary(0, self._level(0)[1], low, done)

    def _leaf(self, op: Op, row: Words) -> None:
        if _insert(row, 0, self.rows, self.depths, self.fresh, self.places, self.count):
            self.origins[self.count] = op, 0, 0
            self.count += 1

    def _unary(self, op: Op, low: int, high: int) -> None:
        self._made(_unary(int(op), low, high, self.depth, *self._store()))

    def _binary(self, low: int, high: int, other_low: int, other_high: int) -> None:
        if low < high and other_low < other_high:
            self._made(_binary(low, high, other_low, other_high, *self._store()))

    def _store(self) -> tuple[object, ...]:
        rows = self.rows, self.origins, self.depths, self.fresh, self.places
        return self.count, *rows, self.mask, self.before

    def _made(self, count: int) -> None:
        if count < 0:
            raise GameError(f"there are more than {MOST:,} formulas: give a smaller cost or depth")
        self.count = count

    def agents(self) -> PricedAgents:
        """The formulas in which every X(me) stands under a box."""
        rows = self.rows[: self.count]
        fresh = self.fresh[: self.count]
        numbers = np.flatnonzero(_boxed(rows) & fresh)
        bits = np.arange(len(self.types.words)) * 2
        moves = np.zeros((len(numbers), len(bits)), np.bool_)
        for number, bit in enumerate(bits.tolist()):
            moves[:, number] = rows[numbers, bit // BITS] >> np.uint64(bit % BITS) & np.uint64(1)
        costs = np.searchsorted(self.first, numbers, side="right") - 1
        return PricedAgents(self.depth, int(fresh.sum()), costs, moves, numbers, self.origins[: self.count].copy())


def _packed(bits: NDArray[np.bool_]) -> Words:
    padded = np.concatenate([bits, np.zeros(-len(bits) % BITS, np.bool_)])
    return np.packbits(padded, bitorder="little").view(np.uint64)


def _boxed(rows: Words) -> NDArray[np.bool_]:
    """Which rows do not depend on the opponent's move at the same world."""
    even = np.uint64(0x5555555555555555)
    return np.concatenate(
        [((part ^ part >> np.uint64(1)) & even == 0).all(axis=1) for part in np.array_split(rows, 64)]
    )


@njit(cache=True, nogil=True)
def _insert(row, depth, rows, depths, fresh, places, count):  # type: ignore[no-untyped-def]
    """Put a row at the end, unless it is there already with this depth or less; whether it was put there.

    A formula that is deeper, but costs no more, does not replace one that can still be put into a box.
    """
    key = np.uint64(0)
    for word in row:
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    last, known = np.uint64(len(places) - 1), False
    place = key & last
    while places[place] >= 0:
        if (rows[places[place]] == row).all():
            if depths[places[place]] <= depth:
                return False
            known = True
        place = (place + np.uint64(1)) & last
    places[place] = count
    rows[count], depths[count], fresh[count] = row, depth, not known
    return True


@njit(cache=True, nogil=True)
def _unary(op, low, high, depth, count, rows, origins, depths, fresh, places, mask, before):  # type: ignore[no-untyped-def]
    """Add ~p, []p or <>p for the formulas of a range; returns how many formulas there are then, -1 if too many."""
    row = np.zeros_like(mask)
    for number in range(low, high):
        modal = op != NOT
        if modal and depths[number] == depth:
            continue
        if count == len(rows):
            return -1
        if modal:
            _fill_box(rows[number], op == DIAMOND, before, row)
        else:
            row[:] = ~rows[number] & mask
        if _insert(row, depths[number] + modal, rows, depths, fresh, places, count):
            origins[count, 0], origins[count, 1], origins[count, 2] = op, number, 0
            count += 1
    return count


@njit(cache=True, nogil=True)
def _fill_box(given, negated, before, row):  # type: ignore[no-untyped-def]
    """Write []p into a row; <>p, which is ~[]~p, if negated."""
    row[:] = 0
    holds = np.ones(len(before), np.bool_)
    for kind in range(len(before)):
        bit = before[kind]
        if kind:
            holds[kind] = holds[bit >> 1] and (given[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1) == 1) != negated
        if holds[kind] != negated:
            row[kind >> 5] |= np.uint64(3) << np.uint64(2 * kind & 63)


@njit(cache=True, nogil=True)
def _binary(low, high, other_low, other_high, count, rows, origins, depths, fresh, places, mask, before):  # type: ignore[no-untyped-def]
    """Add all that connectives make of two formulas, one of each range."""
    row = np.zeros_like(mask)
    same = low == other_low and high == other_high
    for one in range(low, high):
        for other in range(one if same else other_low, other_high):
            for op in (AND, OR, IFF, IMPLIES, IMPLIED):
                if count == len(rows):
                    return -1
                _join(op, rows[one], rows[other], mask, row)
                if _insert(row, max(depths[one], depths[other]), rows, depths, fresh, places, count):
                    turned = op == IMPLIED
                    origins[count, 0] = IMPLIES if turned else op
                    origins[count, 1], origins[count, 2] = (other, one) if turned else (one, other)
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _join(op, one, other, mask, row):  # type: ignore[no-untyped-def]
    for k in range(len(row)):
        if op == AND:
            row[k] = one[k] & other[k]
        elif op == OR:
            row[k] = one[k] | other[k]
        elif op == IFF:
            row[k] = ~(one[k] ^ other[k]) & mask[k]
        elif op == IMPLIES:
            row[k] = (~one[k] | other[k]) & mask[k]
        else:
            row[k] = (one[k] | ~other[k]) & mask[k]
