"""Italy takes all homes of Austria in 1902 and disbands; in 1903 Russia takes these, and France three of Italy's own.

The partners are armed before the theft, so they stand in all these centers in Spring 1903, when the posse has just been
built; it enters no friend's province. The one that holds loot and the one that collects for it are two powers: what a
thief loses to a power that holds its loot does not count.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED
from research.deterrence.attacks import FALL, SPRING, WINTER, armed

COURSES = {
    "FRANCE": (armed(4), armed(4), DISARMED),
    "ITALY": (armed(4), DISARMED),
    "RUSSIA": (armed(2), armed(3), DISARMED),
}
ORDERS = {
    (0, SPRING, "FRANCE"): ("F BRE - MAO", "A MAR - SPA", "A PAR H"),
    (0, SPRING, "ITALY"): ("A VEN - TYR", "A ROM - VEN", "F NAP - ION"),
    (0, SPRING, "RUSSIA"): ("F STP/SC - FIN", "A WAR - GAL", "A MOS - WAR", "F SEV H"),
    (0, FALL, "FRANCE"): ("F MAO - POR", "A SPA H", "A PAR - GAS"),
    (0, FALL, "ITALY"): ("A TYR H", "A VEN H", "F ION - TUN"),
    (0, FALL, "RUSSIA"): ("F FIN - SWE", "A GAL H", "A WAR H", "F SEV H"),
    (0, WINTER, "FRANCE"): ("F MAR B",),
    (0, WINTER, "ITALY"): ("A ROM B",),
    (0, WINTER, "RUSSIA"): ("F SWE D", "F SEV D"),
    (1, SPRING, "FRANCE"): ("F MAR - LYO", "F POR - MAO", "A GAS - MAR"),
    (1, SPRING, "ITALY"): ("A VEN - TRI", "A ROM - VEN", "A TYR H"),
    (1, SPRING, "RUSSIA"): ("A GAL - BOH", "A WAR - GAL"),
    (1, FALL, "FRANCE"): ("F LYO - TYS", "F MAO - WES", "A MAR - PIE"),
    (1, FALL, "ITALY"): ("A TRI - BUD", "A VEN - TRI", "A TYR - VIE"),
    (1, FALL, "RUSSIA"): ("A BOH H", "A GAL H"),
    (1, WINTER, "FRANCE"): ("A SPA D",),
    (1, WINTER, "RUSSIA"): ("A WAR B",),
    (2, SPRING, "FRANCE"): ("F TYS - ROM", "F WES - TUN", "A PIE - VEN"),
    (2, SPRING, "RUSSIA"): ("A BOH - VIE", "A GAL - BUD", "A WAR - GAL"),
    (2, FALL, "FRANCE"): ("F ROM H", "F TUN H", "A VEN H"),
    (2, FALL, "RUSSIA"): ("A VIE S A BUD - TRI", "A BUD - TRI", "A GAL - BUD"),
}
