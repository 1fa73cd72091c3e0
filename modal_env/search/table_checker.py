"""Checks the periodic table (`modal_env.search.periodic_table`), with nothing but the standard library.

It has its own parser and its own evaluator on the chain of worlds, and shares no code with the search or with the rest
of this package, so a mistake there is not repeated here. What it checks of every game:

* The two formulas of each new outcome have this outcome against each other: []p holds at world n iff p holds at all
  worlds before n, and the moves are those of the last worlds, which stay.
* Neither player has a better reply among *all* agents of depth up to 2 whose only letter is X(me), at both ends of the
  range of epsilon; as payoffs are affine in epsilon, so also between them. A reply of depth d is a function of what a
  history shows to formulas of this depth, `view`; all functions are tried, move by move.
* No other outcome is an equilibrium of any modal agents at epsilon > 0: in an equilibrium with an outcome that is not
  one without reading, both agents have depth 1 or more, so each is paid more than any constant move guarantees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

View = object
_TOKENS = re.compile(r"\s*(\[\]|<>|<->|->|X\(me\)|true|false|[~&|()])")
_BINDING = {"<->": 1, "->": 2, "|": 3, "&": 4}
FLIPPED = {"C": "D", "D": "C"}
DEPTHS = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Formula:
    """A node: "[]", "<>", "~", "&", "|", "->", "<->", "X", "true" or "false", and the nodes below it."""

    kind: str
    parts: tuple[Formula, ...] = ()


class Parser:
    """Reads a formula: unary operators bind tightest, then &, |, ->, <->; the last two group to the right."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKENS.findall(text)
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            raise ValueError(f"not a formula: {text!r:.200}")
        self.place = 0

    def formula(self, least: int = 0) -> Formula:
        """The formula from here on, up to an operator that binds less than `least`."""
        left = self._unary()
        while self.place < len(self.tokens) and _BINDING.get(self.tokens[self.place], -1) >= least:
            op = self.tokens[self.place]
            self.place += 1
            left = Formula(op, (left, self.formula(_BINDING[op] + (op in "&|"))))
        return left

    def _unary(self) -> Formula:
        token = self.tokens[self.place]
        self.place += 1
        if token in ("[]", "<>", "~"):
            return Formula(token, (self._unary(),))
        if token == "(":
            inside = self.formula()
            self.place += 1
            return inside
        return Formula("X" if token == "X(me)" else token)


@lru_cache(maxsize=1000)
def read(text: str) -> Formula:
    """A formula as a tree.

    Raises:
        ValueError: the text is not a formula.
    """
    parser = Parser(text)
    found = parser.formula()
    if parser.place != len(parser.tokens):
        raise ValueError(f"not a formula: {text!r:.200}")
    return found


def depth(formula: Formula) -> int:
    """The deepest nesting of boxes."""
    return (formula.kind in ("[]", "<>")) + max(map(depth, formula.parts), default=0)


def holds(formula: Formula, world: int, moves: tuple[bool, ...]) -> bool:
    """Whether a formula about the opponent holds at a world, given the opponent's moves at the worlds before it."""
    kind, parts = formula.kind, formula.parts
    if kind in ("[]", "<>"):
        return _modal(formula, moves[:world])
    if kind == "X":
        return moves[world]
    values = [holds(part, world, moves) for part in parts]
    if kind in ("true", "false"):
        return kind == "true"
    if kind == "~":
        return not values[0]
    if kind == "&":
        return values[0] and values[1]
    if kind == "|":
        return values[0] or values[1]
    return (not values[0] or values[1]) if kind == "->" else values[0] == values[1]


@lru_cache(maxsize=100_000)
def _modal(formula: Formula, before: tuple[bool, ...]) -> bool:
    """Whether a box holds after some moves: at all worlds before this one. A diamond: at one of them."""
    over = all if formula.kind == "[]" else any
    return over(holds(formula.parts[0], world, before) for world in range(len(before)))


def boxes(formula: Formula) -> int:
    """The number of boxes; if two formulas have n boxes together, nothing in their play changes from world n on."""
    return (formula.kind in ("[]", "<>")) + sum(map(boxes, formula.parts))


def outcome(first: Formula, second: Formula) -> str:
    """The final moves of two agents against each other."""
    mine: tuple[bool, ...] = ()
    theirs: tuple[bool, ...] = ()
    for world in range(boxes(first) + boxes(second) + 1):
        mine, theirs = (*mine, holds(first, world, theirs)), (*theirs, holds(second, world, mine))
    return "DC"[mine[-1]] + "DC"[theirs[-1]]


@lru_cache(maxsize=100_000)
def view(history: tuple[bool, ...], level: int) -> View:
    """What a history of the opponent's moves shows to formulas of a depth: which worlds, as seen one level lower,
    occurred with which move.
    """
    if level == 0:
        return ()
    return frozenset((view(history[:n], level - 1), move) for n, move in enumerate(history))


