"""Effects of reading in a game of two moves: the outcomes that are equilibria only of programs that read each other.

Players that do not read each other choose a move, and the pure equilibria of a game are `PayoffTable.pure`. Programs of
depth 0 do the same, at no cost, so these always remain. Here are the other outcomes in which two direct agents of depth
up to 2 (`modal_env.search.direct_agents`) are best replies to each other, among all such agents, and for which epsilon;
found from `modal_env.search.plays`, with two agents for each outcome and range. For the 78 strict ordinal games that is
the periodic table of docs/periodic-table.md. `modal_env.search.table_checker` checks it without code from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from modal_env.checks import Number, brief, exact, items
from modal_env.errors import GameError
from modal_env.games.game import GivenPayoffs
from modal_env.games.ordinal_games import COMMON_NAMES, RAPOPORT_GUYER, place, rows_of
from modal_env.games.payoffs import PRESETS, PayoffTable, as_table
from modal_env.logic.syntax import Agent
from modal_env.progress import Report, no_report
from modal_env.search.direct_agents import MAX_DEPTH, agent_with
from modal_env.search.lines import Line, Range, nonnegative
from modal_env.search.plays import OUTCOMES, Plays, plays

TRIED = 12  # agents of a set that are tried; the one with the shortest formula is shown
DEPTHS = tuple(Fraction(depth) for depth in range(MAX_DEPTH + 1))
"""The default prices of depth 0, 1, 2, in units of epsilon."""

KINDS = {
    "rescued": "a new outcome is better for both than every equilibrium without reading",
    "settled": "without reading there is no pure equilibrium, with reading there is",
    "shared": "a new outcome is better for one player and worse for the other than an equilibrium without reading",
    "ruined": "a new outcome is worse for both than an equilibrium without reading",
    "unchanged": "reading adds no outcome",
}


@dataclass(frozen=True)
class Reading:
    """Two agents that are best replies to each other among all direct agents up to depth 2.

    Attributes:
        outcome: the row player's move and the column player's.
        low, high: the range of epsilon; no upper limit if `high` is None.
        first, second: the row player's agent, and the column player's.
    """

    outcome: str
    low: Fraction
    high: Fraction | None
    first: Agent
    second: Agent


@dataclass(frozen=True)
class Entry:
    """A game of the periodic table.

    Attributes:
        number: Rapoport and Guyer's number.
        place: Robinson and Goforth's place.
        name: the name in common use, or "".
        payoffs: the game.
        kinds: the effects of reading, from `KINDS`.
        readings: the new outcomes.
    """

    number: int
    place: str
    name: str
    payoffs: PayoffTable
    kinds: tuple[str, ...]
    readings: tuple[Reading, ...]


def readings(payoffs: GivenPayoffs, prices: Sequence[Number] = DEPTHS) -> list[Reading]:
    """The outcomes that are equilibria of direct agents up to depth 2 for some epsilon > 0, and not without reading.

    Args:
        payoffs: a game, see `modal_env.games.payoffs.as_table`.
        prices: the prices of depth 0, 1, 2, in units of epsilon: rising numbers from 0.

    Returns:
        For each outcome, ranges of epsilon that together cover all epsilons at which it is an equilibrium.

    Raises:
        GameError: an unknown game, or invalid prices.
    """
    table, costs, all_plays = as_table(payoffs), _check_prices(prices), plays()
    new = [number for number, outcome in enumerate(OUTCOMES) if outcome not in table.pure]
    return [
        Reading(OUTCOMES[outcome], *held, *_agents(pair, outcome))
        for outcome in new
        for held, pair in _covering(_found(all_plays, table, costs, outcome))
    ]


def _check_prices(prices: Sequence[Number]) -> tuple[Fraction, ...]:
    given = items(prices, MAX_DEPTH + 2)
    if given is None or len(given) != MAX_DEPTH + 1:
        raise GameError(f"prices={brief(prices)}: give three, for agents of depth 0, 1 and 2")
    found = tuple(exact(price, "a price") for price in given)
    if found[0] != 0 or not found[0] < found[1] < found[2]:
        raise GameError(f"prices={brief(prices)}: give 0 and two rising numbers")
    return found


Pair = tuple[int, int]


def _found(all_plays: Plays, table: PayoffTable, costs: Sequence[Fraction], outcome: int) -> dict[Range, Pair]:
    """The ranges in which an outcome is an equilibrium, and two profiles of agents for each."""
    profiles = all_plays.profiles.tolist()
    flipped = 2 * (outcome & 1) + (outcome >> 1)
    rows, columns = ([seat[moves] for moves in OUTCOMES] for seat in (table, table.turned))
    # A profile has the outcomes that opponents of each depth can reach: so it bounds the other player's replies.
    against = [[_best(rows, profile[1:], costs, d, outcome) for d in range(len(costs))] for profile in profiles]
    by_column = [[_best(columns, profile[1:], costs, d, flipped) for d in range(len(costs))] for profile in profiles]
    found: dict[Range, Pair] = {}
    for first, second in np.argwhere(all_plays.meetings(outcome)).tolist():
        row, column = against[second][profiles[first][0]], by_column[first][profiles[second][0]]
        both = row.meets(column) if row and column else None
        if both and both.high != 0:
            found.setdefault(both, (first, second))
    return found


def _best(
    paid: Sequence[Fraction], reach: Sequence[int], costs: Sequence[Fraction], depth: int, outcome: int
) -> Range | None:
    """The epsilons at which a player of a depth that reaches an outcome has no better reply.

    Args:
        paid: [4] by `OUTCOMES`, own move first.
        reach: for each depth, the outcomes that replies of this depth or less reach.
    """
    margins: list[Line] = []
    for other, outcomes in enumerate(reach):
        most = max(paid[k] for k in range(len(OUTCOMES)) if outcomes >> k & 1)
        margins.append((paid[outcome] - most, costs[other] - costs[depth]))
    return nonnegative(margins)


def _covering(found: dict[Range, Pair]) -> Iterator[tuple[Range, Pair]]:
    """The ranges that lie in no other range; together they cover all."""
    for one, pair in sorted(found.items(), key=lambda item: item[0].low):
        if not any(other != one and other.meets(one) == one for other in found):
            yield one, pair


@cache  # the same few in most games
def _agents(pair: Pair, outcome: int) -> tuple[Agent, Agent]:
    """A pair of short agents with these profiles that have the outcome against each other."""
    choices, all_plays = [], plays()
    for sides in all_plays.pairs(*pair, outcome):
        agents = []
        for side, profile in zip(sides, pair, strict=True):
            tried = [agent_with(code) for code in all_plays.codes(side, profile)[:TRIED].tolist()]
            agents.append(min(tried, key=lambda agent: (agent.size, agent.text)))
        choices.append((agents[0], agents[1]))
    return min(choices, key=lambda two: (two[0].size + two[1].size, two[0].text, two[1].text))


def kinds(table: PayoffTable, outcomes: Iterable[str]) -> tuple[str, ...]:
    """The effects of new outcomes on a game, from `KINDS`."""
    pure, found = table.pure, []
    for outcome in outcomes:
        gains = [(table[outcome] - table[old], table.turned[outcome[::-1]] - table.turned[old[::-1]]) for old in pure]
        if not pure:
            found.append("settled")
        elif all(min(gain) > 0 for gain in gains):
            found.append("rescued")
        elif any(max(gain) < 0 for gain in gains):
            found.append("ruined")
        else:
            found.append("shared")
    return tuple(kind for kind in KINDS if kind in found) or ("unchanged",)


def periodic_table(report: Report = no_report) -> list[Entry]:
    """The 78 strict ordinal games, and the effects of reading on each; takes under a minute.

    Args:
        report: see `modal_env.progress`.
    """
    entries = []
    for done, (number, cells) in enumerate(RAPOPORT_GUYER.items(), start=1):
        table = PRESETS[f"rg-{number}"]
        found = tuple(readings(table))
        new = dict.fromkeys(reading.outcome for reading in found)
        name = COMMON_NAMES.get(number, "")
        entries.append(Entry(number, place(rows_of(cells)), name, table, kinds(table, new), found))
        report(done / len(RAPOPORT_GUYER))
    return entries


def as_data(entries: Iterable[Entry]) -> list[dict[str, object]]:
    """The entries as data for JSON, with the formulas as certificates."""
    return [
        {
            "number": entry.number,
            "place": entry.place,
            "name": entry.name,
            "payoffs": {
                moves: [str(entry.payoffs[moves]), str(entry.payoffs.turned[moves[::-1]])] for moves in OUTCOMES
            },
            "without_reading": list(entry.payoffs.pure),
            "kinds": list(entry.kinds),
            "with_reading": [
                {
                    "outcome": reading.outcome,
                    "low": str(reading.low),
                    "high": None if reading.high is None else str(reading.high),
                    "first": reading.first.text,
                    "second": reading.second.text,
                }
                for reading in entry.readings
            ],
        }
        for entry in entries
    ]
