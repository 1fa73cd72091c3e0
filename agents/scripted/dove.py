"""Dove: a scripted stand-in for the paper's language-model players (appendices D and E)."""

from __future__ import annotations

import functools
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING

from agents.scripted.peaceful_policy import PeacefulPolicy
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS
from welfare_env.errors import UnknownAgentError
from welfare_env.game.press import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

PROPOSAL, AGREEMENT = "propose demilitarisation", "accept"  # where messages are words
Names = tuple[tuple[str, ...], ...]  # of units or centers, power by power
Way = tuple[str, ...]  # locations from where a unit stands to where it is going, both included

WISHES = (
    "May peace last to the end of the game.",
    "Let us all disarm and live well.",
    "We look forward to many quiet years.",
)
REPLIES = (
    "Thank you, {power}. You have nothing to fear from us, and we trust you.",
    "We are glad to hear from you, {power}. Our borders stay at peace.",
    "Agreed, {power}: no attacks, fewer units, more welfare for both of us.",
)


class DovePolicy(PeacefulPolicy):
    """Takes free centers, disarms step by step, and believes in peace whatever happens.

    - Movement: each neutral center is assigned to the nearest unit of any power. Every dove computes the same
      assignment, so doves seldom meet. A unit walks to its center by a shortest path around other powers' centers and
      all units; a unit without a center, or whose path is blocked, holds. A center stays assigned to the nearest unit,
      even if that unit never comes.
    - Winter: disbands each unit with probability `share`, and all of them in the last Winter; units on their way to a
      center go last. Never builds. In the standard variant it disbands only what it must.
    - Messages: in the first round it announces its plans to all; it answers everybody who writes to it, once a phase,
      with good wishes. Messages of others do not change its play. If messages are words (``press="tokens"``), it
      proposes demilitarisation to all, and accepts whatever others propose.

    Args:
        share: the fraction of its units that it disbands in an average Winter, above 0 and up to 1.

    Raises:
        UnknownAgentError: a share out of range.
    """

    def __init__(self, share: float = 0.25) -> None:
        if not isinstance(share, int | float) or not 0 < share <= 1:
            raise UnknownAgentError(f"share={quoted(share)}: give a number above 0 and up to 1")
        self.share = share

    def movement(self, view: View) -> list[str]:
        steps = self._steps(view)
        units = view.units.get(view.power, ())
        return [f"{unit} - {steps[unit]}" if unit in steps else f"{unit} H" for unit in units]

    def winter(self, view: View) -> list[str]:
        claims = share_out(view)
        ranked = sorted(self.own_units(view), key=lambda unit: ((view.power, unit) in claims, unit))
        return [f"{unit} D" for unit in ranked[: self._count(view)]]

    def messages(self, view: View) -> list[tuple[str, str]]:
        news = [(GLOBAL, self._announcement(view))] if view.message_round == 1 else []
        return news + [(sender, _reply(view, sender)) for sender in _unanswered(view)]

    def _steps(self, view: View) -> dict[str, str]:
        """unit -> location it steps to. If two units would enter the same province, only the first goes."""
        entered: set[str] = set()
        steps = {}
        for (power, unit), way in share_out(view).items():
            if len(way) > 1 and way[1][:3] not in entered:
                entered.add(way[1][:3])
                if power == view.power:
                    steps[unit] = way[1]
        return steps

    def _count(self, view: View) -> int:
        """Number of units to disband this Winter."""
        if not view.rules.is_welfare:
            return view.must_disband
        units = len(self.own_units(view))
        wanted = units if view.years_left == 1 else int(self.rng.binomial(units, self.share))
        return max(wanted, view.must_disband)

    def _announcement(self, view: View) -> str:
        if view.vocabulary:
            return PROPOSAL
        if view.phase_type == ADJUSTMENTS:
            return f"We build nothing this Winter. {_words(view, WISHES)}"
        claims = [way[-1][:3] for (power, _), way in share_out(view).items() if power == view.power]
        plan = f"Our units go to {', '.join(claims)} and nowhere else" if claims else "We will hold"
        plan = plan if self.own_units(view) else "We have no units left"
        return f"{plan}. We will not attack {_others(view)}. {_words(view, WISHES)}"


def _others(view: View) -> str:
    """The other powers that have units or centers: "England, France or Italy"."""
    units, centers = view.units, view.centers
    *names, last = [
        power.title() for power in view.powers if power != view.power and (units[power] or centers[power])
    ] or ["anybody"]
    return f"{', '.join(names)} or {last}" if names else last


def _reply(view: View, sender: str) -> str:
    return AGREEMENT if view.vocabulary else _words(view, REPLIES).format(power=sender)


def _words(view: View, choices: tuple[str, ...]) -> str:
    """One of the texts, in turn; not random, so that speaking does not change the play of a seed."""
    return choices[(view.year_index + len(view.power)) % len(choices)]


def _unanswered(view: View) -> list[str]:
    """The senders of this phase without a reply yet, in the order of their first messages."""
    writers = [message.sender for message in view.messages if message.recipient == view.power]
    if not writers:
        return []
    answered = {message.recipient for message in view.messages if message.sender == view.power}
    return [writer for writer in dict.fromkeys(writers) if writer not in answered]


def share_out(view: View) -> Mapping[tuple[str, str], Way]:
    """(power, unit) -> its way to the neutral center assigned to it; for a unit that stands there, just this location.

    Pairs of units and centers are matched greedily: the shortest way first, among equals the power with fewer centers,
    then the first in the board's order. The result is the same in every power's view, so all doves agree.
    """
    return _shares(view.board, tuple(view.units.values()), tuple(view.centers.values()))


@functools.lru_cache(maxsize=64)
def _shares(board: Board, units: Names, centers: Names) -> Mapping[tuple[str, str], Way]:
    """`share_out` of a position: the units and the centers of each power."""
    neutral = set(board.centers).difference(*centers)
    standing = {unit[2:5] for own in units for unit in own}
    offers = []
    for index, own in enumerate(units):
        closed = standing.union(*centers[:index], *centers[index + 1 :])
        offers += [
            (len(way), len(centers[index]), index, unit, way)
            for unit in own
            for way in shortest_ways(board, unit, neutral, closed)
        ]
    claims: dict[tuple[str, str], Way] = {}
    given: set[str] = set()
    for _, _, index, unit, way in sorted(offers):
        claimant = (board.powers[index], unit)
        if claimant not in claims and way[-1][:3] not in given:
            claims[claimant] = way
            given.add(way[-1][:3])
    return MappingProxyType(claims)


def shortest_ways(board: Board, unit: str, goals: set[str], closed: set[str]) -> Iterator[Way]:
    """Shortest ways of a unit to every goal that it can reach around closed provinces, the shortest first."""
    missing = len(goals)
    found = {unit[2:5]}
    queue: deque[Way] = deque([(unit[2:],)])
    while queue and missing:
        way = queue.popleft()
        if way[-1][:3] in goals:
            missing -= 1
            yield way
        for location in board.moves[f"{unit[0]} {way[-1]}"]:
            if location[:3] not in closed and location[:3] not in found:
                found.add(location[:3])
                queue.append((*way, location))
