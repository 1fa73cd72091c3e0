"""Do pairs of direct agents that reading makes equilibria hold against agents that call others? Counted one by one.

    python -m research.programs.callers    # games 44, 56, 71 and 77 of docs/periodic-table.md: a minute

Shares no code with the search of replies: types of histories are nested sets, straight from the definition, and the
moves of the called agents are written down by hand. Callers of depth 1 are enough here: what one of them does is any
function of the set of what it has read, so there are few to try.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from modal_env import PRESETS
from modal_env.games.payoffs import PayoffTable
from research.programs.certificates import Range, nonnegative
from research.programs.direct_agents import OUTCOMES, plays, types
from research.programs.periodic_table import ranges

# Game -> the outcome that reading adds. In all of these pairs both agents have depth 2.
GAMES = {44: "DD", 56: "DD", 71: "CC", 77: "DC"}
CALLED: dict[str, Callable[[Sequence[int]], int]] = {  # the moves of the agents called, given what they have read
    "CooperateBot": lambda read: 1,
    "DefectBot": lambda read: 0,
    "FairBot": lambda read: int(all(read)),
    "FalseBot": lambda read: int(not read),
    "TrueBot": lambda read: int(bool(read)),
}
Type = tuple[frozenset, frozenset]
"""What agents of depth 1 and of depth 2 know of a history."""
EMPTY: Type = (frozenset(), frozenset())


def after(kind: Type, symbol: object) -> Type:
    """The type one world later."""
    one, two = kind
    return one | {symbol}, two | {(one, symbol)}


@cache
def places() -> dict[frozenset, int]:
    """Type of depth 2 -> its bit in the codes of direct agents."""
    found = {}
    for place, word in enumerate(types(2).words):
        kind = EMPTY
        for symbol in word:
            kind = after(kind, symbol)
        found[kind[1]] = place
    return found


def move(code: int, kind: Type) -> int:
    """What the direct agent of a code does after a history."""
    return code >> places()[kind[1]] & 1


def against(code: int, other: Callable[[Sequence[int]], int], worlds: int = 30) -> list[int]:
    """The moves of a direct agent against another, which is given what it has read so far."""
    kind, moves = EMPTY, list[int]()
    for _ in range(worlds):
        read = other(moves)
        moves.append(move(code, kind))
        kind = after(kind, read)
    return moves


def reach(code: int, called: Sequence[str]) -> set[str]:
    """The final outcomes that agents of depth 1 reach against a direct agent, their own move first."""
    rows = list(zip(*(against(code, CALLED[name]) for name in called), strict=True)) or [()]
    while len(rows) > 1 and rows[-1] == rows[-2]:  # the last row stays
        rows.pop()
    found, todo = set[str](), [(0, EMPTY, frozenset[object](), dict[frozenset, int]())]
    while todo:
        world, theirs, read, decided = todo.pop()
        if read not in decided:
            todo += [(world, theirs, read, {**decided, read: own}) for own in (0, 1)]
            continue
        own, other = decided[read], move(code, theirs)
        following = after(theirs, own), read | {(other, *rows[world])}
        if following == (theirs, read) and world == len(rows) - 1:
            found.add("DC"[own] + "DC"[other])
        else:
            todo.append((min(world + 1, len(rows) - 1), *following, decided))
    return found


def prices(code: int, paid: PayoffTable, outcome: str, called: Sequence[str]) -> Range | None:
    """The prices at which no caller of depth 1 replies better to a direct agent than one of depth 2 with an outcome."""
    return nonnegative((paid[outcome] - paid[reply], Fraction(-1)) for reply in reach(code, called))


@cache
def pairs_of(number: int) -> list[tuple[int, int]]:
    """The pairs of direct agents that are equilibria among direct agents, as codes."""
    outcome = GAMES[number]
    return [
        (first, second)
        for profiles in ranges(PRESETS[f"rg-{number}"], outcome).values()
        for profile in profiles
        for firsts, seconds in plays().pairs(*profile, OUTCOMES.index(outcome))
        for first in firsts.tolist()
        for second in seconds.tolist()
    ]


def count(number: int, called: Sequence[str]) -> tuple[int, int]:
    """How many pairs of direct agents hold at some price above 0, and how many there are."""
    game, outcome, pairs = PRESETS[f"rg-{number}"], GAMES[number], pairs_of(number)
    columns = {one: prices(one, game.turned, outcome[::-1], called) for one, _ in pairs}
    rows = {one: prices(one, game, outcome, called) for _, one in pairs}
    both = [(columns[first], rows[second]) for first, second in pairs]
    return sum(_holds([one for one in each if one]) for each in both if all(each)), len(pairs)


def _holds(bounds: Sequence[Range]) -> bool:
    highs = [high for _, high in bounds if high is not None]
    return not highs or min(highs) > max(low for low, _ in bounds)


def main() -> None:
    """Count the pairs that hold against agents that call CooperateBot, or DefectBot."""
    for number in GAMES:
        for called in ("CooperateBot", "DefectBot"):
            held, pairs = count(number, [called])
            print(f"game {number}: {held:,} of {pairs:,} pairs hold against agents of depth 1 that call {called}")


if __name__ == "__main__":
    main()
