"""Plans of a coalition: what each member does in each year, with random draws and random changes of plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from agents.scripted.center_partition import planned_owners
from agents.scripted.planner.distances import UNREACHABLE, steps_between

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from welfare_env import View
    from welfare_env.board.board import Board

NEAREST = 4  # nearest powers, from which a member mostly chooses its victims
ANY_NUMBER = 99  # of centers
UNITS = (0.1, 0.2, 0.25, 0.15, 0.1, 0.05, 0.05, 0.04, 0.02, 0.02, 0.02)  # probabilities of 0 to 10 units
HANDING = 0.2  # probability that one member of a coalition raids, and the others receive the centers
LANDING = 0.1  # probability of a landing, also by one member
LENGTHS = (0.15, 0.4, 0.25, 0.2)  # probabilities of raids of one, two, three and four years
WISH_STEPS, MOST_WISHES = 2, 3
FIELDS = ("move", "victims", "only_homes", "neutral", "most", "units", "wish")  # of a course, to be changed


class Move(Enum):
    """What a member does for a year.

    - NICE: plays its peaceful policy.
    - STAGE: takes neutral centers, and goes next to its victims' homes without entering them.
    - TAKE: enters centers of its victims, and neutral ones.
    - FIGHT: attacks its victims as dumbbot does.
    - SWAP: units on centers that members have taken change places, so that each takes another member's.
    - LAND: goes next to its victims' homes, or to the centers in `Course.wish`, and enters all of them in one Fall;
      builds the units for this as late as possible (`agents.scripted.planner.landing`).
    - RECEIVE: enters centers that other members have taken and left, and then those that are due to these members. With
      victims it lands only in the victims' homes, in one of the next Falls.
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


PASSING = (Move.SWAP, Move.RECEIVE)  # useful only in coalitions


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


PEACE = Course()
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


