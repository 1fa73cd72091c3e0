"""Errors raised for bad input, and how to install a missing extra.

Every message says what was given, where, and what would be right.
"""

from __future__ import annotations

from pathlib import Path


class ModalError(Exception):
    """Base class of this package's errors."""


class FormulaError(ModalError, ValueError):
    """A text or a tree is not a formula, or not an agent.

    Attributes:
        text: the text that was read, or "".
        position: index into `text` of the first character that is wrong; the message counts from 1.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.text = text
        self.position = position


class GameError(ModalError, ValueError):
    """An invalid argument of a game, a play or a tournament."""


class ProgramActionError(ModalError, ValueError):
    """A value that is not an action, a player that does not exist, or an environment that is not running."""


def install_extra(extra: str) -> str:
    """How to install an extra: the same as `welfare_env.extras.install_extra`, which this package must not import."""
    if (Path(__file__).parents[1] / "constraints.txt").is_file():
        return f"the extra {extra}: in the clone, pip install -c constraints.txt -e '.[{extra}]'"
    return f"the extra {extra}: pip install 'welfare-env[{extra}]'"
