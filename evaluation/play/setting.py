"""What the games of an evaluation have in common: rules, map, seats and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import agents
from agents.specs import PolicyLike, Profile
from evaluation.checks import EvaluationError, check_games, check_seed
from evaluation.play.game_spec import GameSpec, game_seed, selection_seed
from evaluation.play.start import Start
from welfare_env import Board, Rules, RulesError, load_board
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE, ENGINES
from welfare_env.game.press import MEDIATOR

DEFAULT_MAP = "standard"
_KINDS: dict[str, Any] = {"rules": Rules | None, "engine": str, "seats": str, "simultaneous": bool, "paper_code": bool}
_KINDS |= {"start": Start | None}


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
        for name, kind in _KINDS.items():
            if not isinstance(value := getattr(self, name), kind):
                error = RulesError if name in ("rules", "engine") else EvaluationError
                raise error(f"{name}={quoted(value)}: give {getattr(kind, '__name__', kind)}")
        for name, known in (("engine", ENGINES), ("seats", agents.specs.SEATINGS)):
            if (value := getattr(self, name)) not in known:
                error = RulesError if name == "engine" else EvaluationError
                raise error(f"{name}={quoted(value)}: choose one of {', '.join(map(repr, known))}")
        if self.start is not None:
            if self.played not in (Rules(), self.start.rules) or self.map_name not in (
                DEFAULT_MAP,
                self.start.map_name,
            ):
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
