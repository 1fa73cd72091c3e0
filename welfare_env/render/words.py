"""Words on pictures: text of players and files, made safe for SVG, and names of phases."""

from __future__ import annotations

import html
import re

SEASONS = {"S": "Spring", "F": "Fall", "W": "Winter"}
KINDS = {"M": "movement", "R": "retreats", "A": "adjustments"}
END = "COMPLETED"
LONGEST = 400  # characters; a title that covers the screen helps nobody
UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 does not allow


def fit(text: str) -> str:
    """The text escaped, without characters that XML does not allow, and cut if it is very long."""
    cut = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    return html.escape(UNFIT.sub("\ufffd", cut))


def phase_title(name: str) -> str:
    """ "Fall 1904, movement" of "F1904M"."""
    if name == END:
        return "End of the game"
    return f"{SEASONS[name[0]]} {name[1:-1]}, {KINDS[name[-1]]}"