class PlanDrawer:
    """Draws plans for a coalition on one board.

    Args:
        board, years: the game's board and number of years.
        members: the coalition.
        rng: the random generator.
    """

    def __init__(self, board: Board, years: int, members: Sequence[str], rng: np.random.Generator) -> None:
        self.board, self.years, self.members, self.rng = board, years, tuple(members), rng
        self.near = {member: nearest(board, member, members)[:NEAREST] for member in members}
        owners = list(planned_owners(board).values())
        self.shares = {member: owners.count(member) for member in members}

    def peaceful(self) -> Plan:
        """The plan to stay nice."""
        return Plan(dict.fromkeys(self.members, (PEACE,) * self.years))

    def draw(self, view: View) -> Plan:
        """A new plan: a raid that begins this year or later, often the same one for all members; or a landing or raid
        by a single member, from whom others receive.
        """
        rng, now = self.rng, view.year_index
        begin = min(now + int(rng.geometric(0.5)) - 1, self.years - 1)
        if rng.random() < 0.25:
            begin = int(rng.integers(now, self.years))
        taker = self.members[int(rng.integers(len(self.members)))]
        victims = self._victims(taker)
        if rng.random() < LANDING:
            return self._landing(taker, victims, begin)
        if len(self.members) > 1 and rng.random() < HANDING:
            return self._handing(taker, victims, begin)
        shared = self._raid(self.members[0], begin, victims)
        found = {}
        for member in self.members:
            own = victims if rng.random() < 0.6 else self._victims(member)
            courses = shared if rng.random() < 0.6 else self._raid(member, begin, own)
            if rng.random() < 0.3:
                courses = self._wishing(member, courses, view)
            found[member] = courses
        return Plan(found)

    def _wishing(self, member: str, courses: tuple[Course, ...], view: View) -> tuple[Course, ...]:
        wish = self._wish(member, view)
        year = int(self.rng.integers(view.year_index, min(view.year_index + 2, self.years)))
        return (*courses[:year], replace(courses[year], wish=wish), *courses[year + 1 :])

    def change(self, plan: Plan, view: View) -> Plan:
        """The plan with one to three random changes in the years that are left."""
        changed = dict(plan.courses)
        for _ in range(int(self.rng.integers(1, 4))):
            member = self.members[int(self.rng.integers(len(self.members)))]
            changed[member] = self._changed(member, changed[member], view)
        same = min(
            year
            for year in range(self.years + 1)
            if year == self.years or any(changed[member][year] != plan.courses[member][year] for member in changed)
        )
        kept = {moment: orders for moment, orders in plan.orders.items() if moment[0] < same}
        return Plan(changed, kept)

    def _raid(self, member: str, begin: int, victims: tuple[str, ...]) -> tuple[Course, ...]:
        """Wait or get ready, take, perhaps pass on the taken centers, perhaps retake lost ones, and hold."""
        rng = self.rng
        length = int(rng.choice(len(LENGTHS), p=LENGTHS)) + 1
        move = Move.FIGHT if rng.random() < 0.2 else Move.TAKE
        taking = Course(
            move, victims, bool(rng.random() < 0.6), self._neutral(), self._most(member), units=self._units()
        )
        waiting = PEACE if rng.random() < 0.4 else Course(units=self._units())
        if rng.random() < 0.4:
            waiting = replace(taking, move=Move.STAGE, neutral=Neutral.DUE)
        elif rng.random() < 0.4:
            waiting = Course(Move.DENY, self._victims(member), units=int(rng.integers(0, 3)))
        after = Course(Move.HOLD, units=int(rng.choice(3, p=(0.6, 0.2, 0.2))))
        courses = [waiting] * begin + [taking] * length
        if len(self.members) > 1 and rng.random() < 0.4:
            courses.append(replace(taking, move=Move.SWAP, units=self._units()))
        if rng.random() < 0.3 and begin + length <= self.years:
            courses[-1] = replace(courses[-1], units=after.units)
        if rng.random() < 0.3:
            fetching = Course(Move.FETCH, neutral=self._neutral(), units=int(rng.integers(1, 4)))
            courses += [fetching] * int(rng.integers(1, 5))
        return ended([*courses, *[after] * self.years][: self.years])

    def _handing(self, taker: str, victims: tuple[str, ...], begin: int) -> Plan:
        """One member takes homes and disarms; the others get ready next to them meanwhile, and receive them."""
        rng = self.rng
        taking = Course(Move.TAKE, victims, True, self._neutral(), self._most(taker), units=self._units())
        ready, length = replace(taking, move=Move.STAGE), int(rng.integers(1, 3))
        homes = tuple(home for victim in victims[:1] for home in self.board.start_centers[victim])
        found = {}
        for member in self.members:
            own = replace(ready, units=self._units())
            before = [own if rng.random() < 0.5 else PEACE] * begin
            if member == taker:
                courses = [*before, *[taking] * (length - 1), replace(taking, units=0)]
            else:
                receiving = [Course(Move.RECEIVE, units=self._units())] * int(rng.integers(0, 2))
                courses = [*before, *[replace(own, wish=homes)] * length, *receiving, Course(Move.RECEIVE, units=0)]
            found[member] = ended([*courses, *[Course(Move.HOLD, units=0)] * self.years][: self.years])
        return Plan(found)

    def _landing(self, taker: str, victims: tuple[str, ...], begin: int) -> Plan:
        """One member lands in the homes of a power, or in one center, and disarms; in coalitions another receives."""
        rng, years = self.rng, int(self.rng.integers(3, 7))
        owned = (
            [center for center, power in planned_owners(self.board).items() if power == victims[0]] if victims else []
        )
        wish = (owned[int(rng.integers(len(owned)))],) if owned and rng.random() < 0.3 else ()
        others = [member for member in self.members if member != taker]
        receiver = others[int(rng.integers(len(others)))] if others else ""
        found = dict.fromkeys(self.members, (PEACE,) * self.years)
        for member, move in ((taker, Move.LAND), (receiver, Move.RECEIVE)):
            if member:
                before = [PEACE] * (begin - 1) + [Course(units=0)] * (begin > 0)
                landing = [Course(move, victims[:1], units=0, wish=wish)] * years
                found[member] = ended([*before, *landing, *[Course(Move.HOLD, units=0)] * self.years][: self.years])
        return Plan(found)

    def _changed(self, member: str, courses: tuple[Course, ...], view: View) -> tuple[Course, ...]:
        """The courses with one field changed in consecutive years, or with all remaining years shifted by one."""
        rng, now = self.rng, view.year_index
        new = list(courses)
        if rng.random() < 0.15:
            shift, last = int(rng.choice([-1, 1])), self.years - 1
            new[now:] = [courses[min(max(year - shift, now), last)] for year in range(now, self.years)]
            return ended(new)
        first = int(rng.integers(now, self.years))
        end = first + 1 if rng.random() < 0.5 else int(rng.integers(first, self.years)) + 1
        name = FIELDS[int(rng.integers(len(FIELDS)))]
        changes: dict[str, Any] = {name: self._value(name, member, courses[first], view)}
        new[first:end] = [replace(course, **changes) for course in new[first:end]]
        if name == "move" and not new[first].victims:
            victims = self._victims(member)
            new[first:end] = [replace(course, victims=course.victims or victims) for course in new[first:end]]
        return ended(new)

    def _value(self, name: str, member: str, course: Course, view: View) -> object:
        """A new value of a field of a course."""
        if name == "move":
            moves = [move for move in Move if len(self.members) > 1 or move not in PASSING]
            return moves[int(self.rng.integers(len(moves)))]
        if name == "victims":
            return self._victims(member)
        if name == "only_homes":
            return not course.only_homes
        if name == "neutral":
            return self._neutral()
        if name == "most":
            return self._most(member)
        return self._units() if name == "units" else self._wish(member, view)

    def _neutral(self) -> Neutral:
        return list(Neutral)[int(self.rng.choice(len(Neutral), p=(0.4, 0.3, 0.3)))]

    def _units(self) -> int:
        return int(self.rng.choice(len(UNITS), p=UNITS))

    def _most(self, member: str) -> int:
        return ANY_NUMBER if self.rng.random() < 0.6 else self.shares[member] + int(self.rng.integers(0, 4))

    def _victims(self, member: str) -> tuple[str, ...]:
        """Mostly one of the nearest powers, sometimes two of them, or all."""
        drawn, near = self.rng.random(), self.near[member]
        if drawn < 0.15:
            return tuple(power for power in self.board.powers if power not in self.members)
        chosen = self.rng.choice(len(near), min(2 if drawn < 0.3 else 1, len(near)), replace=False)
        return tuple(near[i] for i in sorted(chosen.tolist()))

    def _wish(self, member: str, view: View) -> tuple[str, ...]:
        """Some centers that the member's units could reach within a year."""
        steps, own = steps_between(self.board), set(view.centers[member])
        units = view.units[member] or [f"A {home}" for home in self.board.start_centers[member]]
        near = [c for c in self.board.centers if c not in own and any(steps(u, c) <= WISH_STEPS for u in units)]
        number = min(int(self.rng.integers(MOST_WISHES + 1)), len(near))
        return tuple(near[i] for i in self.rng.choice(len(near), number, replace=False).tolist()) if near else ()


def nearest(board: Board, member: str, members: Sequence[str]) -> list[str]:
    """The powers outside a coalition, sorted by the steps from a member's opening units to their homes."""
    steps, starts = steps_between(board), board.start_units[member]

    def distance(power: str) -> int:
        homes = board.start_centers[power]
        return min((steps(unit, home) for unit in starts for home in homes), default=UNREACHABLE)

    return sorted((power for power in board.powers if power not in members), key=distance)


def ended(courses: Sequence[Course]) -> tuple[Course, ...]:
    """The courses, disbanding all units in the last Winter, when they are useless; NICE courses are unchanged."""
    last = courses[-1]
    return (*courses[:-1], replace(last, units=0) if last.move is not Move.NICE else last)
