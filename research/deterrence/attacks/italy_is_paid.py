"""As `germany_keeps_england`; and France pays for the three homes with three centers of its own, which Italy takes.

A thief that has lost as many centers as it passed on is no thief any more. Here its friends have all of them: England's
homes are Germany's, and France's centers Italy's. The thief's neighbors are its partners, so no posse comes in time.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED, Course
from research.deterrence.attacks import FALL, SPRING, WINTER, germany_keeps_england

COURSES = {**germany_keeps_england.COURSES, "ITALY": (Course(), DISARMED)}
ORDERS = {
    **germany_keeps_england.ORDERS,
    (1, WINTER, "ITALY"): ("A VEN B", "F NAP B"),
    (2, SPRING, "ITALY"): ("A VEN - PIE", "F NAP - TYS"),
    (2, FALL, "ITALY"): ("A PIE H", "F TYS - LYO"),
    (2, WINTER, "ITALY"): (),
    (3, SPRING, "ITALY"): ("A PIE - MAR", "F LYO - SPA/SC"),
    (3, FALL, "ITALY"): ("A MAR H", "F SPA/SC H"),
    (3, WINTER, "ITALY"): ("A MAR D",),
    (4, SPRING, "ITALY"): ("F SPA/SC - POR",),
    (4, FALL, "ITALY"): ("F POR H",),
}
