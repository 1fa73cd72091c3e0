"""A parsed spec, the policy as games, results and errors refer to it; and the grammar of its text.

A text is NAME, then a colon and pieces between commas, most of them KEY=VALUE. Blanks around pieces do not count. A
piece may stand in parentheses, and must if it contains commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from agents.policy import Policy
from welfare_env.checks import quoted
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

LONGEST = 10_000  # characters of a spec
DEEPEST = 20  # levels of nested specs
QUOTED = 400  # characters of a spec in an error
_KEY_GIVEN = re.compile(r"(\b(?:(?:api_?)?key|token|secret|password|auth\w*)\s*=\s*)[^,()]*", re.I)
"""A key written as an option. There is no such option, since keys come from the environment; so errors hide it."""

Model = tuple[str, str]
"""A language model: its name and its server's address, "" for the provider's own server."""


class Folder(str):
    """The folder of a checkpoint."""


class SpecFault(ValueError):
    """A piece of a spec is wrong; `error_of` adds the whole spec.

    Args:
        piece: the text of the piece; "" for the end of the spec.
    """

    def __init__(self, piece: str, message: str) -> None:
        super().__init__(message)
        self.piece = piece


def error_of(text: str, fault: ValueError) -> UnknownAgentError:
    """The error about a spec that users see; passwords and keys in the spec are hidden."""
    whole, place = without_secrets(text), ""
    if isinstance(fault, SpecFault):
        piece = without_secrets(fault.piece)
        place = f", at {piece if piece in whole else '[hidden]'!r:.{QUOTED}}" if piece else ", at its end"
    return UnknownAgentError(f"agent spec {whole!r:.{QUOTED}}{place}: {fault}")


def without_secrets(text: str) -> str:
    """The text with passwords and anything that may be a key hidden."""
    from agents.lm.models.secrets import hide_secrets, redacted

    return _KEY_GIVEN.sub(r"\1[hidden]", redacted(hide_secrets(text)))


def checked_text(spec: object) -> str:
    """A text that is short enough to be a spec.

    Raises:
        UnknownAgentError: not a string, or longer than `LONGEST`.
    """
    if not isinstance(spec, str):
        example = "'exploiter:nice=prosocial,attack=dumbbot'"
        raise UnknownAgentError(
            f"agent spec {quoted(spec)}: give a string such as {example}, or a class, a factory or an instance"
        )
    if len(spec) > LONGEST:
        raise UnknownAgentError(f"an agent spec of {len(spec):,} characters: give {LONGEST:,} at most")
    return spec


def depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Each sign of a text: its place, the sign, and how many parentheses are open behind it."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        yield place, sign, depth


def split(text: str, mark: str = ",") -> list[str]:
    """The pieces between the marks; marks in parentheses do not count. No text has no pieces.

    Raises:
        SpecFault: unbalanced parentheses.
    """
    pieces, start, depth = [], 0, 0
    for place, sign, depth in depths(text):
        if depth < 0:
            raise SpecFault(text[place:], "a parenthesis is closed that was not opened")
        if sign == mark and depth == 0:
            pieces.append(text[start:place].strip())
            start = place + 1
    if depth:
        raise SpecFault(text[text.index("(") :], "a parenthesis is not closed")
    return [*pieces, text[start:].strip()] if text.strip() else []


def unwrapped(text: str) -> str:
    """Without blanks and the pair of parentheses around all of it, if it has one."""
    text = text.strip()
    return text[1:-1].strip() if is_wrapped(text) else text


def is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses encloses the whole text."""
    end = next((place for place, _, depth in depths(text) if depth <= 0), -1)
    return 0 < end == len(text) - 1


def halves(text: str, mark: str) -> tuple[str, str]:
    """What is before and after the first mark, without blanks around it."""
    first, _, second = text.partition(mark)
    return first.strip(), second.strip()


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
