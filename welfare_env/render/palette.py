"""Colors and letters of powers, and the colors of everything else on a board.

The seven great powers have Okabe and Ito's colors, which color-blind readers can distinguish, each close to its
traditional color; further powers have Kelly's colors of maximum contrast (1965). Each unit also has its power's letter.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from itertools import takewhile

GREAT_POWERS = {
    "AUSTRIA": "#d55e00",
    "ENGLAND": "#0072b2",
    "FRANCE": "#56b4e9",
    "GERMANY": "#4d4d4d",
    "ITALY": "#009e73",
    "RUSSIA": "#cc79a7",
    "TURKEY": "#f0e442",
}
OTHERS = (
    *GREAT_POWERS.values(),
    *("#875692", "#c2b280", "#be0032", "#8db600", "#604e97", "#f99379", "#882d17", "#a1caf1", "#f38400", "#654522"),
    *("#b3446c", "#848482", "#2b3d26"),
)

# The map: fills of areas, and the lines around them.
LAND, WATER, STRAIT, IMPASSABLE, HATCH = "#f5eedc", "#d3e5f0", "#bcd7e7", "#e4e1d8", "#c4c0b5"
COAST_LINE, LAND_LINE, SEA_LINE, SHALLOWS = "#566472", "#9a8b6f", "#7fa6c2", "#bfd9e8"
GRAPH_GROUND = "#f4f4f0"
INK, SEA_INK, PAPER = "#33302a", "#35618a", "#ffffff"

ALIKE = 3  # minimum length of a prefix of all names to be written as a separate word

# Orders, by result. Line patterns and ends show the result, too.
RESULTS = {
    "success": "#14532d",
    "bounce": "#c2410c",
    "cut": "#7e22ce",
    "void": "#6b7280",
    "no-convoy": "#0e7490",
    "disrupted": "#a21caf",
    "disband": "#c1121f",
    "dislodged": "#c1121f",
}


def power_colors(powers: Sequence[str]) -> dict[str, str]:
    """Power -> its color as "#rrggbb"."""
    taken = {GREAT_POWERS[power] for power in powers if power in GREAT_POWERS}
    free = [color for color in OTHERS if color not in taken]
    others = [power for power in powers if power not in GREAT_POWERS]
    given = {power: free[number % len(free)] for number, power in enumerate(others)}
    return {power: GREAT_POWERS.get(power) or given[power] for power in powers}


def power_letters(powers: Sequence[str]) -> dict[str, str]:
    """Power -> a unique label: its first letter or two, if all these differ.

    Otherwise its name without the common prefix (PLAYERA, PLAYERB ...), or its number.
    """
    common = _common(powers)
    for cut, size in itertools.product((0, common), (1, 2)):
        marks = {power: power[cut : cut + size].title() for power in powers}
        if len(set(marks.values())) == len(powers) and all(marks.values()):
            return marks
    return {power: str(number + 1) for number, power in enumerate(powers)}


def _common(powers: Sequence[str]) -> int:
    """Length of the names' common prefix."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*powers, strict=False)))


def power_names(powers: Sequence[str]) -> dict[str, str]:
    """Power -> its display name: "France"; "Player A" if all names have a common prefix."""
    common = _common(powers)
    cut = common if len(powers) > 1 and common >= ALIKE else 0
    return {power: f"{power[:cut].title()} {power[cut:]}".strip() if cut else power.title() for power in powers}


def mixed(color: str, other: str, share: float) -> str:
    """Blend two colors, with weight `share` for the first, as "#rrggbb"."""
    pairs = zip(channels(color), channels(other), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def ink_on(color: str) -> str:
    """Black or white, whichever contrasts more with a color (WCAG 2.2, relative luminance)."""
    light = luminance(color)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "#000000"


def luminance(color: str) -> float:
    """Relative luminance of a color, 0 to 1 (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def channels(color: str) -> tuple[int, int, int]:
    """Red, green and blue of "#rrggbb", 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
