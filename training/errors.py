"""What can be wrong with a training."""

from __future__ import annotations

from functools import partial

from welfare_env import checks
from welfare_env.errors import WelfareEnvError

MOST_GAMES = 1_000_000  # in a sample
MOST_SEED = 2**32 - 1  # numpy's own generator, which RLlib seeds, takes no more


class TrainingError(WelfareEnvError, ValueError):
    """Options that do not fit each other, the map or the checkpoint; the message says what would."""


check_whole = partial(checks.check_whole, error=TrainingError)


def check_number(name: str, value: object, most: float) -> None:
    """That a value is a number from 0 to `most`.

    Raises:
        TrainingError: it is not; nan is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise TrainingError(f"{name}={checks.shown(value)}: give a number from 0 to {most:g}")
