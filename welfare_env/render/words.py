"""Text in pictures: escaping for SVG, widths, and names of phases."""

from __future__ import annotations

import html
import re

SEASONS = {"S": "Spring", "F": "Fall", "W": "Winter"}
KINDS = {"M": "movement", "R": "retreats", "A": "adjustments"}
END = "COMPLETED"
LONGEST = 400  # characters of a title
# Widths of characters in DejaVu Sans, a wide font, in thousandths of the font size. Others count as M.
WIDTHS = dict(zip("ABCDEFGHIJKLM", (684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863), strict=True))
WIDTHS |= zip("NOPQRSTUVWXYZ", (748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685), strict=True)
WIDTHS |= zip("abcdefghijklm", (613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974), strict=True)
WIDTHS |= zip("nopqrstuvwxyz", (634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525), strict=True)
UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 does not allow


def fit(text: str) -> str:
    """The text escaped, without characters that XML does not allow, and shortened to `LONGEST` characters."""
    cut = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    return html.escape(UNFIT.sub("\ufffd", cut))


def phase_title(name: str) -> str:
    """ "Fall 1904, movement" of "F1904M"."""
    if name == END:
        return "End of the game"
    return f"{SEASONS[name[0]]} {name[1:-1]}, {KINDS[name[-1]]}"


def text_width(text: str, size: float) -> float:
    return sum(WIDTHS.get(letter, WIDTHS["M"]) for letter in text) * size / 1000
