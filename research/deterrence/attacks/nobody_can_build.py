"""Austria, Germany and Russia stay armed, which is no theft, and take all twelve homes of the others in Fall 1903.

A posse is built in the Winter after the theft, in homes that its members still own; here there are none, then or later.
Fifteen units suffice for twelve homes; in 1902 they walk to within two moves of these. Without an enemy's unit on the
board the robbers disarm at once; Germany collects four more centers in 1904.
"""

from __future__ import annotations

from agents.scripted.planner.plans import DISARMED
from research.deterrence.attacks import FALL, SPRING, WINTER, armed

COURSES = {
    "AUSTRIA": (armed(5), armed(5), DISARMED),
    "GERMANY": (armed(5), armed(5), armed(4), DISARMED),
    "RUSSIA": (armed(5), armed(5), DISARMED),
}
ORDERS = {
    (0, SPRING, "AUSTRIA"): ("A BUD - SER", "A VIE H", "F TRI - ALB"),
    (0, SPRING, "GERMANY"): ("F KIE - HOL", "A BER H", "A MUN - RUH"),
    (0, SPRING, "RUSSIA"): ("A WAR H", "A MOS H", "F SEV H", "F STP/SC - FIN"),
    (0, FALL, "AUSTRIA"): ("A VIE H", "A SER H", "F ALB - GRE"),
    (0, FALL, "GERMANY"): ("A BER H", "F HOL H", "A RUH - BEL"),
    (0, FALL, "RUSSIA"): ("A WAR H", "A MOS H", "F SEV H", "F FIN - SWE"),
    (0, WINTER, "AUSTRIA"): ("A BUD B", "A TRI B"),
    (0, WINTER, "GERMANY"): ("A KIE B", "A MUN B"),
    (0, WINTER, "RUSSIA"): ("F STP/NC B",),
    (1, SPRING, "AUSTRIA"): ("A VIE H", "A SER H", "F GRE - ION", "A BUD - TRI", "A TRI - VEN"),
    (1, SPRING, "GERMANY"): ("A BER H", "F HOL - NTH", "A BEL - PIC", "A KIE - RUH", "A MUN - BUR"),
    (1, SPRING, "RUSSIA"): ("A WAR H", "A MOS - SEV", "F SEV - BLA", "F SWE - NWY", "F STP/NC H"),
    (1, FALL, "AUSTRIA"): ("A VIE H", "A SER H", "F ION H", "A TRI H", "A VEN - APU"),
    (1, FALL, "GERMANY"): ("A BER H", "F NTH H", "A PIC H", "A RUH - BUR", "A BUR - GAS"),
    (1, FALL, "RUSSIA"): ("A WAR H", "F STP/NC - BAR", "A SEV - ARM", "F BLA H", "F NWY - NWG"),
    (2, SPRING, "AUSTRIA"): ("A VIE - TYR", "A SER - BUL", "F ION - AEG", "A TRI - VEN", "A APU - NAP"),
    (2, SPRING, "GERMANY"): ("A BER - KIE", "F NTH H", "A PIC - BRE", "A BUR - PAR", "A GAS H"),
    (2, SPRING, "RUSSIA"): ("A WAR - GAL", "F BLA - CON", "F BAR - NWG", "A ARM H", "F NWG - CLY"),
    (2, FALL, "AUSTRIA"): ("A TYR - VEN", "A BUL H", "F AEG - SMY", "A VEN - ROM", "A NAP H"),
    (2, FALL, "GERMANY"): ("F NTH - LON", "A GAS - MAR", "A KIE - DEN", "A BRE H", "A PAR H"),
    (2, FALL, "RUSSIA"): ("A ARM - ANK", "A GAL - RUM", "F CON H", "F NWG - EDI", "F CLY - LVP"),
    (2, WINTER, "AUSTRIA"): ("A BUL D", "A NAP D", "A ROM D", "A VEN D", "F SMY D"),
    (2, WINTER, "GERMANY"): ("F LON D",),
    (2, WINTER, "RUSSIA"): ("A ANK D", "A RUM D", "F CON D", "F EDI D", "F LVP D"),
    (3, SPRING, "GERMANY"): ("A BRE H", "A PAR - GAS", "A MAR - SPA", "A DEN - SWE"),
    (3, FALL, "GERMANY"): ("A BRE - GAS", "A GAS - SPA", "A SPA - POR", "A SWE - NWY"),
    (3, WINTER, "GERMANY"): ("A GAS D", "A NWY D", "A POR D", "A SPA D"),
}
