"""Profiles: the policy of each seat. One policy for all, counts of seats ("4*dove + 3*hold"), or power by power.

A profile's text is terms joined by " + ", each ``SEATS*SPEC``: a number of seats, or a power's name. "FRANCE*random +
6*(exploiter:nice=dove,attack=dumbbot)" gives France to one policy and the others to another. A spec may stand in
parentheses, and must where it has " + N*" of its own. A text without ``*`` is one policy for all seats.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from agents.specs.reading import PolicyLike, read
from agents.specs.spec import Spec, checked_text, depths, unwrapped
from welfare_env.checks import quoted
from welfare_env.errors import UnknownPowerError, WelfareEnvError, did_you_mean

SEATINGS = ("rotated", "fixed", "drawn")
"""How counted seats are dealt: rotated by one seat per game, always in the board's sequence, or at random."""

Seats = int | str | None  # a number of seats, a power, or all that are left
_TERM = re.compile(r"\s*(\w+)\s*\*")
MAX_SEATS = 99


class ProfileError(WelfareEnvError, ValueError):
    """A profile that does not fit the board: too many or too few seats, or a power without a policy."""


@dataclass(frozen=True)
class Profile:
    """The policies of a game, and the number of seats or the power of each.

    Attributes:
        terms: seats and policy, in the sequence in which seats are dealt: a number of seats, a power's name, or None
            for all seats that are left.
    """

    terms: tuple[tuple[Seats, Spec], ...]

    @cached_property
    def policies(self) -> tuple[Spec, ...]:
        """The different policies, in the sequence of the terms."""
        return tuple(dict.fromkeys(policy for _, policy in self.terms))

    @property
    def is_mixed(self) -> bool:
        """Whether more than one policy plays."""
        return len(self.policies) > 1

    @cached_property
    def text(self) -> str:
        """The profile's text, as `read_profile` reads it."""
        return " + ".join(
            policy.text if seats is None else f"{seats}*{_wrapped(policy.text)}" for seats, policy in self.terms
        )

    def seats(self, powers: Sequence[str], game: int = 0, seed: int = 0, seating: str = "rotated") -> dict[str, Spec]:
        """Power -> its policy in one game of an evaluation.

        Args:
            game: the number of the game, from 0. seed: of the evaluation; only drawn seats depend on it.
            seating: one of `SEATINGS`.

        Raises:
            ProfileError: the number of seats is not that of the powers, or the seating is unknown.
            UnknownPowerError: a power that the board does not have.
        """
        if not isinstance(powers, list | tuple) or not all(isinstance(power, str) for power in powers):
            raise ProfileError(f"powers={quoted(powers)}: give a list of names")
        if not isinstance(seating, str) or seating not in SEATINGS:
            raise ProfileError(f"seats {quoted(seating)}{did_you_mean(seating, SEATINGS)}: give {', '.join(SEATINGS)}")
        named = {seats: policy for seats, policy in self.terms if isinstance(seats, str)}
        for power in named:
            if power not in powers:
                near = did_you_mean(power, powers)
                raise UnknownPowerError(
                    f"profile {self.text!r:.200}: unknown power {power!r:.80}{near}; the powers are {', '.join(powers)}"
                )
        rest = [power for power in powers if power not in named]
        dealt = [policy for count, policy in self.terms if isinstance(count, int) for _ in range(count)]
        dealt += [policy for count, policy in self.terms if count is None] * (len(rest) - len(dealt))
        if len(dealt) != len(rest):
            total = len(dealt) + len(named)
            wished = f"give {len(powers)}, one for each of {', '.join(powers)}"
            raise ProfileError(f"profile {self.text!r:.200}, seats for {total}: {wished}")
        order = list(range(len(dealt)))
        if seating == "drawn":
            order = np.random.default_rng([seed, game]).permutation(len(dealt)).tolist()
        elif seating == "rotated":
            order = [(place - game) % len(dealt) for place in order]
        policies = named | dict(zip(rest, (dealt[place] for place in order), strict=True))
        return {power: policies[power] for power in powers}


ProfileLike = PolicyLike | Profile | Mapping[str, PolicyLike]
"""One policy for all, the text of a profile, a `Profile`, or a mapping from powers to policies."""


def is_profile(text: str) -> bool:
    """Whether a text counts or names seats, of at least one policy; otherwise it is the spec of one policy."""
    return any(_TERM.match(term) for term in _split(text))


def read_profile(profile: ProfileLike, names: Collection[str] = ()) -> Profile:
    """Reads a profile from a text, a mapping or a policy.

    Args:
        names: names of players that are not policies, as for `agents.specs.read`; a text may seat them.

    Raises:
        UnknownAgentError: as `agents.specs.read`, for any of its policies.
        ProfileError: a number of seats out of range, or a power that is named twice.
    """
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, Mapping):
        return Profile(_of_mapping(profile))
    if not isinstance(profile, str) or not is_profile(profile):
        return Profile(((None, read(profile, names)),))
    terms: list[tuple[Seats, Spec]] = []
    for word, policy in written_terms(profile):
        seats: Seats = int(word) if word.isdecimal() else word.upper()
        if isinstance(seats, int) and not 1 <= seats <= MAX_SEATS:
            raise ProfileError(f"profile {profile!r:.200}, {word:.20}*: give 1 to {MAX_SEATS} seats")
        if isinstance(seats, str) and any(seats == other for other, _ in terms):
            raise ProfileError(f"profile {profile!r:.200}: {seats} is named twice")
        terms.append((seats, read(policy, names)))
    return Profile(tuple(terms))


def written_terms(text: str) -> list[tuple[str, str]]:
    """The seats and the policy of each term of a profile's text, as written but without parentheses around a policy.

    The policies are not read. A term without seats has one. Without any seats, there is one term with the seats "".

    Raises:
        UnknownAgentError: the text is too long.
    """
    if not is_profile(checked_text(text)):
        return [("", unwrapped(text))]
    found = [(_TERM.match(term), term) for term in _split(text)]
    return [(match[1], unwrapped(term[match.end() :])) if match else ("1", unwrapped(term)) for match, term in found]


def as_given(given: object, read: Spec | Profile) -> str:
    """How results quote a policy or a profile: a text as the caller wrote it, anything else by its canonical text."""
    return given if isinstance(given, str) else read.text


def _of_mapping(profile: Mapping[str, PolicyLike]) -> tuple[tuple[Seats, Spec], ...]:
    """Different unnamed policies with the same text are numbered: "instance of mirror.Mirror #2"."""
    if not profile or not all(isinstance(power, str) for power in profile):
        raise ProfileError(f"profile {dict(profile)!r:.200}: give power -> policy, such as {{'FRANCE': 'dove', ...}}")
    found: dict[int, Spec] = {}
    for policy in profile.values():
        spec = read(policy)
        same = [other for other in dict.fromkeys(found.values()) if other.text.partition(" #")[0] == spec.text]
        known = next((other for other in same if other.unnamed is spec.unnamed), None)
        found[id(policy)] = known or (replace(spec, text=f"{spec.text} #{len(same) + 1}") if same else spec)
    return tuple((power, found[id(policy)]) for power, policy in profile.items())


def _split(text: str) -> Iterator[str]:
    """Splits at each + outside parentheses that stands between blanks or before another term."""
    start = 0
    for place, sign, depth in depths(text):
        is_apart = text[place - 1 : place + 2] == " + "
        if sign == "+" and depth == 0 and (is_apart or _TERM.match(text[place + 1 : place + 100])):
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _wrapped(text: str) -> str:
    return f"({text})" if ":" in text else text
