"""Landings: all homes of a victim in one Fall, so that it has no unit left and no place to build one."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.scripted.planner.distances import steps_between
from agents.scripted.planner.plans import Course, Move

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from welfare_env import View
    from welfare_env.board.board import Board

MOST_YEARS = 4  # Winters before a landing
MOST_CHOICES = 6  # units to choose from for each goal
TURNS_LEFT = {"S": 2, "F": 1, "W": 0}  # moves before the year's end


@dataclass(frozen=True)
class Landing:
    """Which unit goes to which goal.

    Attributes:
        winters: before the Fall in which all goals are entered.
        units: goal -> a unit that stands on the board, or is to be built.
        built: goal -> in which Winter from now on its unit is built; only those that do not stand yet.
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
    """Where members' units will be, so that later ones keep out of their way.

    Attributes:
        taken: turn -> provinces; the next turn is 1.
        crossed: (turn, from, to) of moves, which no unit can make the other way round.
    """

    taken: dict[int, set[str]] = field(default_factory=dict)
    crossed: set[tuple[int, str, str]] = field(default_factory=set)

    def add(self, path: Sequence[str]) -> None:
        """Note the locations of a unit now, in the next turn, and so on."""
        for turn, place in enumerate(path[1:], 1):
            self.taken.setdefault(turn, set()).add(place[:3])
            self.crossed.add((turn, path[turn - 1][:3], place[:3]))


def is_landing(course: Course) -> bool:
    """Whether units go next to all goals before the first is entered."""
    return course.move is Move.LAND or (course.move is Move.RECEIVE and bool(course.victims))


def goals_of(view: View, course: Course, members: Iterable[str]) -> list[str]:
    """The centers to land in: of a receiver those which partners hold, as soon as there are any."""
    homes = course.wish or [home for power in course.victims for home in view.board.start_centers[power]]
    held = {center for power in members if power != view.power for center in view.centers[power]}
    left = [home for home in homes if home not in view.centers[view.power]]
    if course.move is Move.LAND:
        return [home for home in left if home not in held]
    return [home for home in left if home in held] or left


def landing(view: View, power: str, goals: Sequence[str], least: int = 0) -> Landing | None:
    """The cheapest landing of a power's units, those that stand or are to be built, without convoys.

    A unit costs a point each Winter, and so does each goal that is not entered yet.

    Args:
        least: how many Winters pass before it at least.

    Returns:
        None if there is none within four years, or nothing to land in.
    """
    turns, room = TURNS_LEFT[view.season], len(view.centers[power]) - len(view.units[power])
    best: tuple[int, Landing] | None = None
    for winters in range(max(least, 1 if turns == 0 else 0), MOST_YEARS + 1) if goals else ():
        choices = [sorted(_choices(view, power, goal, turns, winters))[:MOST_CHOICES] for goal in goals]
        for chosen in itertools.product(*choices):
            if len({(unit[2:5], built) for _, _, unit, built in chosen}) < len(goals) or (
                turns == 0 and sum(built == 0 for *_, built in chosen) > room
            ):
                continue
            cost = winters * len(goals) + sum(each[0] for each in chosen) + _idle(view, power, chosen, turns)
            if best is None or cost < best[0]:
                units = {goal: unit for goal, (_, _, unit, _) in zip(goals, chosen, strict=True)}
                built = {goal: when for goal, (_, _, _, when) in zip(goals, chosen, strict=True) if when >= 0}
                best = cost, Landing(winters, units, built)
    return None if best is None else best[1]


def _idle(view: View, power: str, chosen: Iterable[tuple[int, int, str, int]], turns: int) -> int:
    """What units of no use cost: a Winter allows to build or to disband, so they stand, in the way of others, while
    those are built.
    """
    used = {unit for _, _, unit, built in chosen if built < 0}
    building = {built for *_, built in chosen}
    winters = next(winter for winter in itertools.count() if winter not in building)
    idle = sum(unit not in used for unit in view.units[power])
    return (winters + 1) * idle if turns == 0 and winters else 0


def _choices(view: View, power: str, goal: str, turns: int, winters: int) -> Iterator[tuple[int, int, str, int]]:
    """Winters in which a unit stands, steps, the unit, and when it is built (-1: it stands)."""
    steps = steps_between(view.board)
    for unit in view.units[power]:
        if steps(unit, goal) <= turns + 2 * winters:
            yield winters, steps(unit, goal), unit, -1
    standing = {unit[2:5] for units in view.units.values() for unit in units}
    for home in view.board.start_centers[power]:
        for when in range(winters):
            is_free = home in view.centers[power] and (when or turns or home not in standing)
            for unit in pieces_in(view.board, home) if is_free else ():
                if steps(unit, goal) <= 2 * (winters - when):
                    yield winters - when, steps(unit, goal), unit, when


@functools.lru_cache(maxsize=1024)
def pieces_in(board: Board, province: str) -> tuple[str, ...]:
    """The units that may stand in a province, such as "A STP", "F STP/NC"."""
    return tuple(sorted(unit for unit in board.moves if unit[2:5] == province))


def own_landing(view: View, course: Course, members: Iterable[str]) -> Landing | None:
    """The landing of the view's power: of a receiver in the year after the first partner's at the soonest."""
    members = tuple(members)
    goals = goals_of(view, course, members)
    held = {center for power in members if power != view.power for center in view.centers[power]}
    least = 0
    if course.move is Move.RECEIVE and not held.issuperset(goals):
        theirs = [landing(view, power, goals) for power in members if power != view.power]
        least = 1 + min((each.winters for each in theirs if each), default=0)
    return landing(view, view.power, goals, least)


def landing_moves(view: View, course: Course, members: Iterable[str], traffic: Traffic) -> dict[str, str]:
    """Unit -> order: next to the goals, and into all of them in the Fall in which all can be entered.

    Args:
        traffic: of members that have moved before; the view's power is added.
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
    """Where the unit is now, after the next turn, and so on, the goal at last; it goes as soon as it can.

    It rests in no center of others in a Fall, and is in the goal at the end only.
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
    """Builds before a landing the units that it needs, as late as can be, or disbands those of no use."""
    found = own_landing(view, course, members)
    if found is not None and 0 in found.built.values():
        return [f"{found.units[goal]} B" for goal, when in found.built.items() if when == 0][: view.max_builds]
    gone = sorted(set(view.units[view.power]).difference({} if found is None else found.standing))
    return [f"{unit} D" for unit in gone[: len(gone) if view.rules.is_welfare else view.must_disband]]
