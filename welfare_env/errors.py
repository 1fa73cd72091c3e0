"""Errors raised for bad input. Every message names the input, its place, and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """A suggestion for an unknown word: " (did you mean 'hold'?)", or ""."""
    if not isinstance(word, str):
        return ""
    folded = {str(other).casefold(): other for other in known}
    near = get_close_matches(word[:80].casefold(), folded, n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(repr(folded[other]) for other in near)}?)" if near else ""


class WelfareEnvError(Exception):
    """Base of all errors that this distribution raises itself."""


class RulesError(WelfareEnvError, ValueError):
    """An option of the rules is unknown, out of range, or conflicts with another."""


class UnknownMapError(WelfareEnvError, ValueError):
    """There is no board of this name, and no map file at this path."""


class MapFormatError(WelfareEnvError, ValueError):
    """A map file is damaged, or uses something that the engines do not support."""


class UnknownPowerError(WelfareEnvError, ValueError):
    """The board has no power of this name."""


class PositionError(WelfareEnvError, ValueError):
    """A position set up by the user is impossible on its board."""


class OrderError(WelfareEnvError, ValueError):
    """Base of all errors in orders."""


class OrderSyntaxError(OrderError):
    """The text is not an order."""


class IllegalOrderError(OrderError):
    """A well-formed order that the position does not allow.

    Attributes:
        kind: "order not legal", "order coast" (right but for a coast), "order unclear" (several may be meant),
            "order of others" (another power's unit), "second order", "builds and disbands" (not both), or "too many".
    """

    def __init__(self, message: str, kind: str = "order not legal") -> None:
        super().__init__(message)
        self.kind = kind


class ActionError(WelfareEnvError, ValueError):
    """A malformed action, or an action for an unknown agent."""


class PressError(WelfareEnvError, ValueError):
    """A message that cannot be sent: wrong recipient, wrong phase, too long, not a token, or no press in this game."""


class GameOverError(WelfareEnvError, RuntimeError):
    """A call on a game that has ended, or on an environment before its reset."""


class PictureError(WelfareEnvError, ValueError):
    """A picture cannot be drawn: an impossible size, or the extra that draws pixels is not installed."""


class RecordError(WelfareEnvError, ValueError):
    """A saved game is damaged, truncated, or of an unknown format; or a file cannot be written."""


class UnknownAgentError(WelfareEnvError, ValueError):
    """A specification names a policy that does not exist, or gives it options it does not take."""
