"""A game with people as one TOML file, checked before the game begins.

```toml
title = "Tuesday"
profile = "FRANCE*human: + ENGLAND*human: + 5*marshal"
seed = 7
begin = "all"              # when all people have arrived; or "now"
spectators = "public"      # "none", "public", or "end": everything, after the end
late = "hold"              # plays for a person after the deadline: units hold, or a policy such as "dove"

[rules]
years = 3
message_rounds = 1

[deadlines]                # seconds; 0 for no deadline
messages = 300
orders = 600

[names]                    # shown in the lobby
FRANCE = "Ada"
```
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import agents
from agents.runtime.files import read_file, reason
from agents.specs import Spec, read_profile
from evaluation.checks import EvaluationError, board_of, check_seed
from evaluation.play.games import GameSpec
from welfare_env import Rules, WelfareEnvError
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.errors import UnknownPowerError, did_you_mean
from welfare_env.game.press import MAX_MESSAGE_LENGTH, recipients

SPECTATORS, BEGINNINGS = ("none", "public", "end"), ("all", "now")
SPECTATOR = "SPECTATOR"
HOLD = "hold"
LARGEST = 2**20  # bytes of a file
LONGEST_NAME = 80  # characters
LONGEST_TIME = 60 * 60 * 24 * 30  # seconds
MOST_BYTES = 12  # per encoded character: two escapes in JSON, or four percent-encoded bytes in a form


class TableError(EvaluationError):
    """Invalid settings of a game with people, or a damaged game."""


@dataclass(frozen=True)
class TableSettings:
    """The settings of a game with people.

    Attributes:
        profile: the policies of the seats; at least one is `human:`.
        rules, map_name, seed: settings of the game.
        title: title of the page.
        begin: "all" to begin when all people have arrived, or "now".
        spectators: what a spectator's link shows: "public" (positions, orders, messages to all), "end" (everything,
            after the end), or "none" for no link.
        late: plays for a person after the deadline: "hold", or the spec of a policy.
        message_seconds, order_seconds: deadlines of a step; 0 for none.
        names: power -> a person's name.

    Raises:
        TableError: an invalid setting.
        UnknownAgentError, ProfileError, UnknownMapError, RulesError: an invalid policy, profile, map or rules.
    """

    profile: str
    rules: Rules = field(default_factory=Rules)
    map_name: str = "standard"
    seed: int = 0
    title: str = "A game"
    begin: str = "all"
    spectators: str = "none"
    late: str = HOLD
    message_seconds: float = 0
    order_seconds: float = 0
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _choice("begin", self.begin, BEGINNINGS)
        _choice("spectators", self.spectators, SPECTATORS)
        if not self.people:
            raise TableError(f"profile {self.profile!r:.200}: give at least one person a seat, as in FRANCE*human:")
        if not isinstance(self.late, str):
            raise TableError(f"late {quoted(self.late)}: give hold, or a policy such as dove")
        if self.late != HOLD and agents.specs.read(self.late).has_person:
            raise TableError(f"late {self.late!r:.100}: give hold, or a policy other than a person")
        for name, key in (("message_seconds", "messages"), ("order_seconds", "orders")):
            seconds = getattr(self, name)
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_TIME:
                told = f"{name} {quoted(seconds)} (in a file: [deadlines] {key})"
                raise TableError(f"{told}: give seconds, from 0 (no deadline) to {LONGEST_TIME}")
        for text in (self.title, *self.names.values()):
            if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= LONGEST_NAME:
                raise TableError(f"{quoted(text)}: a title or name needs 1 to {LONGEST_NAME} printable characters")
        if unknown := set(self.names) - set(self.people):
            raise TableError(f"names {sorted(unknown)}: not a person's seat: choose from {list(self.people)}")

    @property
    def spec(self) -> GameSpec:
        """The game as a `GameSpec`, with simultaneous messages."""
        board = board_of(self.map_name)
        seats = read_profile(self.profile).seats(board.powers, 0, self.seed, "fixed")
        if self.rules.mediator:
            seats["MEDIATOR"] = agents.specs.read("hold")
        players = tuple((power, policy) for power, policy in seats.items())
        return GameSpec(players, self.seed, self.rules, self.map_name, DEFAULT_ENGINE, simultaneous=True)

    @property
    def people(self) -> tuple[str, ...]:
        """The powers that people play."""
        return tuple(power for power, policy in self.spec.players if policy.has_person)

    @property
    def policies(self) -> tuple[Spec, ...]:
        """All policies that play, including the policy for late people."""
        late = () if self.late == HOLD else (agents.specs.read(self.late),)
        return (*(policy for _, policy in self.spec.players), *late)

    @property
    def most_text(self) -> int:
        """Maximum encoded bytes of the messages in one answer."""
        if not self.rules.has_press:
            return 0
        count = len(recipients(board_of(self.map_name), self.rules, self.people[0]))
        return count * MAX_MESSAGE_LENGTH * MOST_BYTES

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, for `from_dict`."""
        own = {name: getattr(self, name) for name in TableSettings.__dataclass_fields__ if name != "rules"}
        return own | {"rules": self.rules.to_dict(), "names": dict(self.names)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; raises the same errors as the class."""
        return cls(**{**given, "rules": Rules.from_dict(given["rules"])})


def profile_with(power: str, others: str, map_name: str) -> str:
    """A profile with a person in one seat.

    Args:
        power: the person's power.
        others: a policy for all other seats, or a profile of them.

    Raises:
        UnknownPowerError: the map does not have this power.
        UnknownAgentError, ProfileError, UnknownMapError: an invalid policy, profile or map.
    """
    powers = board_of(map_name).powers
    seat = power.upper()
    if seat not in powers:
        raise UnknownPowerError(f"unknown power {power!r:.80}{did_you_mean(seat, powers)}: give {', '.join(powers)}")
    found = read_profile(others)
    if len(found.terms) == 1 and found.terms[0][0] is None:
        text = agents.specs.read(others).text
        return f"{seat}*human: + {len(powers) - 1}*({text})" if len(powers) > 1 else f"{seat}*human:"
    return f"{seat}*human: + {found.text}"


def load_settings(path: str | os.PathLike[str]) -> TableSettings:
    """Read a game's TOML file.

    Raises:
        TableError: the file cannot be read, or has an unknown or invalid entry, which the message names.
        UnknownAgentError, ProfileError, UnknownMapError, RulesError: an invalid policy, profile, map or rules.
    """
    try:
        given = tomllib.loads(read_file(path, LARGEST).decode())
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: {reason(error)}") from error
    try:
        return _of_toml(given)
    except WelfareEnvError as error:
        error.add_note(f"(in {path})")
        raise


def _of_toml(given: dict[str, Any]) -> TableSettings:
    deadlines = _table(given, "deadlines", ("messages", "orders"))
    names = _table(given, "names", None)
    rules = _table(given, "rules", None)
    known = ("title", "profile", "map", "seed", "begin", "spectators", "late", "rules", "deadlines", "names")
    _only(given, known, "")
    if not isinstance(given.get("profile"), str):
        raise TableError('profile: give the policies of the seats, such as "FRANCE*human: + 6*marshal"')
    own = {"map_name" if name == "map" else name: given[name] for name in known[:7] if name in given}
    if not isinstance(given.get("map", ""), str):
        raise TableError(f"map {quoted(given['map'])}: give a map's name, or the path of a .map file")
    return TableSettings(
        **own,
        rules=Rules.from_dict(rules),
        names=names,
        message_seconds=deadlines.get("messages", 0),
        order_seconds=deadlines.get("orders", 0),
    )


def _table(given: Mapping[str, Any], name: str, known: tuple[str, ...] | None) -> dict[str, Any]:
    table = given.get(name, {})
    if not isinstance(table, dict):
        raise TableError(f"{name} {quoted(table)}: give a table, [{name}]")
    if known is not None:
        _only(table, known, f"[{name}] ")
    return table


def _only(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            raise TableError(
                f"{where}unknown entry {name!r:.80}{did_you_mean(name, known)}: choose from {', '.join(known)}"
            )


def _choice(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise TableError(f"{name} {quoted(given)}: give one of {', '.join(known)}")
