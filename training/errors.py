"""The error of this package."""

from __future__ import annotations

from functools import partial

from welfare_env import checks
from welfare_env.errors import WelfareEnvError


class TrainingError(WelfareEnvError, ValueError):
    """Invalid or incompatible options of a training, or a damaged, foreign or unwritable training folder."""


check_whole = partial(checks.check_whole, error=TrainingError)


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Check that a value is a number from `low` to `high`; nan is refused.

    Raises:
        TrainingError: not a number, or out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise TrainingError(f"{name}={checks.quoted(value)}: give a number from {low:g} to {high:g}")
