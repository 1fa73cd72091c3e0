"""As `germany_robbed_by_russia`, with France as the thief: it takes Munich and goes home."""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED
from research.deterrence.attacks import FALL, SPRING, WINTER, armed, fetching
from research.deterrence.attacks.germany_robbed_by_russia import ORDERS as RUSSIAN

GERMANY = {
    **{moment: orders for moment, orders in RUSSIAN.items() if moment[2] == "GERMANY"},
    (2, FALL, "GERMANY"): ("A KIE - MUN",),
}

COURSES = {
    "FRANCE": (armed(1), armed(1), armed(1), *(fetching(1),) * 4),
    "GERMANY": (armed(1), armed(1), DISARMED),
}
ORDERS = {
    **GERMANY,
    (0, SPRING, "FRANCE"): ("F BRE - MAO", "A MAR - SPA", "A PAR H"),
    (0, FALL, "FRANCE"): ("F MAO - POR", "A SPA H", "A PAR H"),
    (0, WINTER, "FRANCE"): ("F POR D", "A SPA D"),
    (1, SPRING, "FRANCE"): ("A PAR - BUR",),
    (1, FALL, "FRANCE"): ("A BUR - MUN",),
    (2, SPRING, "FRANCE"): ("A MUN - BUR",),
    (2, FALL, "FRANCE"): ("A BUR H",),
}
