"""A spec as a value: what games, results and errors carry once a policy's text has been read."""

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
    """A policy that can be made any number of times. Specs of the same text are equal, and hashed alike.

    Attributes:
        text: as `agents.canonical` writes it; for an unnamed policy, what it is, for people.
        maker: makes a policy, given the language models that all of them share.
        models: the language models in it, each by its name and the address of its server, "" for the provider's own.
        checkpoints: the folders of the learned players in it.
        sources: each gives the files of a policy from outside this package.
        unnamed: the factory, instance or class that it was read from, where no text says how to get it again; such
            specs are equal only if this is the same object.
        parts: of a mix of policies that is drawn once a game: each with its share.
        modules: of this package, that it and the policies in it are made of; the whole package where that is not told.
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
        """A new policy, which plays after a `reset`.

        Args:
            models: where language models come from, with their budget and their cache; None for those that all players
                made so share, which have neither.

        Raises:
            UnknownAgentError: an option that the policy itself refuses, a checkpoint or a class that cannot be found,
                or an error in the user's code.
        """
        return self.maker(models)
