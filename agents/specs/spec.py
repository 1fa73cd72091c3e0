"""A parsed spec: the policy as games, results and errors refer to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agents.policy import Policy

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels


@dataclass(frozen=True, eq=False)
class Spec:
    """A policy that can be made any number of times. Specs of the same text are equal.

    Attributes:
        text: as `agents.canonical` writes it; for an unnamed policy, a description for people.
        maker: makes a policy from the shared language models.
        models: the language models in it: name and server address of each, "" for the provider's own server.
        checkpoints: the folders of the learned players in it.
        sources: functions that return the files of each policy from outside this package.
        unnamed: the factory, instance or class, if no text can make it again; such specs are equal only if this is the
            same object.
        parts: for a mix that is drawn once per game: each policy with its share.
        modules: the modules of this package that the policy depends on; the whole package if unknown.
    """

    text: str
    maker: Callable[[SharedModels | None], Policy] = field(repr=False)
    models: tuple[tuple[str, str], ...] = ()
    checkpoints: tuple[str, ...] = ()
    sources: tuple[Callable[[], list[Path]], ...] = field(default=(), repr=False)
    unnamed: object = field(default=None, repr=False)
    modules: tuple[str, ...] = field(default=("agents",), repr=False)
    parts: tuple[tuple[Spec, float], ...] = field(default=(), repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.text == other.text and self.unnamed is other.unnamed

    def __hash__(self) -> int:
        return hash(self.text)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a value; an instance in it is copied when a policy is made

    @property
    def is_named(self) -> bool:
        """Whether its text makes the same policy in another process, or on another day."""
        return self.unnamed is None

    def make(self, models: SharedModels | None = None) -> Policy:
        """A new policy; `reset` it before it plays.

        Args:
            models: the source of language models, with their budget and cache; None for a default source without
                either.

        Raises:
            UnknownAgentError: an option that the policy itself refuses, a checkpoint or a class that cannot be found,
                or an error in the user's code.
        """
        return self.maker(models)
