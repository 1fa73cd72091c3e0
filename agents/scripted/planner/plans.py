"""Plans of a coalition: what each member does in each year."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from agents.scripted.planner.distances import UNREACHABLE, steps_between

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from welfare_env.board.board import Board

ANY_NUMBER = 99  # of centers


class Move(Enum):
    """What a member does for a year.

    - NICE: plays its peaceful policy.
    - STAGE: takes neutral centers, and goes next to its victims' homes without entering them.
    - TAKE: enters centers of its victims, and neutral ones.
    - FIGHT: attacks its victims as dumbbot does.
    - LAND: goes next to its victims' homes, or to the centers in `Course.wish`, and enters all of them in one Fall;
      builds the units for this as late as possible.
    - SWAP: units on centers that members have taken change places, so that each takes another member's.
    - RECEIVE: enters centers that other members have taken and left, and then those that are due to these members. With
      victims it lands only in the victims' homes, in the Falls after them.
    - DENY: keeps the centers in `Course.wish`, or else those that are due to its victims, neutral in the first year:
      its units meet those of their future owners on the way. Its other units are peaceful.
    - FETCH: while it owns less than its fair share takes neutral centers, whoever they are due to, unless
      `Course.neutral` says otherwise; then centers that are due to it in the fairest partition of the opening, and that
      powers outside the coalition own. It has no more units than centers to fetch.
    - HOLD: its units hold.
    """

    NICE = "nice"
    STAGE = "stage"
    TAKE = "take"
    FIGHT = "fight"
    LAND = "land"
    SWAP = "swap"
    RECEIVE = "receive"
    DENY = "deny"
    FETCH = "fetch"
    HOLD = "hold"


class Neutral(Enum):
    """Which neutral centers a member takes; DUE: those of the opening's fairest partition (`center_partition`)."""

    NONE = "none"
    DUE = "due"
    ALL = "all"


@dataclass(frozen=True)
class Course:
    """What a member does in one year.

    Attributes:
        move: see `Move`.
        victims: the powers whose centers it takes.
        only_homes: whether it takes only the centers where its victims may build, whoever owns them.
        neutral: the neutral centers that it also takes.
        most: the number of centers it wants to own.
        units: the number of units it wants to have after the Winter; None: as many as its peaceful policy under NICE,
            otherwise none.
        wish: centers to take first.
    """

    move: Move = Move.NICE
    victims: tuple[str, ...] = ()
    only_homes: bool = False
    neutral: Neutral = Neutral.DUE
    most: int = ANY_NUMBER
    units: int | None = None
    wish: tuple[str, ...] = ()

    def homes(self, board: Board) -> list[str]:
        """The centers where its victims may build."""
        return [home for power in self.victims for home in board.start_centers[power]]


PEACE, DISARMED = Course(), Course(Move.HOLD, units=0)
Moment = tuple[int, int, str]  # year, number of the phase in it, member


@dataclass(frozen=True)
class Plan:
    """A plan of a coalition.

    Attributes:
        courses: member -> a course for each year of the game.
        orders: year, phase and member -> orders in place of those of its course.
    """

    courses: Mapping[str, tuple[Course, ...]]
    orders: Mapping[Moment, tuple[str, ...]] = field(default_factory=dict)


def ended(courses: Sequence[Course], years: int) -> tuple[Course, ...]:
    """The courses of a game, disarmed after them, and without units after the last Winter, when they are useless."""
    whole = [*courses, *[DISARMED] * years][:years]
    return (*whole[:-1], replace(whole[-1], units=0) if whole[-1].move is not Move.NICE else whole[-1])


def nearest(board: Board, member: str, members: Sequence[str]) -> list[str]:
    """The powers outside a coalition, sorted by the steps from a member's opening units to their homes."""
    steps, starts = steps_between(board), board.start_units[member]

    def distance(power: str) -> int:
        homes = board.start_centers[power]
        return min((steps(unit, home) for unit in starts for home in homes), default=UNREACHABLE)

    return sorted((power for power in board.powers if power not in members), key=distance)
