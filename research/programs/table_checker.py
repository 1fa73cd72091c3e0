"""Checks the periodic table of `periodic-table.json`, with nothing but the standard library.

It has its own parser and its own evaluator on the chain of worlds, and shares no code with the search or with
modal_env, so a mistake there is not repeated here. What it checks of every game:

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
from typing import Any

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


@lru_cache(maxsize=1000)
def read(text: str) -> Formula:
    """A formula as a tree: unary operators bind tightest, then &, |, ->, <->; the last two group to the right."""
    tokens = _TOKENS.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"not a formula: {text!r:.200}")
    tokens.reverse()
    found = _formula(tokens, 0)
    if tokens:
        raise ValueError(f"not a formula: {text!r:.200}")
    return found


def _formula(tokens: list[str], least: int) -> Formula:
    """The formula at the end of the reversed tokens, up to an operator that binds less than `least`."""
    left = _unary(tokens)
    while tokens and _BINDING.get(tokens[-1], -1) >= least:
        op = tokens.pop()
        left = Formula(op, (left, _formula(tokens, _BINDING[op] + (op in "&|"))))
    return left


def _unary(tokens: list[str]) -> Formula:
    token = tokens.pop()
    if token in ("[]", "<>", "~"):
        return Formula(token, (_unary(tokens),))
    if token == "(":
        inside = _formula(tokens, 0)
        tokens.pop()
        return inside
    return Formula("X" if token == "X(me)" else token)


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


def entry_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """The errors in the entry of a game."""
    rows = {moves: Fraction(pair[0]) for moves, pair in entry["payoffs"].items()}
    columns = {moves[::-1]: Fraction(pair[1]) for moves, pair in entry["payoffs"].items()}  # own move first
    new = {claim["outcome"] for claim in entry["with_reading"]}
    pure = set()
    for moves in rows:
        seats = ((rows, moves), (columns, moves[::-1]))
        if all(paid[two] >= paid[FLIPPED[two[0]] + two[1]] for paid, two in seats):
            pure.add(moves)
        # What any constant move guarantees; in an outcome that is not pure both readers are paid more.
        elif (possible := all(paid[two] > _maximin(paid) for paid, two in seats)) != (moves in new):
            yield f"{moves} is {'possible, but not listed' if possible else 'listed, but impossible'}"
    if pure != set(entry["without_reading"]):
        yield f"without reading the equilibria are {sorted(pure)}"
    if pure & new:
        yield f"{sorted(pure & new)} are equilibria without reading"
    for claim in entry["with_reading"]:
        yield from (f"{claim['outcome']}: {fault}" for fault in _claim_faults(claim, rows, columns))


def _maximin(paid: Mapping[str, Fraction]) -> Fraction:
    return max(min(paid[own + other] for other in "CD") for own in "CD")


def _claim_faults(
    claim: Mapping[str, Any], rows: Mapping[str, Fraction], columns: Mapping[str, Fraction]
) -> Iterator[str]:
    moves, first, second = claim["outcome"], read(claim["first"]), read(claim["second"])
    if (played := outcome(first, second)) != moves:
        yield f"the two formulas play {played}"
    epsilons = [Fraction(claim[end]) for end in ("low", "high") if claim[end] is not None]
    if min(epsilons) < 0:
        yield "epsilon is below 0"
    for paid, two, own, other in ((rows, moves, first, second), (columns, moves[::-1], second, first)):
        for level in DEPTHS:
            better = max(paid[reply] for reply in reachable(other, level))
            for epsilon in epsilons:
                if better - level * epsilon > paid[two] - depth(own) * epsilon:
                    yield f"a reply of depth {level} gains at epsilon {epsilon}"
            if claim["high"] is None and level < depth(own):
                yield f"there is no highest epsilon, but depth {level} costs less"


def table_faults(table: Sequence[Mapping[str, Any]]) -> list[str]:
    """The errors in a periodic table, given as its JSON data; empty if there are none."""
    numbers = [entry["number"] for entry in table]
    found = [] if numbers == list(range(1, 79)) else ["the games are not numbered from 1 to 78"]
    return [*found, *(f"game {entry['number']}: {fault}" for entry in table for fault in entry_faults(entry))]
