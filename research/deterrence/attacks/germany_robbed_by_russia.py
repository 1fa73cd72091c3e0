"""Germany keeps Denmark neutral, is robbed by Russia as agreed, takes Denmark in the same Fall, and its own back.

Germany never owns more than its share when it takes Denmark, and whatever is due to it it may take back. Russia, the
thief, loses some centers to the posse, and refills with Rumania as in `russia_refills`.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED, Course, Move
from research.deterrence.attacks import FALL, SPRING, WINTER, armed, fetching

COURSES = {
    "GERMANY": (armed(1), armed(1), DISARMED),
    "RUSSIA": (Course(Move.DENY, wish=("RUM",), units=2), armed(2), armed(1), *(fetching(1),) * 3),
}
ORDERS = {
    (0, SPRING, "GERMANY"): ("F KIE - DEN", "A BER - KIE", "A MUN - BUR"),
    (0, FALL, "GERMANY"): ("F DEN - HEL", "A KIE - HOL", "A BUR - BEL"),
    (0, WINTER, "GERMANY"): ("F HEL D", "A BEL D"),
    (0, WINTER, "RUSSIA"): ("A MOS D", "F SWE D"),
    (1, SPRING, "GERMANY"): ("A HOL - KIE",),
    (1, SPRING, "RUSSIA"): ("A WAR - SIL", "F SEV H"),
    (1, FALL, "GERMANY"): ("A KIE - DEN",),
    (1, FALL, "RUSSIA"): ("A SIL - BER", "F SEV H"),
    (2, SPRING, "GERMANY"): ("A DEN - KIE",),
    (2, SPRING, "RUSSIA"): ("A BER - SIL", "F SEV - RUM"),
    (2, FALL, "GERMANY"): ("A KIE - BER",),
    (2, FALL, "RUSSIA"): ("A SIL - WAR", "F RUM H"),
}
