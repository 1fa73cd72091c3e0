"""Errors of language-model players. None of their texts holds a key or a header."""

from __future__ import annotations

from typing import Any

from welfare_env.errors import WelfareEnvError

FAULT_KINDS = (
    "bad request",  # the server will not take the request: a wrong parameter, an unknown model
    "authentication",  # no key, a wrong one, or one that may not use the model
    "rate limit",  # too many requests, or the account's quota is used up
    "server",  # the server failed, or has too much to do
    "timeout",  # no whole answer in the time allowed
    "connection",  # no connection, or one that broke off
    "malformed",  # an answer that is not what the interface promises
    "empty",  # an answer without text, and no reason given
    "too long",  # a prompt or an answer longer than allowed
)
"""Everything that can be wrong with a call."""


class LMError(WelfareEnvError):
    """Base of what can go wrong with language-model players."""


class ModelError(LMError):
    """A call that failed for good. The game can go on: the player has no reply this time.

    Attributes:
        kind: one of `FAULT_KINDS`.
        faults: the kind of every try, the last one included.
        usage: what the tries have used all the same (`agents.lm.models.Usage`); None for nothing.
    """

    def __init__(self, kind: str, text: str, faults: tuple[str, ...] = (), usage: Any = None) -> None:
        super().__init__(kind, text, faults, usage)
        self.kind, self.faults, self.usage = kind, faults or (kind,), usage

    def __str__(self) -> str:
        return str(self.args[1])


class BudgetError(LMError):
    """The budget of tokens or dollars does not allow this call. Nothing was sent; the run has to end."""


class CacheError(LMError):
    """The file of kept replies cannot be used as asked. The message names the file and says what to do."""


class PromptError(LMError, ValueError):
    """A prompt, or a part of one, that cannot be sent."""


class ConfigError(LMError, ValueError):
    """A model, or an option of one, that does not exist or makes no sense."""
