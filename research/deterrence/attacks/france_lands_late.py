"""France, alone, lands in five homes in Fall 1908, so late and so far off that the posse cannot undo it in time.

It arms without a theft, two fleets in 1906 and three units in 1907, which nobody answers. In Fall 1908 it takes all
homes of England, which then cannot build and which no army reaches, and Munich and Venice, the only homes from which
armies could reach France within a year; then it disbands all but one fleet. Until Fall 1909 the posse takes back only
Munich and Venice, while the fleet takes Norway. In 1910 France guards Burgundy, and takes Denmark, by sea or,
if its fleet had to retreat, from Sweden.
"""

from __future__ import annotations

from agents.scripted.planner.plans import Course
from research.deterrence.attacks import FALL, SPRING, SPRING_RETREAT, WINTER, armed

COURSES = {"FRANCE": (*(Course(),) * 5, armed(2), armed(5), armed(1), armed(2))}
ORDERS = {
    (5, WINTER, "FRANCE"): ("F BRE B", "F MAR B"),
    (6, SPRING, "FRANCE"): ("F BRE - ENG", "F MAR - SPA/SC"),
    (6, FALL, "FRANCE"): ("F ENG - NTH", "F SPA/SC - MAO"),
    (6, WINTER, "FRANCE"): ("F BRE B", "A MAR B", "A PAR B"),
    (7, SPRING, "FRANCE"): ("F NTH H", "F MAO - IRI", "F BRE - ENG", "A MAR - PIE", "A PAR - BUR"),
    (7, FALL, "FRANCE"): ("F NTH - EDI", "F IRI - LVP", "F ENG - LON", "A PIE - VEN", "A BUR - MUN"),
    (7, WINTER, "FRANCE"): ("F LVP D", "F LON D", "A VEN D", "A MUN D"),
    (8, SPRING, "FRANCE"): ("F EDI - NTH",),
    (8, FALL, "FRANCE"): ("F NTH - NWY",),
    (8, WINTER, "FRANCE"): ("A MAR B",),
    (9, SPRING, "FRANCE"): ("F NWY - NTH", "A MAR - BUR"),
    (9, SPRING_RETREAT, "FRANCE"): ("F NWY R SWE", "A MAR R SPA"),
    (9, FALL, "FRANCE"): ("F NTH - DEN", "F SWE - DEN", "A MAR H"),
}
