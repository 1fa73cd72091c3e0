"""Policies from one line of text: "random", "dove:share=0.5", "exploiter:nice=prosocial,attack=dumbbot".

A spec is a name, and after a colon what that policy takes. Options are ``key=value`` pairs between commas; a value that
is a spec itself may stand in parentheses, and must where it has commas of its own:
"exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agents.dove import DovePolicy
from agents.dumbbot import DumbBotPolicy
from agents.exploiter import ExploiterPolicy
from agents.hold import HoldPolicy
from agents.policy import Policy
from agents.prosocial import ProsocialPolicy
from agents.random import RandomPolicy
from welfare_env.errors import UnknownAgentError


def make(spec: str) -> Policy:
    """A new policy, which plays after a `reset`.

    Raises:
        UnknownAgentError: no such name, a missing, unknown, doubled or bad option, or parentheses that do not match.
            The message points at the place and tells what is possible there.
    """
    if not isinstance(spec, str):
        raise UnknownAgentError(f"agent spec {spec!r}: give a string such as 'exploiter:nice=prosocial,attack=dumbbot'")
    return _policy(Part(spec, 0, len(spec)))


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
        """The error to raise about this piece."""
        place = f"at {self.text!r} (character {self.start + 1})" if self.text else "at its end"
        return UnknownAgentError(f"agent spec {self.source!r}, {place}: {message}")


def _policy(part: Part) -> Policy:
    part = part.cut(0, len(part.text)).unwrapped()
    name, rest = part.halves(":") or (part, part.cut(len(part.text), len(part.text)))
    if name.text not in AGENTS:
        raise name.fault(f"unknown agent; known are {', '.join(sorted(AGENTS))}")
    return AGENTS[name.text](rest)


def _whole(part: Part) -> int:
    if not part.text.isdecimal():
        raise part.fault("give a whole number from 0")
    return int(part.text)


def _share(part: Part) -> float:
    try:
        return float(part.text)
    except ValueError:
        raise part.fault("give a number") from None


def _keyed(
    constructor: Callable[..., Policy], required: dict[str, Callable] | None = None, **optional: Callable[[Part], Any]
) -> Callable[[Part], Policy]:
    """Reads ``key=value`` options for `constructor`; each option with the function that makes its value."""
    required = required or {}
    readers = {**required, **optional}
    takes = f"takes {', '.join(readers)}" if readers else "takes no options"

    def build(rest: Part) -> Policy:
        values: dict[str, Any] = {}
        for option in rest.split() if rest.text else ():
            key, value = option.halves("=") or (option, None)
            if key.text not in readers or value is None:
                raise option.fault(f"no option; it {takes}, each as key=value")
            if key.text in values:
                raise option.fault("the option is given twice")
            values[key.text] = readers[key.text](value)
        missing = [key for key in required if key not in values]
        if missing:
            raise rest.fault(f"{' and '.join(missing)} missing; it {takes}")
        try:
            return constructor(**values)
        except ValueError as error:
            raise rest.fault(str(error)) from error

    return build


AGENTS: dict[str, Callable[[Part], Policy]] = {
    "random": _keyed(RandomPolicy),
    "hold": _keyed(HoldPolicy),
    "prosocial": _keyed(ProsocialPolicy),
    "dumbbot": _keyed(DumbBotPolicy),
    "dove": _keyed(DovePolicy, share=_share),
    "exploiter": _keyed(
        ExploiterPolicy,
        required={"nice": _policy, "attack": _policy},
        units=_whole,
        years=_whole,
        centers=_whole,
        last_years=_whole,
    ),
}
