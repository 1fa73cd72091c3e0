"""Errors of language-model players. None of their texts holds a key or a header."""

from __future__ import annotations

from typing import Any

from welfare_env.errors import WelfareEnvError

FAULT_KINDS = (
    "bad request",  # the server will not take the request: a wrong parameter
    "authentication",  # no key, a wrong one, or one that may not use the model
    "not found",  # an unknown model, or a path that the server does not have
    "quota",  # the account's money or quota is used up
    "unreachable",  # no connection: nobody listens, or there is no such host
    "rate limit",  # too many requests
    "server",  # the server failed, or has too much to do
    "timeout",  # no whole answer in the time allowed
    "connection",  # a connection that broke off
    "malformed",  # an answer that is not what the interface promises
    "empty",  # an answer without text, and no reason given
    "too long",  # a prompt or an answer longer than allowed
)
"""Everything that can be wrong with a call."""

ENDING_KINDS = frozenset({"authentication", "not found", "quota", "unreachable"})
"""Those that every further call would meet with, too: they end the run (`AccessError`)."""

PASSING_KINDS = frozenset({"rate limit", "server", "timeout", "connection"})
"""Those that say nothing about the question: asked another day, it may be answered."""


class LMError(WelfareEnvError):
    """Base of what can go wrong with language-model players."""


class ModelError(LMError):
    """A call that failed for good. The game can go on: the player has no reply this time.

    Attributes:
        kind: one of `FAULT_KINDS`.
        faults: the kind of every try, the last one included.
        usage: what the tries may have cost all the same (`agents.lm.models.Usage`); None for nothing.
    """

    def __init__(self, kind: str, text: str, faults: tuple[str, ...] = (), usage: Any = None) -> None:
        super().__init__(kind, text, faults, usage)
        self.kind, self.faults, self.usage = kind, faults or (kind,), usage

    def __str__(self) -> str:
        return str(self.args[1])


class AccessError(LMError):
    """A server cannot be used: every further call would fail, too. Nothing is kept of this one; the run has to end.

    Attributes:
        kind: one of `ENDING_KINDS`, or of a server that answers nothing at all, the last question's.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[1])


class StoppedError(LMError):
    """A call was given up because the run ends: another call cannot go on, or somebody has interrupted it."""


class BudgetError(LMError):
    """The budget of tokens or dollars does not allow this call. Nothing was sent; the run has to end."""


class CacheError(LMError):
    """The file of kept replies cannot be used as asked. The message names the file and says what to do."""


class PromptError(LMError, ValueError):
    """A prompt, or a part of one, that cannot be sent."""


class ConfigError(LMError, ValueError):
    """A model, or an option of one, that does not exist or makes no sense."""
