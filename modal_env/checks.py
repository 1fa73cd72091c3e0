"""Input checks: lists and numbers of any type, and their text in error messages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from itertools import islice
from numbers import Integral, Rational, Real

import numpy as np

from modal_env.errors import GameError

Number = Fraction | int | float | str

SIZES = (-330, 330)
"""Allowed sizes of numbers, as powers of ten; they include all floats but 0."""
EPSILONS = (-30, 6)
"""Allowed sizes of epsilon, as powers of ten."""
MAX_DIGITS = 400
"""Maximum length of the text of a number; numerators and denominators have about the same bound."""
MAX_BITS = 4 * MAX_DIGITS
FEW = 6  # an error lists all known names if there are no more than this
MAX_SEED = 1 << 128
MAX_ITEMS = 1_000_000  # that are read of a list: more than anything here takes, so a longer one fails as this does
NO_NUMBERS = (bool, np.timedelta64)  # though Python and numpy call them integers
_EXPONENT = re.compile(r"e([-+]?[\d_]+)\s*\Z", re.IGNORECASE)


def brief(value: object) -> str:
    """A value of any type as a short text for an error message."""
    try:
        return f"{value!r:.80}"
    except (
        ValueError,
        RecursionError,
    ):  # Python does not print integers of more than 4300 digits, or very deeply nested lists
        return f"of type {type(value).__name__}, too long to print"


def items(given: object, most: int = MAX_ITEMS) -> tuple[object, ...] | None:
    """The first `most` items of an iterable; None for strings and anything that is not iterable."""
    if isinstance(given, (str, bytes)):
        return None
    try:
        return tuple(islice(given, most))  # type: ignore[call-overload]  # raises TypeError if it is not iterable
    except TypeError:
        return None


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """Check a whole number, of Python or numpy, against bounds.

    Raises:
        GameError: the value is not a whole number within the bounds.
    """
    found = integer(value)
    if found is None or found < least or (most is not None and found > most):
        bounds = f"from {least:,}" if most is None else f"from {least:,} to {_short(most)}"
        raise GameError(f"{name}={brief(value)}: give a whole number {bounds}")
    return found


def _short(number: int) -> str:
    """A number with separators, or as 10^400 if it is long."""
    return f"{number:,}" if number < 10**15 else f"10^{len(str(number)) - 1}"


def seed_of(value: object) -> int:
    """Check a random seed.

    Raises:
        GameError: it is not a whole number from 0 to 2^128.
    """
    found = integer(value)
    if found is None or not 0 <= found <= MAX_SEED:
        raise GameError(f"seed={brief(value)}: give a whole number from 0 to 2^128")
    return found


def integer(value: object) -> int | None:
    """A Python or numpy integer as an int; None for anything else, booleans and durations of numpy included."""
    return None if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral) else int(value)


def real(value: object) -> float:
    """A number as a float; nan if it is not a number (a text, a boolean) or too large for a float."""
    try:
        return math.nan if isinstance(value, NO_NUMBERS) or not isinstance(value, Real) else float(value)
    except OverflowError:
        return math.nan


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Check that a value is one of the choices.

    Raises:
        GameError: it is not.
    """
    if not isinstance(value, str) or value not in choices:
        raise GameError(f"{name}={brief(value)}: choose one of {', '.join(map(repr, choices))}")
    return value


def nearest(name: str, known: Iterable[str], where: str = "") -> str:
    """ "did you mean Foo or Bar?"; if no name is similar, some of the known names, and where to find them all."""
    folded = {other.casefold(): other for other in known}
    near = [folded[other] for other in get_close_matches(name[:80].casefold(), folded, n=3, cutoff=0.7)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    names = list(folded.values())
    if len(names) <= FEW:
        return f"known are {', '.join(names) or 'none'}"
    return f"known are {', '.join(names[:3])} and {len(names) - 3} more" + (f": see {where}" if where else "")


def exact(value: object, name: str, sizes: tuple[int, int] = SIZES) -> Fraction:
    """A number as a Fraction. Floats are read as the decimal number they print as, so 0.1 is 1/10.

    Args:
        value: a whole number, a fraction or a float, of Python or numpy, or such a number as text, see `MAX_DIGITS`.
        name: what the number is, for the error message.
        sizes: powers of ten that bound its size, unless it is 0.

    Raises:
        GameError: it is not a finite number, or is too small, too large, or has too many digits.
    """
    is_far = _is_far(value)
    found = None if is_far else _fraction(value)
    if found is None and not is_far:
        raise GameError(f"{name} is {brief(value)}: give a number such as 1/100, 0.01 or Fraction(1, 100)")
    low, high = sizes
    if found is None or (found and not Fraction(10) ** low <= abs(found) <= 10**high):
        bounds = f"of a size from 10^{low} to 10^{high}, in {MAX_DIGITS} digits at most"
        raise GameError(f"{name} is {brief(value)}: give 0, or a number {bounds}")
    return found


def _is_far(value: object) -> bool:
    """Whether a number is too large, too small or too long to compute with."""
    if isinstance(value, NO_NUMBERS):
        return False
    if isinstance(value, Rational):
        return max(int(value.numerator).bit_length(), int(value.denominator).bit_length()) > MAX_BITS
    if not isinstance(value, str):
        return False
    found = _EXPONENT.search(value[-MAX_DIGITS:])
    try:
        return len(value) > MAX_DIGITS or (found is not None and abs(int(found[1])) > MAX_DIGITS)
    except ValueError:  # e.g. 1e__5
        return False


def _fraction(value: object) -> Fraction | None:
    """The value as a Fraction; None if it is not a number."""
    if isinstance(value, NO_NUMBERS):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(str(value)) if isinstance(value, (float, np.floating, str)) else None
    except (ValueError, ZeroDivisionError):
        return None
