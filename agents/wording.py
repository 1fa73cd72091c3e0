"""What errors say of a value that is wrong: what it is, and what may have been meant."""

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


def told(value: object) -> str:
    """A value as errors quote it: Python refuses to write down numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"{'-' * (value < 0)}2**{value.bit_length() - 1} or more"
    try:
        return f"{value!r:.80}"
    except ValueError:  # such a number within a list
        return f"a {type(value).__name__} that cannot be shown"
