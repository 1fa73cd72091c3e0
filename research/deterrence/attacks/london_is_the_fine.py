"""England enters Sweden in 1902; in 1903 Germany stands in it before the posse can, and France takes London.

As `italy_is_taken_over` with one center: Germany's fleet waits in the Skagerrak, and England guards Norway, so the
posse gets nothing.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED, Course
from research.deterrence.attacks import FALL, SPRING, WINTER, armed

COURSES = {
    "ENGLAND": (Course(units=2), armed(2), DISARMED),
    "FRANCE": (Course(), armed(1), DISARMED),
    "GERMANY": (Course(units=1), armed(1), DISARMED),
}
ORDERS = {
    (0, WINTER, "ENGLAND"): ("A LVP D",),
    (0, WINTER, "GERMANY"): ("A BER D", "A BEL D"),
    (1, SPRING, "ENGLAND"): ("F DEN - SWE", "F NWY H"),
    (1, SPRING, "GERMANY"): ("F HOL - NTH",),
    (1, FALL, "ENGLAND"): ("F SWE H", "F NWY H"),
    (1, FALL, "GERMANY"): ("F NTH - SKA",),
    (1, WINTER, "FRANCE"): ("F BRE B",),
    (2, SPRING, "ENGLAND"): ("F SWE - DEN", "F NWY H"),
    (2, SPRING, "FRANCE"): ("F BRE - ENG",),
    (2, SPRING, "GERMANY"): ("F SKA - SWE",),
    (2, FALL, "ENGLAND"): ("F DEN - SKA", "F NWY H"),
    (2, FALL, "FRANCE"): ("F ENG - LON",),
    (2, FALL, "GERMANY"): ("F SWE S F NWY",),
}
