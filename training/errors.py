"""What can be wrong with a training."""

from __future__ import annotations

from functools import partial

from welfare_env import checks
from welfare_env.errors import WelfareEnvError


class TrainingError(WelfareEnvError, ValueError):
    """A config whose fields are out of bounds or do not fit each other, the map or the checkpoint."""


check_whole = partial(checks.check_whole, error=TrainingError)


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Check that a value is a number from `low` to `high`; nan is none.

    Raises:
        TrainingError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise TrainingError(f"{name}={checks.quoted(value)}: give a number from {low:g} to {high:g}")
