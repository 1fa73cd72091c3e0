"""What is played: everything that determines a game, and what the games of an evaluation have in common."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
from agents.policy import Policy
from agents.specs import PolicyLike, Profile, Spec
from evaluation.checks import MAX_SEED, EvaluationError, check_games, check_seed, check_whole
from evaluation.play.sources import answered_by, code_of
from evaluation.play.start import Start
from welfare_env import Board, Rules, RulesError, load_board
from welfare_env.board.maps import map_digest
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE, ENGINES
from welfare_env.game.press import MEDIATOR

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

DEFAULT_MAP = "standard"
_KINDS: dict[str, Any] = {"map_name": str, "engine": str, "simultaneous": bool, "start": Start | None}
_WORDS = {
    **dict.fromkeys(("map_name", "engine", "seats"), "text"),
    **dict.fromkeys(("simultaneous", "paper_code"), "True or False"),
    "rules": "welfare_env.Rules(...)",
    "start": "None, or a Start, such as Start.of(record)",
}


@dataclass(frozen=True)
class GameSpec:
    """Everything that determines a game.

    Attributes:
        players: (power, policy) for every power: a spec, a class, a factory or an instance, stored as
            `agents.specs.Spec`, so that two spellings of a policy give the same game.
        seed: the game's seed, for the speaking order and the policies' random numbers.
        rules, map_name, engine: as for `welfare_env.make`.
        simultaneous: all players send messages at the same time and read them in the next round
            (`welfare_env.parallel_env`); otherwise, as in the paper, one after the other in random order.
        coalition: powers played by a single policy object (`agents.CoalitionPolicy`); () if each has its own.
        start: where the game begins; None for the opening.

    Raises:
        UnknownAgentError: an unknown policy.
        EvaluationError: a value of the wrong type, a seed out of range, or a coalition with several policies.
    """

    players: tuple[tuple[str, Spec], ...]
    seed: int
    rules: Rules
    map_name: str
    engine: str
    simultaneous: bool = False
    coalition: tuple[str, ...] = ()
    start: Start | None = None

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, MAX_SEED)
        _check_types(self, _KINDS | {"rules": Rules})
        if not _are_pairs(self.players):
            raise EvaluationError(f"players={quoted(self.players)}: give pairs of a power and a policy")
        found = {id(policy): agents.specs.read(policy) for _, policy in self.players}
        object.__setattr__(self, "players", tuple((power, found[id(policy)]) for power, policy in self.players))
        seats, members = [power for power, _ in self.players], self.coalition
        if not isinstance(members, tuple) or any(members.count(each) > 1 or each not in seats for each in members):
            raise EvaluationError(f"coalition={quoted(members)}: give some of {seats}, each once")
        if len({policy for power, policy in self.players if power in members}) > 1:
            raise EvaluationError(f"coalition={quoted(members)}: its members play different policies: give one")

    def __reduce__(self) -> tuple[type[GameSpec], tuple[Any, ...]]:
        """For worker processes, policies are pickled as their specs.

        Raises:
            EvaluationError: a policy has no name.
        """
        if not self.is_named:
            raise EvaluationError(
                f"players={quoted(self.written)}: policies without a name cannot be played in another process"
            )
        return GameSpec, (tuple(self.written.items()), *(getattr(self, each.name) for each in fields(self)[1:]))

    def to_dict(self, models: SharedModels | None = None) -> dict[str, Any]:
        """The full specification as plain JSON types; a stored game with a different specification is not reused.

        Also includes the versions of this package and its libraries, digests of a map file and of the user's files, and
        for language models what answers them (`evaluation.play.sources`). With a human player there is a new random
        "sitting" in every call, so that no stored game is reused.

        Args:
            models: provides your own models.

        Raises:
            UnknownMapError: `map_name` is neither a known map nor a file.
            ConfigError: an invalid server address in the environment.
        """
        policies = {policy for _, policy in self.players}
        own = {} if models is None else models.own
        asked = sorted({model for each in policies for model in each.models})
        return {
            "players": self.written,
            "seed": self.seed,
            "rules": self.rules.to_dict(),
            "map": self.map_name,
            "map_digest": map_digest(self.map_name),
            "engine": self.engine,
            **code_of(policies),
            **({"simultaneous": True} if self.simultaneous else {}),
            **({"coalition": list(self.coalition)} if self.coalition else {}),
            **({"start": self.start.to_dict()} if self.start else {}),
            **({"language_models": [answered_by(*model, own=own.get(model[0])) for model in asked]} if asked else {}),
            **({"sitting": secrets.token_hex(16)} if self.has_people else {}),
        }

    @property
    def written(self) -> dict[str, str]:
        """Power -> the spec of its policy, as text."""
        return {power: policy.text for power, policy in self.players}

    @property
    def is_named(self) -> bool:
        """Whether all policies have names, so that the game can be stored."""
        return all(policy.is_named for _, policy in self.players)

    @property
    def has_people(self) -> bool:
        """Whether a person plays."""
        return any(policy.has_person for _, policy in self.players)

    @property
    def asks_language_models(self) -> bool:
        """Whether a player is or contains a language model, judged by specs."""
        return any(policy.models for _, policy in self.players)


def _check_types(value: GameSpec | Setting, kinds: Mapping[str, Any]) -> None:
    for name, kind in kinds.items():
        if not isinstance(found := getattr(value, name), kind):
            error = RulesError if isinstance(value, Setting) and name in ("rules", "engine") else EvaluationError
            raise error(f"{name}={quoted(found)}: give {_WORDS[name]}")


def _are_pairs(players: object) -> bool:
    pairs = players if isinstance(players, tuple | list) else [None]
    return all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)


@dataclass(frozen=True)
class Setting:
    """What the games of an evaluation have in common; it makes their `GameSpec`.

    Attributes:
        seed: the same seed gives the same result, with any number of workers.
        rules: None for the paper's.
        map_name, engine: as for `welfare_env.make`.
        seats: the seats of a counted profile ("4*dove + 3*hold"): "rotated" shifts all policies by one seat in every
            game, "fixed" follows the board's order, "drawn" is random.
        simultaneous: all players send messages at the same time; see `GameSpec`.
        start: where the games begin; None for the opening. The rules and the map are then those of the earlier game,
            and the first game has its seed: if nobody plays differently, it is the same game again.
        paper_code: compute conflicts and proficiency like the program behind the paper's figures
            (`evaluation.measure`); its rules are `welfare_env.Rules.published()`.

    Raises:
        EvaluationError: a number out of range, a wrong type, or unknown seats.
        RulesError, UnknownMapError, MapFormatError: invalid rules or an unknown engine, or an unknown or invalid map.
    """

    seed: int = 0
    rules: Rules | None = None
    map_name: str = DEFAULT_MAP
    engine: str = DEFAULT_ENGINE
    seats: str = "rotated"
    simultaneous: bool = False
    paper_code: bool = False
    start: Start | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _check_types(self, {"rules": Rules | None, "seats": str, "paper_code": bool} | _KINDS)
        for name, known in (("engine", ENGINES), ("seats", agents.specs.SEATINGS)):
            if (value := getattr(self, name)) not in known:
                error = RulesError if name == "engine" else EvaluationError
                raise error(f"{name}={quoted(value)}: choose one of {', '.join(map(repr, known))}")
        if self.start is not None:
            is_theirs = self.map_name in (DEFAULT_MAP, self.start.map_name)
            if not is_theirs or self.played not in (Rules(), self.start.rules):
                raise EvaluationError("start: the rules and the map are those of the earlier game: leave them out")
            object.__setattr__(self, "rules", self.start.rules)
            object.__setattr__(self, "map_name", self.start.map_name)
        load_board(self.map_name)

    @property
    def played(self) -> Rules:
        """The rules, with None replaced by the paper's."""
        return Rules() if self.rules is None else self.rules

    @cached_property
    def board(self) -> Board:
        """The board of the map."""
        return load_board(self.map_name)

    def games(self, profile: Profile, games: int, others: Mapping[str, PolicyLike] | None = None) -> list[GameSpec]:
        """The first `games` games of a profile, with `others` replacing the policies of some powers.

        Raises:
            EvaluationError: `games` is out of range.
            ProfileError, UnknownPowerError: the profile does not fit the board.
        """
        check_games(games)
        return [self.game(profile, game, others) for game in range(games)]

    def game(self, profile: Profile, game: int, others: Mapping[str, PolicyLike] | None = None) -> GameSpec:
        """The `game`-th game of a profile, from 0; see `games`."""
        again = self.start.seed if self.start is not None and game == 0 else None
        seed = game_seed(self.seed, game) if again is None else again
        return self._game(profile, game, self.seed, seed, others or {})

    def selection_game(self, profile: Profile, game: int) -> GameSpec:
        """The `game`-th selection game of a profile (for choosing attacks); its seed is not used by reported games.

        Raises:
            ProfileError, UnknownPowerError: the profile does not fit the board.
        """
        seed = selection_seed(self.seed, game)
        return self._game(profile, game, seed, seed, {})

    def _game(
        self, profile: Profile, game: int, seat_seed: int, seed: int, others: Mapping[str, PolicyLike]
    ) -> GameSpec:
        """A game; a mediator that is not in the profile plays "hold" (is silent)."""
        rules = self.played
        mediator = {MEDIATOR: agents.specs.read("hold")} if rules.mediator else {}
        mediator |= {name: policy for name, policy in profile.terms if name == MEDIATOR and rules.mediator}
        terms = tuple(term for term in profile.terms if term[0] not in mediator)
        seats = Profile(terms).seats(self.board.powers, game, seat_seed, self.seats) | mediator | dict(others)
        policies = tuple((player, agents.specs.read(policy)) for player, policy in seats.items())
        return GameSpec(policies, seed, rules, self.map_name, self.engine, self.simultaneous, start=self.start)


def game_seed(seed: int, game: int) -> int:
    """The seed of the `game`-th game of an evaluation: the same in every condition, so that games are paired."""
    return int(np.random.SeedSequence([seed, game]).generate_state(1)[0])


def selection_seed(seed: int, game: int) -> int:
    """The seed of the `game`-th selection game of an evaluation (for choosing attacks).

    It differs from the seeds of the first thousand reported games.
    """
    reported, attempt = _reported_seeds(seed), 1
    while (drawn := int(np.random.SeedSequence([seed, game, attempt]).generate_state(1)[0])) in reported:
        attempt += 1
    return drawn


@lru_cache(maxsize=16)
def _reported_seeds(seed: int) -> frozenset[int]:
    return frozenset(game_seed(seed, game) for game in range(1000))


def with_external_players(spec: GameSpec, make: Callable[[str, Spec], Policy]) -> GameSpec:
    """The same game with each power's policy made by `make(power, spec)`, for frameworks whose models play."""

    def made(power: str, policy: Spec) -> Spec:
        return replace(policy, maker=lambda models: make(power, policy))

    return replace(spec, players=tuple((power, made(power, policy)) for power, policy in spec.players))
