"""Errors that the public edge raises. Every message says what came in, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """What an error adds about a word that is none of a closed list: " (did you mean 'hold'?)", or nothing."""
    if not isinstance(word, str):
        return ""
    folded = {str(other).casefold(): other for other in known}
    near = get_close_matches(word[:80].casefold(), folded, n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(repr(folded[other]) for other in near)}?)" if near else ""


class WelfareEnvError(Exception):
    """Base of all errors raised on purpose by this distribution."""


class RulesError(WelfareEnvError, ValueError):
    """An option of the rules is unknown, out of range, or at odds with another."""


class UnknownMapError(WelfareEnvError, ValueError):
    """No board has this name, and no map file lies at this path."""


class MapFormatError(WelfareEnvError, ValueError):
    """A map file is damaged, or uses something that the engines do not support."""


class UnknownPowerError(WelfareEnvError, ValueError):
    """The board has no power of this name."""


class PositionError(WelfareEnvError, ValueError):
    """A position given by hand is not possible on its board."""


class YearError(WelfareEnvError, ValueError):
    """A year that a game has not played, or not finished."""


class OrderError(WelfareEnvError, ValueError):
    """Base of what can be wrong with an order."""


class OrderSyntaxError(OrderError):
    """The text is no order at all."""


class IllegalOrderError(OrderError):
    """A well-formed order that the position does not allow."""


class ActionError(WelfareEnvError, ValueError):
    """Something given to an environment is no action at all, or for an agent that does not exist."""


class PressError(WelfareEnvError, ValueError):
    """A message that cannot be sent: wrong recipient, wrong phase, too long, no token, or no press in this game."""


class GameOverError(WelfareEnvError, RuntimeError):
    """Something was done to a game that has ended, or to an environment before its reset."""


class RecordError(WelfareEnvError, ValueError):
    """A saved game is damaged, truncated, or not one of ours."""


class UnknownAgentError(WelfareEnvError, ValueError):
    """A specification names a policy that does not exist, or gives it options it does not take."""
