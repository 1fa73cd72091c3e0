"""Text of players and files, made safe for SVG."""

from __future__ import annotations

import html
import re

LONGEST = 400  # characters; a title that covers the screen helps nobody
UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 does not allow


def fit(text: str) -> str:
    """The text escaped, without characters that XML does not allow, and cut if it is very long."""
    cut = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    return html.escape(UNFIT.sub("\ufffd", cut))
