"""Everything that determines a game, its seed, and its key in a store."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
from agents.policy import Policy
from agents.specs import Spec
from evaluation.checks import MAX_SEED, EvaluationError, check_whole
from evaluation.play.sources import answered_by, code_of
from evaluation.play.start import Start
from welfare_env import Rules
from welfare_env.board.maps import map_digest
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

_KINDS = {"rules": Rules, "map_name": str, "engine": str, "simultaneous": bool, "start": Start | None}


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
        for name, kind in _KINDS.items():
            if not isinstance(value := getattr(self, name), kind):
                raise EvaluationError(f"{name}={quoted(value)}: the wrong type, see evaluation.GameSpec")
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


def _are_pairs(players: object) -> bool:
    pairs = players if isinstance(players, tuple | list) else [None]
    return all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)


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
