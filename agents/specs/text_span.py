"""Pieces of a spec with their positions, so that errors can point at them without quoting secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from welfare_env.errors import UnknownAgentError, did_you_mean

LONGEST = 10_000  # characters of a spec
DEEPEST = 20  # levels of nested specs
_KEY_GIVEN = re.compile(r"(\b(?:(?:api_?)?key|token|secret|password|auth\w*)\s*=\s*)[^,()]*", re.I)
"""A key written as an option. There is no such option, since keys come from the environment; so errors hide it."""

QUOTED = 400  # characters of a spec in an error


@dataclass(frozen=True)
class Part:
    """A piece of a spec: ``source[start:stop]``.

    Attributes:
        depth: how many specs enclose it.
        names: names that are allowed in place of a policy.
    """

    source: str
    start: int
    stop: int
    depth: int = 0
    names: Collection[str] = ()

    @classmethod
    def whole(cls, spec: object, names: Collection[str] = ()) -> Part:
        """All of a spec.

        Raises:
            UnknownAgentError: not a string, or longer than `LONGEST`.
        """
        if not isinstance(spec, str):
            example = "'exploiter:nice=prosocial,attack=dumbbot'"
            raise UnknownAgentError(f"agent spec {spec!r:.80}: give a string such as {example}")
        if len(spec) > LONGEST:
            raise UnknownAgentError(f"an agent spec of {len(spec):,} characters: give {LONGEST:,} at most")
        return cls(spec, 0, len(spec), names=names)

    def inside(self) -> Part:
        """The same piece, one level deeper.

        Raises:
            UnknownAgentError: more than `DEEPEST` levels of nested specs.
        """
        if self.depth == DEEPEST:
            raise self.fault(f"more than {DEEPEST} levels of nested specs: nest fewer")
        return replace(self, depth=self.depth + 1)

    @property
    def text(self) -> str:
        return self.source[self.start : self.stop]

    def cut(self, start: int, stop: int) -> Part:
        """A piece of this piece, by positions in its text; blanks around it are stripped."""
        text = self.text[start:stop]
        left = len(text) - len(text.lstrip())
        begin = self.start + start + left
        return replace(self, start=begin, stop=begin + len(text.strip()))

    def halves(self, mark: str) -> tuple[Part, Part] | None:
        """The pieces before and after the first `mark`; None if there is no mark."""
        place = self.text.find(mark)
        return None if place < 0 else (self.cut(0, place), self.cut(place + len(mark), len(self.text)))

    def split(self, mark: str = ",") -> Iterator[Part]:
        """The pieces between the marks; marks in parentheses do not count."""
        start = depth = 0
        for place, sign in enumerate(self.text):
            depth += (sign == "(") - (sign == ")")
            if depth < 0:
                raise self.cut(place, place + 1).fault("a parenthesis is closed that was not opened")
            if sign == mark and depth == 0:
                yield self.cut(start, place)
                start = place + 1
        if depth:
            raise self.cut(self.text.index("("), len(self.text)).fault("a parenthesis is not closed")
        yield self.cut(start, len(self.text))

    def unwrapped(self) -> Part:
        """Without the pair of parentheses around all of it, if it has one."""
        return self.cut(1, len(self.text) - 1) if is_wrapped(self.text) else self

    def one_of(self, words: Iterable[str]) -> str:
        """Its text, which must be one of a few words.

        Raises:
            UnknownAgentError: another text.
        """
        known = list(words)
        if self.text not in known:
            raise self.fault(f"give one of {', '.join(known)}{did_you_mean(self.text, known)}")
        return self.text

    def fault(self, message: str) -> UnknownAgentError:
        """The error to raise about this piece; passwords and keys in the spec are hidden."""
        source, text = _quotable(self.source), _quotable(self.text)
        place = (
            f"at {text if text in source else '[hidden]'!r:.{QUOTED}} (character {self.start + 1})"
            if text
            else "at its end"
        )
        return UnknownAgentError(f"agent spec {source!r:.{QUOTED}}, {place}: {message}")


def is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses encloses the whole text."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth <= 0:
            return place > 0 and place == len(text) - 1
    return False


def _quotable(text: str) -> str:
    """The text with passwords and anything that may be a key hidden."""
    from agents.lm.models.settings import hide_secrets, redacted

    return _KEY_GIVEN.sub(r"\1[hidden]", redacted(hide_secrets(text)))
