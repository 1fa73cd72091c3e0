"""The grammar of specs: NAME, then a colon and pieces between commas, most of them KEY=VALUE.

Blanks around pieces do not count. A piece may stand in parentheses, and must if it contains commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from welfare_env.checks import quoted
from welfare_env.errors import UnknownAgentError

LONGEST = 10_000  # characters of a spec
DEEPEST = 20  # levels of nested specs
QUOTED = 400  # characters of a spec in an error
_KEY_GIVEN = re.compile(r"(\b(?:(?:api_?)?key|token|secret|password|auth\w*)\s*=\s*)[^,()]*", re.I)
"""A key written as an option. There is no such option, since keys come from the environment; so errors hide it."""


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
