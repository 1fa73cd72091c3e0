"""Errors of language-model players. Their texts never contain a key or a header."""

from __future__ import annotations

from typing import Any

from agents.asking import CallError
from welfare_env.errors import WelfareEnvError

FAULT_KINDS = (
    "bad request",  # the server rejects the request, e.g. a wrong parameter
    "authentication",  # no key, a wrong one, or one that may not use the model
    "not found",  # an unknown model, or an unknown path
    "quota",  # the account's money or quota is exhausted
    "unreachable",  # no connection: nothing listens there, or there is no such host
    "rate limit",  # too many requests
    "server",  # the server failed or is overloaded
    "timeout",  # no complete answer in time
    "connection",  # the connection broke off
    "malformed",  # an answer that violates the interface
    "empty",  # an answer without text, and without a reason
    "too long",  # a prompt or an answer longer than allowed
)
"""All kinds of faults of a call."""

ENDING_KINDS = frozenset({"authentication", "not found", "quota", "unreachable"})
"""Kinds with which every further call would fail, too: they end the run (`AccessError`)."""

PASSING_KINDS = frozenset({"rate limit", "server", "timeout", "connection", "malformed"})
"""Transient kinds: the same question may be answered later, so they end the game, which is resumed there."""


class LMError(WelfareEnvError):
    """Base of all errors of language-model players."""


class ModelError(LMError, CallError):
    """A call without a reply. If it may be answered later (`PASSING_KINDS`), the game stops there, and is resumed by
    the same command; otherwise the game goes on, and the player has no reply this time.

    Attributes:
        kind: one of `FAULT_KINDS`.
        faults: the kinds of all tries, including the last.
        usage: what the failed tries may have cost (`agents.lm.models.Usage`); None for nothing.
    """

    def __init__(self, kind: str, text: str, faults: tuple[str, ...] = (), usage: Any = None) -> None:
        super().__init__(kind, text, faults, usage)
        self.kind, self.faults, self.usage = kind, faults or (kind,), usage

    @property
    def is_passing(self) -> bool:
        """Whether the question may be answered later."""
        return self.kind in PASSING_KINDS

    def __str__(self) -> str:
        return str(self.args[1])


class AccessError(LMError):
    """A server cannot be used: every further call would fail, too. The call is not cached; the run has to end.

    Attributes:
        kind: one of `ENDING_KINDS`; for a server that answers nothing at all, the kind of the last fault.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[1])


class StoppedError(LMError):
    """A call was given up because the run ends: another call failed for good, or the run was interrupted."""


class BudgetError(LMError):
    """The budget of tokens or dollars does not allow this call. Nothing was sent; the run has to end."""


class CacheError(LMError):
    """The file of cached replies cannot be used. The message names the file and says what to do."""


class PromptError(LMError, ValueError):
    """A prompt, or part of one, cannot be sent."""


class ConfigError(LMError, ValueError):
    """A model or an option of one does not exist or is invalid."""
