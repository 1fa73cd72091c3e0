"""What can be wrong with a training."""

from __future__ import annotations

from agents.wording import told
from welfare_env.errors import WelfareEnvError

MOST_GAMES = 1_000_000  # in a sample
MOST_SEED = 2**32 - 1  # numpy's own generator, which RLlib seeds, takes no more


class TrainingError(WelfareEnvError, ValueError):
    """Options that do not fit each other, the map or the checkpoint; the message says what would."""


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """That a value is a whole number from `least` to `most`.

    Raises:
        TrainingError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TrainingError(f"{name}={told(value)}: give a whole number from {least} to {most:,}")


def check_number(name: str, value: object, most: float) -> None:
    """That a value is a number from 0 to `most`.

    Raises:
        TrainingError: it is not; nan is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise TrainingError(f"{name}={told(value)}: give a number from 0 to {most:g}")
