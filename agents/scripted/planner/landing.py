"""Landings: entering all homes of a victim in one Fall, so that it can neither keep units nor build any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from agents.scripted.peaceful_policy import foreign_centers, occupied
from agents.scripted.planner.distances import steps_between
from agents.scripted.planner.plans import Course, Move

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from welfare_env import View

MAX_WINTERS = 4  # before a landing
STANDS = -1  # instead of the Winter in which a unit is built: it is on the board
NEVER = 1e3  # the cost of what cannot be
TURNS_LEFT = {"S": 2, "F": 1, "W": 0}  # moves before the year's end


class Landing(NamedTuple):
    """The units that go to the goals.

    Attributes:
        winters: Winters before the Fall in which all goals are entered.
        standing: goal -> its unit, of units on the board.
        built: units to build this Winter.
    """

    winters: int
    standing: dict[str, str]
    built: list[str]


def is_landing(course: Course) -> bool:
    """Whether units first gather next to all goals, before any goal is entered."""
    return course.move is Move.LAND or (course.move is Move.RECEIVE and bool(course.victims))


def landing(view: View, power: str, goals: Sequence[str], least: int = 0) -> Landing | None:
    """The soonest landing of a power's units, on the board or built, with the fewest Winters; None without one.

    They go around centers of others.

    Args:
        least: the minimum number of Winters before it.
    """
    from scipy.optimize import linear_sum_assignment  # lazy: scipy is slow to import

    steps = steps_between(view.board, frozenset(foreign_centers(view, power)))
    turns, taken = TURNS_LEFT[view.season], occupied(view)
    homes = sorted(set(view.board.start_centers[power]) & set(view.centers[power]))
    pieces = [(home, unit) for home in homes for unit in sorted(view.board.moves) if unit[2:5] == home]
    for winters in range(max(least, turns == 0), MAX_WINTERS + 1) if goals else ():
        seats: list[tuple[int, str]] = [(STANDS, unit) for unit in view.units[power]]
        seats += [(when, home) for when in range(winters) for home in homes if when + turns or home not in taken]
        costs = np.full((len(goals), len(seats)), NEVER)
        chosen: dict[tuple[str, int, str], str] = {}
        for number, goal in enumerate(goals):
            for place, (when, name) in enumerate(seats):
                near = [name] if when == STANDS else [unit for home, unit in pieces if home == name]
                unit = min(near, key=lambda each: steps(each, goal))
                if steps(unit, goal) <= turns * (when == STANDS) + 2 * (winters - max(when, 0)):
                    chosen[goal, when, name] = unit
                    waiting = winters - max(when, 0) + (when != STANDS) / 2  # units on the board first
                    costs[number, place] = waiting + steps(unit, goal) / NEVER
        found = [(goals[row], *seats[column]) for row, column in zip(*linear_sum_assignment(costs), strict=True)]
        if len(found) == len(goals) and all(each in chosen for each in found):
            now = [chosen[each] for each in found if each[1] == turns == 0]
            return Landing(winters, {goal: unit for goal, when, unit in found if when == STANDS}, now)
    return None


def own_landing(view: View, course: Course, members: Iterable[str]) -> Landing | None:
    """The landing of the view's power; a receiver's is at the earliest in the year after the first partner's.

    A receiver lands in the centers that partners hold, once they hold any.
    """
    homes = course.wish or course.homes(view.board)
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
