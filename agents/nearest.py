"""What somebody may have meant who mistyped a name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 80  # characters of a name; comparing longer ones takes its time


def nearest(given: object, known: Iterable[str]) -> str:
    """ "; did you mean 'dove'?", or "" where nothing known is near. Capitals do not count."""
    if not isinstance(given, str) or len(given) > LONGEST:
        return ""
    folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(given.casefold(), folded, n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""
