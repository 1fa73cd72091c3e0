"""Landings: entering all homes of a victim in one Fall, so that it can neither keep units nor build any."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from agents.scripted.planner.distances import steps_between
from agents.scripted.planner.plans import Course, Move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from welfare_env import View
    from welfare_env.board.board import Board

MOST_YEARS = 4  # Winters before a landing
MOST_CHOICES = 6  # units to choose from for each goal
MOST_GOALS = 6  # at once
STANDS = -1  # instead of the Winter in which a unit is built: it is on the board
TURNS_LEFT = {"S": 2, "F": 1, "W": 0}  # moves before the year's end


class Choice(NamedTuple):
    """A unit for a goal: its Winters on the board, its steps, its name, and the Winter, from now, that builds it."""

    winters: int
    steps: int
    unit: str
    built: int


@dataclass(frozen=True)
class Landing:
    """The units that go to the goals.

    Attributes:
        winters: Winters before the Fall in which all goals are entered.
        units: goal -> its unit.
    """

    winters: int
    units: dict[str, Choice]

    @property
    def standing(self) -> dict[str, str]:
        """Unit on the board -> goal."""
        return {choice.unit: goal for goal, choice in self.units.items() if choice.built == STANDS}


@dataclass
class Traffic:
    """The planned locations of members' units, which later units avoid.

    Attributes:
        taken: (turn, province); the next turn is 1.
        crossed: (turn, from, to) of moves; no other unit can make the reverse move in that turn.
    """

    taken: set[tuple[int, str]] = field(default_factory=set)
    crossed: set[tuple[int, str, str]] = field(default_factory=set)

    def add(self, path: Sequence[str]) -> None:
        """Add a unit's locations now, in the next turn, and so on."""
        for turn, (before, place) in enumerate(itertools.pairwise(path), 1):
            self.taken.add((turn, place[:3]))
            self.crossed.add((turn, before[:3], place[:3]))


def is_landing(course: Course) -> bool:
    """Whether units first gather next to all goals, before any goal is entered."""
    return course.move is Move.LAND or (course.move is Move.RECEIVE and bool(course.victims))


def landing(view: View, power: str, goals: Sequence[str], least: int = 0) -> Landing | None:
    """The cheapest landing of a power's units, on the board or to be built, without convoys.

    A unit costs a point each Winter, and so does each goal that is not entered yet.

    Args:
        least: the minimum number of Winters before it.

    Returns:
        None if there is none within four years, no goal, or more than `MOST_GOALS`.
    """
    turns, best, found = TURNS_LEFT[view.season], math.inf, None
    idle = functools.partial(_idle, view, power) if turns == 0 else lambda chosen: 0
    for winters in range(max(least, turns == 0), MOST_YEARS + 1) if 0 < len(goals) <= MOST_GOALS else ():
        waiting = winters * len(goals)
        choices = [sorted(_choices(view, power, goal, turns, winters))[:MOST_CHOICES] for goal in goals]
        cost, chosen = _cheapest(choices, idle, best - waiting)
        if chosen:
            best, found = cost + waiting, Landing(winters, dict(zip(goals, chosen, strict=True)))
    return found


def _cheapest(
    choices: Sequence[Sequence[Choice]], idle: Callable[[Sequence[Choice]], float], below: float
) -> tuple[float, tuple[Choice, ...]]:
    """A choice for each goal, no unit twice, and its cost; nothing if none costs less than `below`.

    Args:
        idle: function from all choices to their further costs.
    """
    least = [min((choice.winters for choice in of), default=math.inf) for of in choices]
    best: tuple[Choice, ...] = ()

    def go_on(chosen: tuple[Choice, ...], cost: float) -> None:
        nonlocal best, below
        place = len(chosen)
        if cost + sum(least[place:]) >= below:
            return
        if place == len(choices):
            if (cost := cost + idle(chosen)) < below:
                best, below = chosen, cost
            return
        for choice in choices[place]:
            if all((choice.unit[2:5], choice.built) != (each.unit[2:5], each.built) for each in chosen):
                go_on((*chosen, choice), cost + choice.winters)

    go_on((), 0)
    return below, best


def _idle(view: View, power: str, chosen: Sequence[Choice]) -> float:
    """The further costs of choices in a Winter: units without a goal stay on the board while others are built, since a
    Winter allows either builds or disbands. Infinite if more units are to be built now than there is room for.
    """
    building = [choice.built for choice in chosen]
    if building.count(0) > len(view.centers[power]) - len(view.units[power]):
        return math.inf
    winters = next(winter for winter in itertools.count() if winter not in building)
    used = {choice.unit for choice in chosen if choice.built == STANDS}
    return (winters + 1) * len(set(view.units[power]) - used) if winters else 0


