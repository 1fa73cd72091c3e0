"""The settings of a game with people."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import agents
from agents.specs import read_profile
from evaluation.checks import EvaluationError, board_of, check_seed
from evaluation.play.game_spec import GameSpec
from welfare_env import Rules
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.errors import UnknownPowerError, did_you_mean
from welfare_env.game.press import MAX_MESSAGE_LENGTH, recipients

SPECTATOR = "SPECTATOR"
LONGEST_TIME = 60 * 24 * 30  # minutes
MAX_BYTES = 12  # per encoded character: two escapes in JSON


class SeatedGameError(EvaluationError):
    """Invalid settings of a game with people, or a damaged game."""


@dataclass(frozen=True)
class TableSettings:
    """The settings of a game with people. All send their messages at the same time.

    Attributes:
        profile: the policies of the seats; at least one is `human:`.
        rules, map_name, seed: settings of the game.
        minutes: time limit of a step (a message round, or the orders of a phase); whoever is late holds. 0 for none.
        has_spectators: whether a link shows positions, orders and messages to all to anybody who has it.

    Raises:
        SeatedGameError: an invalid setting.
        UnknownAgentError, ProfileError, UnknownMapError, RulesError: an invalid policy, profile, map or rules.
    """

    profile: str
    rules: Rules = field(default_factory=Rules)
    map_name: str = "standard"
    seed: int = 0
    minutes: float = 0
    has_spectators: bool = False

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.people:
            raise SeatedGameError(
                f"profile {self.profile!r:.200}: give at least one person a seat, as in FRANCE*human:"
            )
        if not isinstance(self.minutes, int | float) or not 0 <= self.minutes <= LONGEST_TIME:
            raise SeatedGameError(f"minutes={quoted(self.minutes)}: give minutes from 0 (no limit) to {LONGEST_TIME}")

    @functools.cached_property
    def spec(self) -> GameSpec:
        """The game as a `GameSpec`, with simultaneous messages."""
        board = board_of(self.map_name)
        seats = read_profile(self.profile).seats(board.powers, 0, self.seed, "fixed")
        if self.rules.mediator:
            seats["MEDIATOR"] = agents.specs.read("hold")
        players = tuple((power, policy) for power, policy in seats.items())
        return GameSpec(players, self.seed, self.rules, self.map_name, DEFAULT_ENGINE, simultaneous=True)

    @functools.cached_property
    def people(self) -> tuple[str, ...]:
        """The powers that people play."""
        return tuple(power for power, policy in self.spec.players if policy.has_person)

    @property
    def seats(self) -> tuple[str, ...]:
        """Everybody who gets a link."""
        return (*self.people, *((SPECTATOR,) if self.has_spectators else ()))

    @property
    def title(self) -> str:
        """ "France, England against marshal"."""
        others = dict.fromkeys(policy.text for power, policy in self.spec.players if power not in self.people)
        names = ", ".join(power.title() for power in self.people)
        return f"{names} against {', '.join(others)}"[:80] if others else names

    @property
    def max_text(self) -> int:
        """Maximum encoded bytes of the messages in one answer."""
        if not self.rules.has_press:
            return 0
        count = len(recipients(board_of(self.map_name), self.rules, self.people[0]))
        return count * MAX_MESSAGE_LENGTH * MAX_BYTES

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, for `from_dict`."""
        own = {name: getattr(self, name) for name in TableSettings.__dataclass_fields__}
        return own | {"rules": self.rules.to_dict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; raises the same errors as the class."""
        return cls(**{**given, "rules": Rules.from_dict(given["rules"])})


def profile_with(people: Sequence[str], others: str, map_name: str) -> str:
    """A profile with people in some seats.

    Args:
        people: the powers that people play.
        others: a policy for all other seats, or a profile of them.

    Raises:
        UnknownPowerError: the map does not have one of the powers.
        SeatedGameError: a power is named twice.
        UnknownAgentError, ProfileError, UnknownMapError: an invalid policy, profile or map.
    """
    powers = board_of(map_name).powers
    seats = [power.upper() for power in people]
    for seat in seats:
        if seats.count(seat) > 1:
            raise SeatedGameError(f"{seat} is named twice: name each power once")
        if seat not in powers:
            near = did_you_mean(seat, powers)
            raise UnknownPowerError(f"unknown power {seat!r:.80}{near}: give some of {', '.join(powers)}")
    persons, left = " + ".join(f"{seat}*human:" for seat in seats), len(powers) - len(seats)
    found = read_profile(others)
    if len(found.terms) > 1 or found.terms[0][0] is not None:
        return f"{persons} + {found.text}"
    return f"{persons} + {left}*({agents.specs.read(others).text})" if left else persons
