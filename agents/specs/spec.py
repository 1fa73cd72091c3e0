"""A parsed spec: the policy as games, results and errors refer to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from agents.policy import Policy
from agents.specs.grammar import error_of
from agents.specs.options import Folder
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Model = tuple[str, str]
"""A language model: its name and its server's address, "" for the provider's own server."""


@dataclass(frozen=True, eq=False)
class Spec:
    """A policy that can be made any number of times. Specs of the same text are equal.

    Attributes:
        text: as `agents.canonical` writes it; for an unnamed policy, a description for people.
        maker: makes a policy from the shared language models.
        options: the values of the options, parsed; those that are policies are specs.
        unnamed: the factory, instance or class, if no text can make it again; such specs are equal only if this is the
            same object.
        outside: the module that the policy is from, if it is the user's or of another distribution.
        parts: for a mix that is drawn once per game: each policy with its share.
    """

    text: str
    maker: Callable[[SharedModels | None], Policy] = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    unnamed: object = field(default=None, repr=False)
    outside: str = field(default="", repr=False)
    parts: tuple[tuple[Spec, float], ...] = field(default=(), repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.text == other.text and self.unnamed is other.unnamed

    def __hash__(self) -> int:
        return hash(self.text)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a value; an instance in it is copied when a policy is made

    @property
    def name(self) -> str:
        """The policy's name in specs: "dove"."""
        return self.text.partition(":")[0]

    @property
    def is_named(self) -> bool:
        """Whether its text makes the same policy in another process, or on another day."""
        return self.unnamed is None

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The language models in it. An address is of the server of a player's own model, and its summariser's if that
        is of the same provider.
        """
        found: list[Model] = []
        for options in (spec.options for spec in self.walk() if spec.name == "lm"):
            servers = {options["name"].partition("/")[0]: options.get("base_url", "")}
            asked = [options["name"], *({options.get("summariser", "self")} - {"self", "none"})]
            found += ((each, servers.get(each.partition("/")[0], "")) for each in asked)
        return tuple(found)

    @cached_property
    def checkpoints(self) -> tuple[str, ...]:
        """The folders of the learned players in it."""
        values = (value for spec in self.walk() for value in spec.options.values())
        return tuple(str(value) for value in values if isinstance(value, Folder))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The modules from outside this package."""
        return tuple(spec.outside for spec in self.walk() if spec.outside)

    @property
    def has_person(self) -> bool:
        """Whether a person plays, or a part of it."""
        return any(spec.name == "human" for spec in self.walk())

    def walk(self) -> Iterator[Spec]:
        """This spec, and all specs in it."""
        yield self
        inner = [value for value in self.options.values() if isinstance(value, Spec)]
        for spec in (*inner, *(part for part, _ in self.parts)):
            yield from spec.walk()

    def make(self, models: SharedModels | None = None) -> Policy:
        """A new policy; `reset` it before it plays.

        Args:
            models: the source of language models, with their budget and cache; None for a default source without
                either.

        Raises:
            UnknownAgentError: an option that the policy itself refuses, a checkpoint or a class that cannot be found,
                or an error in the user's code.
        """
        try:
            return self.maker(models)
        except ValueError as error:
            if isinstance(error, UnknownAgentError) and str(error).startswith("agent spec "):  # of a policy in it
                raise
            raise error_of(self.text, error) from error
