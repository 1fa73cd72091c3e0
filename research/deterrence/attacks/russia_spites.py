"""Russia keeps Norway and Rumania neutral, at no cost to itself, and is never punished: it owns nothing of others."""

from __future__ import annotations

from agents.scripted.planner.plans import Course
from research.deterrence.attacks import FALL, SPRING

COURSES = {"RUSSIA": (Course(units=0),)}
ORDERS = {
    (0, SPRING, "RUSSIA"): ("A MOS - STP", "F SEV - BLA", "F STP/SC - FIN", "A WAR H"),
    (0, FALL, "RUSSIA"): ("A STP - NWY", "F SEV H", "F FIN - SWE", "A WAR H"),
}
