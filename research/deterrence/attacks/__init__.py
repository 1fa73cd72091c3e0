"""Attacks on deterrents, one a file: fixed plans of some powers on the standard map, in games of ten years.

A new attack is a module here; `research.deterrence.record` then tries it on every rule. `COURSES`: power -> what it
does in each year; then it is disarmed. `ORDERS`: (year, phase, power) -> orders in place of those of its course.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from agents.scripted.planner.campaign import CampaignPolicy
from agents.scripted.planner.plans import Course, Move, Neutral, Plan, ended

if TYPE_CHECKING:
    from welfare_env import View

SPRING, SPRING_RETREAT, FALL, WINTER = 0, 1, 2, 4  # phases of a year


def armed(units: int) -> Course:
    """A year of holding, with some units after it."""
    return Course(Move.HOLD, units=units)


def fetching(units: int) -> Course:
    """A year of taking neutral centers up to the share, and then what is due."""
    return Course(Move.FETCH, neutral=Neutral.ALL, units=units)


def names() -> list[str]:
    """The attacks."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def members(name: str) -> tuple[str, ...]:
    """The powers that attack."""
    return tuple(import_module(f"{__name__}.{name}").COURSES)


class WrittenAttack(CampaignPolicy):
    """Follows one of the attacks.

    Args:
        attack: the name of its module.
    """

    def __init__(self, attack: str) -> None:
        super().__init__()
        self.attack = attack

    def make_plan(self, view: View) -> Plan:
        """The plan as it is written."""
        module, years = import_module(f"{__name__}.{self.attack}"), view.rules.years
        courses = {who: ended(own, years) for who, own in module.COURSES.items()}
        return Plan(courses, module.ORDERS)
