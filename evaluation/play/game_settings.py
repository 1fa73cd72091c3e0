"""The options shared by all evaluations of Welfare Diplomacy, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, TypedDict, overload

import agents
from agents.policy import Policy
from agents.specs import PolicyLike, Profile, Spec
from evaluation.checks import (
    EvaluationError,
    board_of,
    check_engine,
    check_games,
    check_rules,
    check_seed,
)
from evaluation.play.execution import Models, Report, check_run, checked_report, pool_of, shared_models
from evaluation.play.game_spec import GameSpec, game_seed, selection_seed
from evaluation.play.games import Record, play_each
from evaluation.play.store import GameStore
from evaluation.play.turns import check_orders_written
from evaluation.play.workers import Workers
from welfare_env import Board, Rules
from welfare_env.checks import quoted
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.game.press import MEDIATOR

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

BATCH = 2_000
"""Games planned per batch (planning takes less than half a second)."""


class PlannedGames(Sequence[GameSpec]):
    """A lazy sequence of games: building a million at once would take a minute and gigabytes.

    Args:
        game: makes the game with a given number.
        numbers: the numbers of the games.
    """

    def __init__(self, game: Callable[[int], GameSpec], numbers: range) -> None:
        self._game, self._numbers = game, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> GameSpec: ...

    @overload
    def __getitem__(self, place: slice) -> PlannedGames: ...

    def __getitem__(self, place: int | slice) -> GameSpec | PlannedGames:
        if isinstance(place, slice):
            return PlannedGames(self._game, self._numbers[place])
        return self._game(self._numbers[place])


class SettingOptions(TypedDict, total=False):
    """The fields of `Setting`, for type checkers."""

    seed: int
    rules: Rules | None
    map_name: str
    engine: str
    seats: str
    simultaneous: bool
    paper_code: bool
    workers: int | Workers
    store: GameStore | None
    report: Report | None
    models: Models


@dataclass(frozen=True)
class GameSettings:
    """The options of an evaluation: rules, map, seats and seed; workers, store and language models.

    Attributes:
        seed: the same seed gives the same result, with any number of workers.
        rules: None for the paper's.
        map_name, engine: as for `welfare_env.make`.
        seats: the seats of a counted profile ("4*dove + 3*hold"): "rotated" shifts all policies by one seat in every
            game, "fixed" follows the board's order, "drawn" is random.
        simultaneous: all players send messages at the same time; see `GameSpec`.
        paper_code: compute conflicts and proficiency like the program behind the paper's figures
            (`evaluation.measure`); its rules are `welfare_env.Rules.published()`.
        workers: number of processes, or `Workers` to share between calls. 1 plays in this process.
        store: for finished games, which are not played again; None stores nothing.
        report: called with the number of games finished since the last call (for progress bars).
        models: cache, budget and your own models for language-model players, or just a mapping of names to your own
            models; None for the defaults.
        shared_models: `models` as shared by all language-model players.
        played: the rules, with None replaced by the paper's.
        board: the board of the map.

    Raises:
        EvaluationError: a number out of range, or a store, report or models of the wrong type.
        RulesError, UnknownMapError, MapFormatError: invalid rules, or an unknown or invalid map.
    """

    seed: int = 0
    rules: Rules | None = None
    map_name: str = "standard"
    engine: str = DEFAULT_ENGINE
    seats: str = "rotated"
    simultaneous: bool = False
    paper_code: bool = False
    workers: int | Workers = 1
    store: GameStore | None = None
    report: Report | None = None
    models: Models = None
    shared_models: SharedModels | None = field(init=False, repr=False, compare=False)
    _samples: dict[Spec, Policy] = field(default_factory=dict, repr=False, compare=False)
    played: Rules = field(init=False)
    board: Board = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_engine(self.engine)
        for name in ("simultaneous", "paper_code"):
            if not isinstance(value := getattr(self, name), bool):
                raise EvaluationError(f"{name}={quoted(value)}: give True or False")
        check_run(self.workers, self.store)
        checked_report(self.report)
        object.__setattr__(self, "shared_models", shared_models(self.models))
        object.__setattr__(self, "played", check_rules(self.rules))
        object.__setattr__(self, "board", board_of(self.map_name))
        if not isinstance(self.seats, str) or self.seats not in agents.specs.SEATINGS:
            raise EvaluationError(f"seats={quoted(self.seats)}: choose one of {', '.join(agents.specs.SEATINGS)}")

    def seated(self, profile: Profile, game: int, seed: int) -> dict[str, PolicyLike]:
        """Player -> policy in the `game`-th game of a profile. A mediator not in the profile plays "hold" (silent).

        Raises:
            ProfileError, UnknownPowerError: the profile does not fit the board.
        """
        if not self.played.mediator:
            return dict(profile.seats(self.board.powers, game, seed, self.seats))
        speaking = dict(term for term in profile.terms if term[0] == MEDIATOR)
        seated = Profile(tuple(term for term in profile.terms if term[0] != MEDIATOR)).seats(
            self.board.powers, game, seed, self.seats
        )
        return {**seated, MEDIATOR: speaking.get(MEDIATOR, agents.specs.read("hold"))}

    def games(self, profile: Profile, games: int, others: Mapping[str, PolicyLike] | None = None) -> PlannedGames:
        """The first `games` games of a profile, with `others` replacing the policies of some powers.

        Raises:
            EvaluationError: `games` is out of range.
            ProfileError, UnknownPowerError: the profile does not fit the board.
        """
        check_games(games)
        planned = PlannedGames(lambda game: self.game(profile, game, others), range(games))
        planned[0]  # raises before the first game
        return planned

    def game(self, profile: Profile, game: int, others: Mapping[str, PolicyLike] | None = None) -> GameSpec:
        """The `game`-th game of a profile, from 0; see `games`."""
        return self._game(profile, game, self.seed, game_seed(self.seed, game), others)

    def selection_game(self, profile: Profile, game: int) -> GameSpec:
        """The `game`-th selection game of a profile (for choosing attacks); its seed is not used by reported games.

        Raises:
            ProfileError, UnknownPowerError: the profile does not fit the board.
        """
        seed = selection_seed(self.seed, game)
        return self._game(profile, game, seed, seed)

    def _game(
        self,
        profile: Profile,
        game: int,
        seat_seed: int,
        seed: int,
        others: Mapping[str, PolicyLike] | None = None,
    ) -> GameSpec:
        seats = self.seated(profile, game, seat_seed) | dict(others or {})
        policies = tuple((player, agents.specs.read(policy)) for player, policy in seats.items())
        return GameSpec(policies, seed, self.played, self.map_name, self.engine, self.simultaneous)

    def play(self, games: Iterable[GameSpec]) -> list[Record]:
        """The records of games, planned and played in batches; see `play_all`."""
        planned, records = iter(games), list[Record]()
        while batch := list(islice(planned, BATCH)):
            played = dict(self.play_each(batch))
            records += [played[spec] for spec in batch]
        return records

    def play_each(self, games: Sequence[GameSpec]) -> Generator[tuple[GameSpec, Record], None, None]:
        """See `evaluation.play.games.play_each`."""
        return play_each(games, self.workers, self.store, self.report, self.shared_models)

    def run_like(self, others: GameSettings) -> GameSettings:
        """The same games, with the workers, store, report and models of other settings."""
        run = {name: getattr(others, name) for name in ("workers", "store", "report", "models", "_samples")}
        return replace(self, **run)

    def sample(self, spec: Spec) -> Policy:
        """A policy instance for inspection, not for play; cached.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: the policy writes programs of modal_env.
        """
        if spec not in self._samples:
            policy = spec.make(self.shared_models)
            check_orders_written(spec, policy)
            self._samples[spec] = policy
        return self._samples[spec]

    def check_policies(self, specs: Iterable[Spec]) -> None:
        """Make every policy once, so that errors are raised before the first game; raises as `sample`."""
        for spec in specs:
            self.sample(spec)

    @contextmanager
    def pooled(self) -> Iterator[GameSettings]:
        """The same options with one pool of processes for several calls of `play`."""
        with pool_of(self.workers) as workers:
            yield replace(self, workers=workers)
