"""Checks of input: whole numbers, seeds, choices, indices.

Each returns the value, converted to the type that the code uses, or raises the caller's error class with the value
given and the values allowed.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from welfare_env.errors import ActionError, RulesError, did_you_mean

SEED_BITS = 128  # the size of numpy's seed sequences

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlevel = 3


def quoted(value: object) -> str:
    """A value of any type as a short text for an error message."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"{type(value).__name__} with thousands of digits"


def choice(name: str, value: Any, choices: Iterable[Any], error: type[Exception] = RulesError) -> Any:
    """Check that a value is one of the choices, and of the same type.

    Raises:
        error: the value is not one of the choices.
    """
    known = tuple(choices)
    if any(value is one or (type(value) is type(one) and value == one) for one in known):
        return value
    raise error(f"{name}={quoted(value)}{did_you_mean(value, known)}: choose one of {', '.join(map(repr, known))}")


def is_list(value: object) -> bool:
    """Whether a value lists others in an order: no text, set or dict, and no array without a dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Set, Mapping))


def is_whole(value: object) -> bool:
    """Whether a value is a Python or numpy integer; booleans and timedeltas are not."""
    if isinstance(value, np.integer):
        return value.dtype.kind in "iu"
    return isinstance(value, int) and not isinstance(value, bool)


def whole(name: str, value: Any, low: int, high: int | None = None, error: type[Exception] = RulesError) -> int:
    """Check a whole number against inclusive bounds.

    Raises:
        error: not a whole number, or out of bounds.
    """
    if is_whole(value) and low <= value and (high is None or value <= high):
        return int(value)
    bounds = f"from {low}" if high is None else f"from {low} to {high}"
    raise error(f"{name}={quoted(value)}: give a whole number {bounds}")


def whole_array(value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The value as an array of whole numbers with this shape; None if it is not one (booleans are refused)."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError):  # e.g. lists of different lengths
        return None
    return given if given.shape == shape and given.dtype.kind in "iu" else None


def check_whole(name: str, value: object, low: int, high: int, error: type[Exception] = RulesError) -> None:
    """Check that a value is a Python int (so that JSON can hold it) within bounds; see `whole`.

    Raises:
        error: not a Python int, or out of bounds.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise error(f"{name}={quoted(value)}: give a whole number from {low} to {high:,}")


def seed(value: Any, error: type[Exception] = RulesError) -> int:
    """Check a seed for numpy.

    Raises:
        error: negative, not a whole number, or more than SEED_BITS bits.
    """
    if is_whole(value) and 0 <= value < 2**SEED_BITS:
        return int(value)
    raise error(f"seed={quoted(value)}: give a whole number from 0, below 2**{SEED_BITS}")


def indices(name: str, values: Any, most: int, error: type[Exception] = ActionError) -> np.ndarray:
    """Check numbers from 0 to most - 1 and return them: int64 [k], C-contiguous.

    Raises:
        error: not a list of whole numbers, or a number is out of bounds.
    """
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):  # e.g. lists of different lengths
        given = np.array(None)
    is_list = given.ndim == 1 and (given.dtype.kind in "iu" or not given.size)
    if not is_list or (given.size and not 0 <= given.min() <= given.max() < most):
        raise error(f"{name}={quoted(values)}: give a list of whole numbers from 0 to {most - 1}")
    return np.ascontiguousarray(given, np.int64)
