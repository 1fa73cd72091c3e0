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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from welfare_env import View
    from welfare_env.board.board import Board

MOST_YEARS = 4  # Winters before a landing
MOST_CHOICES = 6  # units to choose from for each goal
MOST_GOALS = 6  # at once
STANDS = -1  # instead of the Winter in which a unit is built: it is on the board
TURNS_LEFT = {"S": 2, "F": 1, "W": 0}  # moves before the year's end


@dataclass(frozen=True)
class Landing:
    """The units that go to the goals.

    Attributes:
        winters: Winters before the Fall in which all goals are entered.
        units: goal -> its unit, which is on the board or to be built.
        built: goal -> the Winter, counted from now, in which its unit is built; only for units to be built.
    """

    winters: int
    units: Mapping[str, str]
    built: Mapping[str, int]

    @property
    def standing(self) -> dict[str, str]:
        """Unit on the board -> goal."""
        return {unit: goal for goal, unit in self.units.items() if goal not in self.built}


@dataclass
class Traffic:
    """The planned locations of members' units, which later units avoid.

    Attributes:
        taken: turn -> provinces; the next turn is 1.
        crossed: (turn, from, to) of moves; no other unit can make the reverse move in that turn.
    """

    taken: dict[int, set[str]] = field(default_factory=dict)
    crossed: set[tuple[int, str, str]] = field(default_factory=set)

    def add(self, path: Sequence[str]) -> None:
        """Add a unit's locations now, in the next turn, and so on."""
        for turn, place in enumerate(path[1:], 1):
            self.taken.setdefault(turn, set()).add(place[:3])
            self.crossed.add((turn, path[turn - 1][:3], place[:3]))


def is_landing(course: Course) -> bool:
    """Whether units first gather next to all goals, before any goal is entered."""
    return course.move is Move.LAND or (course.move is Move.RECEIVE and bool(course.victims))


