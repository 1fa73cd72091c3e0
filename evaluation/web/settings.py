"""The settings of a game with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import agents
from agents.specs import read_profile
from evaluation.checks import EvaluationError
from evaluation.play.game_spec import GameSpec
from welfare_env import Rules, load_board
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.errors import UnknownPowerError, did_you_mean
from welfare_env.game.press import MEDIATOR

SPECTATOR = "SPECTATOR"
LONGEST_TIME = 60 * 24 * 30  # minutes


class SeatedGameError(EvaluationError):
    """Invalid settings of a game with people, or a game that is damaged or played by another process."""


@dataclass(frozen=True)
class TableSettings:
    """The settings of a game with people. All send their messages at the same time.

    Attributes:
        spec: the game; at least one policy is `human:`.
        minutes: time limit of a step (a message round, or the orders of a phase); whoever is late holds. 0 for none.
        has_spectators: whether a link shows positions, orders and messages to all to anybody who has it.

    Raises:
        SeatedGameError: nobody plays, or a time limit out of range.
    """

    spec: GameSpec
    minutes: float = 0
    has_spectators: bool = False

    def __post_init__(self) -> None:
        if not self.people:
            raise SeatedGameError("give at least one person a seat")
        if not isinstance(self.minutes, int | float) or not 0 <= self.minutes <= LONGEST_TIME:
            raise SeatedGameError(f"minutes={quoted(self.minutes)}: give minutes from 0 (no limit) to {LONGEST_TIME}")

    @property
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

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, for `from_dict`."""
        spec = self.spec
        facts = {"players": spec.written, "seed": spec.seed, "rules": spec.rules.to_dict(), "map": spec.map_name}
        return facts | {"minutes": self.minutes, "has_spectators": self.has_spectators}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; raises the same errors as the class and as `GameSpec`."""
        rules = Rules.from_dict(given["rules"])
        spec = _spec(given["players"], rules, given["map"], given["seed"])
        return cls(spec, given["minutes"], given["has_spectators"])


def seated(people: Sequence[str], others: str, rules: Rules, map_name: str = "standard", seed: int = 0) -> GameSpec:
    """A game with people in some seats.

    Args:
        people: the powers that people play.
        others: a policy for all other seats, or a profile of them.

    Raises:
        UnknownPowerError: the map does not have one of the powers.
        SeatedGameError: a power is named twice.
        UnknownAgentError, ProfileError, UnknownMapError: an invalid policy, profile or map.
    """
    powers = load_board(map_name).powers
    seats = [power.upper() for power in people]
    for seat in seats:
        if seats.count(seat) > 1:
            raise SeatedGameError(f"{seat} is named twice: name each power once")
        if seat not in powers:
            near = did_you_mean(seat, powers)
            raise UnknownPowerError(f"unknown power {seat!r:.80}{near}: give some of {', '.join(powers)}")
    left = [power for power in powers if power not in seats]
    found = read_profile(others).seats(left, 0, seed, "fixed") if left else {}
    return _spec({power: found.get(power, "human:") for power in powers}, rules, map_name, seed)


def _spec(players: Mapping[str, Any], rules: Rules, map_name: str, seed: int) -> GameSpec:
    mediator = {MEDIATOR: agents.specs.read("hold")} if rules.mediator else {}
    return GameSpec(tuple((dict(players) | mediator).items()), seed, rules, map_name, DEFAULT_ENGINE, simultaneous=True)
