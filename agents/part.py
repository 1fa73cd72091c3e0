"""Pieces of a spec that know where they stand in it, so that errors can point at them and quote no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from welfare_env.errors import UnknownAgentError

_KEY_GIVEN = re.compile(r"(\b(?:(?:api_?)?key|token|secret|password|auth\w*)\s*=\s*)[^,()]*", re.I)
"""An option that there is not, since keys come from the environment."""


@dataclass(frozen=True)
class Part:
    """A piece of a spec that knows where it stands in the whole: ``source[start:stop]``."""

    source: str
    start: int
    stop: int

    @property
    def text(self) -> str:
        return self.source[self.start : self.stop]

    def cut(self, start: int, stop: int) -> Part:
        """A piece of this piece, by positions in its text, without the blanks around it."""
        text = self.text[start:stop]
        left = len(text) - len(text.lstrip())
        begin = self.start + start + left
        return Part(self.source, begin, begin + len(text.strip()))

    def halves(self, mark: str) -> tuple[Part, Part] | None:
        """What stands before and after the first `mark`; None without one."""
        place = self.text.find(mark)
        return None if place < 0 else (self.cut(0, place), self.cut(place + len(mark), len(self.text)))

    def split(self) -> Iterator[Part]:
        """The pieces between the commas that are in no parentheses."""
        start = depth = 0
        for place, sign in enumerate(self.text):
            depth += (sign == "(") - (sign == ")")
            if depth < 0:
                raise self.cut(place, place + 1).fault("a parenthesis is closed that was not opened")
            if sign == "," and depth == 0:
                yield self.cut(start, place)
                start = place + 1
        if depth:
            raise self.cut(self.text.index("("), len(self.text)).fault("a parenthesis is not closed")
        yield self.cut(start, len(self.text))

    def unwrapped(self) -> Part:
        """Without the parentheses around it, if it has any."""
        whole = self.text.startswith("(") and self.text.endswith(")")
        return self.cut(1, len(self.text) - 1) if whole else self

    def fault(self, message: str) -> UnknownAgentError:
        """The error to raise about this piece; it quotes no password and no key that stands in the spec."""
        source, text = _quotable(self.source), _quotable(self.text)
        place = f"at {text if text in source else '[hidden]'!r} (character {self.start + 1})" if text else "at its end"
        return UnknownAgentError(f"agent spec {source!r}, {place}: {message}")


def _quotable(text: str) -> str:
    """Without passwords, and without what may be a key, wherever somebody has put it."""
    from agents.lm.models.settings import hide_secrets, redacted

    return _KEY_GIVEN.sub(r"\1[hidden]", redacted(hide_secrets(text)))
