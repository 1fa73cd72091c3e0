"""France lands in all homes of England, disbands, and leaves them to Germany, which has stolen nothing.

Whoever is no thief may keep what it takes from a thief, or nobody could fight thieves. Together the two gained 0.7
points a year, until a thief was held responsible for what it passes on; now Germany gains at the cost of France.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED, Course
from research.deterrence.attacks import FALL, SPRING, WINTER

COURSES = {"FRANCE": (Course(), DISARMED), "GERMANY": (Course(), DISARMED)}
ORDERS = {
    (0, WINTER, "FRANCE"): ("F BRE B",),
    (0, WINTER, "GERMANY"): ("A BER D",),
    (1, SPRING, "FRANCE"): ("F POR - MAO", "F BRE - ENG", "A PAR - PIC", "A SPA - MAR"),
    (1, SPRING, "GERMANY"): ("F HOL H", "A BEL H"),
    (1, FALL, "FRANCE"): ("F MAO - NAO", "F ENG H", "A PIC H", "A MAR H"),
    (1, FALL, "GERMANY"): ("F HOL H", "A BEL H"),
    (1, WINTER, "FRANCE"): (),
    (1, WINTER, "GERMANY"): ("F KIE B",),
    (2, SPRING, "FRANCE"): ("F NAO - NWG", "A PIC - WAL VIA", "F ENG C A PIC - WAL", "A MAR H"),
    (2, SPRING, "GERMANY"): ("F HOL - NTH", "A BEL H", "F KIE - HOL"),
    (2, FALL, "FRANCE"): ("F NWG - EDI", "F ENG - LON", "A WAL - LVP", "A MAR H"),
    (2, FALL, "GERMANY"): ("F NTH - YOR", "A BEL H", "F HOL - NTH"),
    (2, WINTER, "FRANCE"): ("F EDI D", "F LON D", "A LVP D", "A MAR D"),
    (2, WINTER, "GERMANY"): (),
    (3, SPRING, "GERMANY"): ("F YOR - EDI", "A BEL - YOR VIA", "F NTH C A BEL - YOR"),
    (3, FALL, "GERMANY"): ("F EDI H", "A YOR - LVP", "F NTH - LON"),
}