def goals_of(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """The centers to land in; for a receiver those that partners hold, once they hold any."""
    homes = course.wish or [home for power in course.victims for home in view.board.start_centers[power]]
    held = {center for power in members if power != view.power for center in view.centers[power]}
    left = [home for home in homes if home not in view.centers[view.power]]
    if course.move is Move.LAND:
        return [home for home in left if home not in held]
    return [home for home in left if home in held] or left


def landing(view: View, power: str, goals: Sequence[str], least: int = 0) -> Landing | None:
    """The cheapest landing of a power's units, on the board or to be built, without convoys.

    A unit costs a point each Winter, and so does each goal that is not entered yet.

    Args:
        least: the minimum number of Winters before it.

    Returns:
        None if there is none within four years, no goal, or more than `MOST_GOALS`.
    """
    turns, room = TURNS_LEFT[view.season], len(view.centers[power]) - len(view.units[power])
    best: tuple[float, int, tuple[Choice, ...]] = (math.inf, 0, ())
    for winters in range(max(least, 1 if turns == 0 else 0), MOST_YEARS + 1) if 0 < len(goals) <= MOST_GOALS else ():
        waiting = winters * len(goals)
        choices = [sorted(_choices(view, power, goal, turns, winters))[:MOST_CHOICES] for goal in goals]

        def idle(chosen: Sequence[Choice]) -> float:
            return _idle(view, power, chosen, room) if turns == 0 else 0

        cost, chosen = _cheapest(choices, idle, best[0] - waiting)
        if chosen:
            best = cost + waiting, winters, chosen
    if not best[2]:
        return None
    units = {goal: choice.unit for goal, choice in zip(goals, best[2], strict=True)}
    built = {goal: choice.built for goal, choice in zip(goals, best[2], strict=True) if choice.built != STANDS}
    return Landing(best[1], units, built)


class Choice(NamedTuple):
    """A unit for a goal: its Winters on the board, its steps, its name, and the Winter in which it is built."""

    winters: int
    steps: int
    unit: str
    built: int


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
            if cost + idle(chosen) < below:
                best, below = chosen, cost + idle(chosen)
            return
        for choice in choices[place]:
            if all((choice.unit[2:5], choice.built) != (each.unit[2:5], each.built) for each in chosen):
                go_on((*chosen, choice), cost + choice.winters)

    go_on((), 0)
    return below, best


def _idle(view: View, power: str, chosen: Sequence[Choice], room: int) -> float:
    """The further costs of choices in a Winter: units without a goal stay on the board while others are built, since a
    Winter allows either builds or disbands. Infinite if more units are to be built now than there is room for.
    """
    if sum(choice.built == 0 for choice in chosen) > room:
        return math.inf
    building = {choice.built for choice in chosen}
    winters = next(winter for winter in itertools.count() if winter not in building)
    used = {choice.unit for choice in chosen if choice.built == STANDS}
    return (winters + 1) * sum(unit not in used for unit in view.units[power]) if winters else 0


def _choices(view: View, power: str, goal: str, turns: int, winters: int) -> Iterator[Choice]:
    """The units that can be at a goal in time."""
    steps = steps_between(view.board)
    for unit in view.units[power]:
        if steps(unit, goal) <= turns + 2 * winters:
            yield Choice(winters, steps(unit, goal), unit, STANDS)
    standing = {unit[2:5] for units in view.units.values() for unit in units}
    for home in view.board.start_centers[power]:
        for when in range(winters):
            is_free = home in view.centers[power] and (when or turns or home not in standing)
            for unit in pieces_in(view.board, home) if is_free else ():
                if steps(unit, goal) <= 2 * (winters - when):
                    yield Choice(winters - when, steps(unit, goal), unit, when)


@functools.lru_cache(maxsize=1024)
def pieces_in(board: Board, province: str) -> tuple[str, ...]:
    """The units that may stand in a province, such as "A STP", "F STP/NC"."""
    return tuple(sorted(unit for unit in board.moves if unit[2:5] == province))


def own_landing(view: View, course: Course, members: Iterable[str]) -> Landing | None:
    """The landing of the view's power; a receiver's is at the earliest in the year after the first partner's."""
    members = tuple(members)
    goals = goals_of(view, course, members)
    held = {center for power in members if power != view.power for center in view.centers[power]}
    least = 0
    if course.move is Move.RECEIVE and not held.issuperset(goals):
        theirs = [landing(view, power, goals) for power in members if power != view.power]
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
    steps, moves = steps_between(view.board), view.board.moves
    foreign = set(view.board.centers).difference(view.centers[view.power])
    standing = {each[2:5] for power, units in view.units.items() if power not in members for each in units}
    dead: set[tuple[str, int]] = set()

    def onward(place: str, turn: int) -> list[str] | None:
        if turn == turns:
            return [place] if place[:3] == goal else None
        after, is_fall = turn + 1, (turns - turn) % 2 == 1
        near = sorted((place, *moves[f"{unit[0]} {place}"]), key=lambda each: steps(f"{unit[0]} {each}", goal))
        for there in near:
            province = there[:3]
            is_out = province in foreign and is_fall if after < turns else False
            if (
                (there, after) in dead
                or is_out
                or (province == goal) != (after == turns)
                or steps(f"{unit[0]} {there}", goal) > turns - after
                or (after == 1 and province in standing and after < turns)
                or province in traffic.taken.get(after, ())
                or (after, province, place[:3]) in traffic.crossed
            ):
                continue
            rest = onward(there, after)
            if rest is not None:
                return [place, *rest]
        dead.add((place, turn))
        return None

    return onward(unit[2:], 0)


def landing_winter(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """Builds the units that a landing needs, as late as possible, or disbands those that it does not need."""
    found = own_landing(view, course, members)
    if found is not None and 0 in found.built.values():
        return [f"{found.units[goal]} B" for goal, when in found.built.items() if when == 0][: view.max_builds]
    gone = sorted(set(view.units[view.power]).difference({} if found is None else found.standing))
    return [f"{unit} D" for unit in gone[: len(gone) if view.rules.is_welfare else view.must_disband]]
