"""Russia is robbed on purpose, refills with a center that it has kept neutral, and takes its own back.

In 1901 its fleet bounces the Turkish one in the Black Sea, so Rumania stays neutral, and no marshal fetches it later.
In 1902 its only unit takes Budapest; the posse takes that back and some of Russia's empty centers. Now Russia owns
fewer than its share, so Rumania is lawful; and what others hold of its own it may take at any time.
"""

from __future__ import annotations

from agents.scripted.planner.plans import Course, Move, Neutral
from research.deterrence.attacks import FALL, SPRING, armed, fetching

COURSES = {
    "RUSSIA": (
        Course(Move.DENY, wish=("RUM",), units=1),
        Course(Move.TAKE, ("AUSTRIA",), neutral=Neutral.NONE, most=6, units=1, wish=("BUD",)),
        armed(2),
        *(fetching(1),) * 4,
    )
}
ORDERS = {(2, SPRING, "RUSSIA"): ("A BUD - RUM",), (2, FALL, "RUSSIA"): ("A RUM H",)}