@lru_cache(maxsize=1000)
def reachable(agent: Formula, level: int) -> frozenset[str]:
    """All outcomes of agents up to a depth against `agent`, their move first."""
    found: set[str] = set()
    todo: list[tuple[dict[View, bool], tuple[bool, ...], tuple[bool, ...]]] = [({}, (), ())]
    while todo:
        decided, own, moves = todo.pop()
        shown = view(moves, level)
        if shown not in decided:
            todo += [({**decided, shown: move}, own, moves) for move in (True, False)]
            continue
        moves_now = (*moves, holds(agent, len(own), own))
        own_now = (*own, decided[shown])
        if _is_settled(agent, level, own_now, moves_now):
            found.add("DC"[own_now[-1]] + "DC"[moves_now[-1]])
        else:
            todo.append((decided, own_now, moves_now))
    return frozenset(found)


def _is_settled(agent: Formula, level: int, own: tuple[bool, ...], moves: tuple[bool, ...]) -> bool:
    """Whether nothing changes any more: both see at the next world what they see at this one."""
    world = len(own) - 1
    if view(moves, level) != view(moves[:-1], level):
        return False
    return all(holds(box, world, own) == holds(box, world + 1, own) for box in _all_boxes(agent))


def _all_boxes(formula: Formula) -> Iterator[Formula]:
    if formula.kind in ("[]", "<>"):
        yield formula
    for part in formula.parts:
        yield from _all_boxes(part)


class CheckedGame:
    """A game of the table, from its JSON entry."""

    def __init__(self, entry: Mapping[str, object]) -> None:
        payoffs: Mapping[str, Sequence[str]] = entry["payoffs"]  # type: ignore[assignment]
        self.rows = {moves: Fraction(pair[0]) for moves, pair in payoffs.items()}
        self.columns = {moves[::-1]: Fraction(pair[1]) for moves, pair in payoffs.items()}  # own move first
        self.entry = entry

    def is_equilibrium(self, moves: str) -> bool:
        """Whether no player gains by another move."""
        seats = ((self.rows, moves), (self.columns, moves[::-1]))
        return all(paid[two] >= paid[FLIPPED[two[0]] + two[1]] for paid, two in seats)

    def exceeds_constants(self, moves: str) -> bool:
        """Whether both players are paid more than any constant move guarantees."""
        seats = ((self.rows, moves), (self.columns, moves[::-1]))
        return all(paid[two] > max(min(paid[own + other] for other in "CD") for own in "CD") for paid, two in seats)

    def faults(self) -> Iterator[str]:
        """The errors in the entry."""
        number, listed = self.entry["number"], self.entry["with_reading"]
        pure = [moves for moves in self.rows if self.is_equilibrium(moves)]
        if sorted(pure) != sorted(self.entry["without_reading"]):  # type: ignore[call-overload]
            yield f"game {number}: without reading the equilibria are {pure}"
        new = {claim["outcome"] for claim in listed}  # type: ignore[attr-defined]
        for moves in self.rows:
            possible = not self.is_equilibrium(moves) and self.exceeds_constants(moves)
            if possible != (moves in new):
                error = "possible, but not listed" if possible else "listed, but impossible"
                yield f"game {number}: {moves} is {error}"
        for claim in listed:  # type: ignore[attr-defined]
            yield from (f"game {number}, {claim['outcome']}: {fault}" for fault in self._faults(claim))

    def _faults(self, claim: Mapping[str, str | None]) -> Iterator[str]:
        moves, first, second = str(claim["outcome"]), read(str(claim["first"])), read(str(claim["second"]))
        if (played := outcome(first, second)) != moves:
            yield f"the two formulas play {played}"
        if Fraction(str(claim["low"])) < 0:
            yield "epsilon is below 0"
        epsilons = [Fraction(claim[end]) for end in ("low", "high") if claim[end] is not None]  # type: ignore[arg-type]
        seats = ((self.rows, moves, first, second), (self.columns, moves[::-1], second, first))
        for paid, two, own, other in seats:
            for level in DEPTHS:
                better = max(paid[reply] for reply in reachable(other, level))
                for epsilon in epsilons:
                    if better - level * epsilon > paid[two] - depth(own) * epsilon:
                        yield f"a reply of depth {level} gains at epsilon {epsilon}"
                if claim["high"] is None and level < depth(own):
                    yield f"there is no highest epsilon, but depth {level} costs less"


def table_faults(table: Sequence[Mapping[str, object]]) -> list[str]:
    """The errors in a periodic table, given as its JSON data; empty if there are none."""
    numbers = [entry["number"] for entry in table]
    found = [] if numbers == list(range(1, 79)) else ["the games are not numbered from 1 to 78"]
    return [*found, *(fault for entry in table for fault in CheckedGame(entry).faults())]