def _choices(view: View, power: str, goal: str, turns: int, winters: int) -> Iterator[Choice]:
    """The units that can be at a goal in time."""
    steps = steps_between(view.board)
    for unit in view.units[power]:
        if steps(unit, goal) <= turns + 2 * winters:
            yield Choice(winters, steps(unit, goal), unit, STANDS)
    standing = {unit[2:5] for units in view.units.values() for unit in units}
    for home in set(view.board.start_centers[power]) & set(view.centers[power]):
        for when in range(int(not turns and home in standing), winters):
            for unit in pieces_in(view.board, home):
                if steps(unit, goal) <= 2 * (winters - when):
                    yield Choice(winters - when, steps(unit, goal), unit, when)


@functools.lru_cache(maxsize=1024)
def pieces_in(board: Board, province: str) -> tuple[str, ...]:
    """The units that may stand in a province, such as "A STP", "F STP/NC"."""
    return tuple(sorted(unit for unit in board.moves if unit[2:5] == province))


def own_landing(view: View, course: Course, members: Iterable[str]) -> Landing | None:
    """The landing of the view's power; a receiver's is at the earliest in the year after the first partner's.

    A receiver lands in the centers that partners hold, once they hold any.
    """
    homes = course.wish or [home for power in course.victims for home in view.board.start_centers[power]]
    partners = [power for power in members if power != view.power]
    held = {center for power in partners for center in view.centers[power]}
    left = [home for home in homes if home not in view.centers[view.power]]
    if course.move is Move.LAND:
        return landing(view, view.power, [home for home in left if home not in held])
    goals, least = [home for home in left if home in held] or left, 0
    if not held.issuperset(goals):
        theirs = [landing(view, power, goals) for power in partners]
        least = 1 + min((each.winters for each in theirs if each), default=0)
    return landing(view, view.power, goals, least)


def landing_moves(view: View, course: Course, members: Iterable[str], traffic: Traffic) -> dict[str, str]:
    """Unit -> order: units gather next to the goals, and enter all of them in the same Fall.

    Args:
        traffic: planned locations of members that have moved before; those of the view's power are added.
    """
    members = tuple(members)
    found = own_landing(view, course, members)
    goal_of = {} if found is None else found.standing
    turns = TURNS_LEFT[view.season] + (0 if found is None else 2 * found.winters)
    steps = steps_between(view.board)
    orders = {}
    for unit in sorted(view.units[view.power], key=lambda unit: (unit in goal_of, -steps(unit, goal_of.get(unit, "")))):
        path = _path(view, unit, goal_of[unit], turns, members, traffic) if unit in goal_of else None
        traffic.add(path or [unit[2:], unit[2:]])
        orders[unit] = f"{unit} - {path[1]}" if path and path[1] != unit[2:] else f"{unit} H"
    return orders


def _path(view: View, unit: str, goal: str, turns: int, members: tuple[str, ...], traffic: Traffic) -> list[str] | None:
    """The unit's locations now, after the next turn, and so on up to the goal; it moves as early as possible.

    It ends no earlier Fall in a center that it does not own, and enters the goal only at the end.
    """
    kind, moves, reach = unit[0], view.board.moves, steps_between(view.board)
    foreign = set(view.board.centers).difference(view.centers[view.power])
    standing = {each[2:5] for power, units in view.units.items() if power not in members for each in units}
    dead: set[tuple[str, int]] = set()

    def is_open(place: str, there: str, turn: int) -> bool:
        """Whether the unit may go from a place to another one in this turn."""
        province, is_fall = there[:3], (turns - turn) % 2 == 0
        if reach(f"{kind} {there}", goal) > turns - turn or (province == goal) != (turn == turns):
            return False
        if turn < turns and ((is_fall and province in foreign) or (turn == 1 and province in standing)):
            return False
        return (turn, province) not in traffic.taken and (turn, province, place[:3]) not in traffic.crossed

    def onward(place: str, turn: int) -> list[str] | None:
        if turn == turns:
            return [place] if place[:3] == goal else None
        for there in sorted((place, *moves[f"{kind} {place}"]), key=lambda each: reach(f"{kind} {each}", goal)):
            if (there, turn + 1) not in dead and is_open(place, there, turn + 1):
                rest = onward(there, turn + 1)
                if rest is not None:
                    return [place, *rest]
        dead.add((place, turn))
        return None

    return onward(unit[2:], 0)


def landing_winter(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """Builds the units that a landing needs, as late as possible, or disbands those that it does not need."""
    found = own_landing(view, course, members)
    built = [choice.unit for choice in found.units.values() if choice.built == 0] if found else []
    if built:
        return [f"{unit} B" for unit in built][: view.max_builds]
    gone = sorted(set(view.units[view.power]).difference(found.standing if found else ()))
    return [f"{unit} D" for unit in gone[: len(gone) if view.rules.is_welfare else view.must_disband]]
