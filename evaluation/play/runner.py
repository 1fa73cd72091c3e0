"""Many games: those in the store are loaded, the others played in processes, threads or a Ray cluster, and stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain, repeat
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypedDict, TypeVar

import welfare_env
from agents import CoalitionPolicy
from agents.policy import Policy
from agents.specs import Spec
from evaluation.checks import EvaluationError, check_whole
from evaluation.play.game_spec import GameSpec, Setting
from evaluation.play.playing import (
    NO_COALITION,
    GameStopped,
    Models,
    Record,
    aplay_game,
    made,
    play_game,
    shared_models,
)
from evaluation.play.sources import VERSIONS
from evaluation.play.store import DEFAULT_PATH, GameStore, StoreError, specification_key
from evaluation.play.stored_games import StartLike, read_start
from evaluation.play.workers import WorkerError, Workers
from welfare_env import Rules
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Report = Callable[[int], None]
"""Called with the number of games finished since the last call."""
Keep = Callable[[GameSpec, Record], Any]
Games = Iterator[tuple[GameSpec, Record]]
Found = TypeVar("Found")

MAX_WORKERS = 1024

_log = logging.getLogger("evaluation.play")


@dataclass(frozen=True)
class Wanted:
    """Games that an evaluation asks for.

    Attributes:
        games: the games; equal ones are played once.
        keep: called once for each distinct game as soon as it is there, stored games first; what it returns is kept
            instead of the record.
        most: with an evaluation's first request, the most games that it may ask for; 0 for just these.
    """

    games: Sequence[GameSpec] = ()
    keep: Keep | None = None
    most: int = 0


Evaluation: TypeAlias = Generator[Wanted, list[Any], Found]
"""Asks for games, gets their records, and ends with its result. All of its checks come before its first request."""


class Begun(Generic[Found]):
    """Evaluations that have made their checks, and wait for their first games.

    Attributes:
        games: the first games of all of them.
        most: the most games that they may ask for, including stored games.
    """

    def __init__(self, *evaluations: Evaluation[Found]) -> None:
        self._waiting = [(each, next(each)) for each in evaluations]
        self.games = list(dict.fromkeys(spec for _, wanted in self._waiting for spec in wanted.games))
        self.most = sum(wanted.most or len(wanted.games) for _, wanted in self._waiting)

    @property
    def policies(self) -> list[Spec]:
        """The policies of the first games, without repetition."""
        return list(dict.fromkeys(policy for spec in self.games for _, policy in spec.players))

    def results(self, runner: Runner) -> list[Found]:
        """Play all of their games; raises as `Runner.check` and `Runner.play`."""
        runner.check(self.games)
        found = []
        with runner.open():
            for evaluation, wanted in self._waiting:
                left = wanted.most or len(wanted.games)
                try:
                    while True:
                        left -= len(wanted.games)
                        wanted = evaluation.send(runner.play(wanted.games, wanted.keep))
                except StopIteration as end:
                    found.append(end.value)
                runner.report(left)  # games that turned out not to be needed
        return found


class Runner:
    """Plays games. How it plays them does not affect the games.

    Stored games are not played again; new ones are stored as soon as they finish, so an interrupted run loses at most
    the games in progress. A game in which a language model never answered is not stored.

    Games with language models are played in this process, in one thread with an event loop, up to `workers` at a time,
    and share one budget. If one of them fails, the others are stopped.

    Games of policies without a name (a lambda, an instance, a class of the running script) are not stored, and are
    played in this process, one after the other; a warning is logged if there is a store or more than one worker.

    Args:
        workers: number of processes, or `Workers` to share between calls. 1 plays in this process.
        store: for finished games, which are not played again; None stores nothing.
        report: called with the number of games finished since the last call (for progress bars).
        models: cache, budget and your own models for language-model players, or just a mapping of names to your own
            models; None for the defaults.

    Raises:
        EvaluationError: a number of workers out of range, or a store, report or models of the wrong type.
    """

    def __init__(
        self,
        workers: int | Workers = 1,
        store: GameStore | None = None,
        report: Report | None = None,
        models: Models = None,
    ) -> None:
        check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1, MAX_WORKERS)
        if store is not None and not isinstance(store, GameStore):
            raise EvaluationError(f"store={quoted(store)}: give evaluation.GameStore(PATH), or None")
        if report is not None and not callable(report):
            raise EvaluationError(f"report={quoted(report)}: give a function of a number of games, or None")
        self.store, self.report, self.models = store, report or (lambda count: None), shared_models(models)
        self._is_open = isinstance(workers, Workers)  # and closed by the caller
        self._workers = workers if isinstance(workers, Workers) else Workers(workers)
        self._samples: dict[Spec, Policy] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep the worker processes for all games of the block."""
        if self._is_open:
            yield
            return
        self._is_open = True
        try:
            with self._workers:
                yield
        finally:
            self._is_open = False

    def run(self, evaluation: Evaluation[Found]) -> Found:
        """The result of an evaluation.

        Raises:
            EvaluationError: not an evaluation; otherwise as `Begun.results`.
        """
        if not isinstance(evaluation, Generator):
            raise EvaluationError(f"evaluation={quoted(evaluation)}: give a generator of `Wanted` games")
        (result,) = Begun(evaluation).results(self)
        return result

    def check(self, games: Iterable[GameSpec]) -> None:
        """Make every policy once, so that errors come before the first game.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: a policy writes programs of modal_env, or does not play a coalition.
        """
        for spec in games:
            for power, policy in spec.players:
                if not isinstance(self.sample(policy), CoalitionPolicy) and power in spec.coalition:
                    raise EvaluationError(f"{policy.text}: {NO_COALITION}")

    def sample(self, spec: Spec) -> Policy:
        """A policy instance for inspection, not for play; cached.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: the policy writes programs of modal_env.
        """
        if spec not in self._samples:
            self._samples[spec] = made(spec, self.models)
        return self._samples[spec]

    def play(self, specs: Sequence[GameSpec], keep: Keep | None = None) -> list[Any]:
        """Play games: their records in the order of `specs`, which do not depend on the number of workers.

        The section "welfare_env" of a record has the key of the game.

        Args:
            keep: as in `Wanted`.

        Raises:
            EvaluationError: `specs` are not games.
            LMError: as `play_game`.
            CheckpointError: a learned player does not fit the map or rules of a game (raised before the first game).
            StoreError: the store cannot be used (raised before the first game, if it cannot be written to).
            WorkerError: a worker process was killed.
        """
        if not isinstance(specs, Sequence) or not all(isinstance(spec, GameSpec) for spec in specs):
            raise EvaluationError(f"specs={quoted(specs)}: give a list of evaluation.GameSpec(...)")
        copies, store = Counter(specs), self.store
        _check_checkpoints(copies, self.models)
        facts = {spec: spec.to_dict(self.models) for spec in copies}  # before the first game: map files could change
        self._warn_of_unnamed(copies)
        keys = {spec: specification_key(facts[spec]) for spec in copies if spec.is_named}
        present = set() if store is None else store.holds(keys.values())
        old = [spec for spec in copies if keys.get(spec) in present]
        new = {spec: copies[spec] for spec in copies if keys.get(spec) not in present}
        loaded: Games = iter(())
        if store is not None:
            store.reused |= present - store.added
            loaded = zip(old, map(partial(_loaded, store), [keys[spec] for spec in old]), strict=False)
            if new:
                store.check_writable()
        self.report(sum(copies[spec] for spec in old))
        kept: dict[GameSpec, Any] = {}
        used: list[Record] = []  # usage of language models
        here, spread, asking = self._divided(new)
        at_once = _played_at_once(asking, self._workers.count, self.models)
        with self.open(), closing(at_once):
            far = _played_far if self._workers.is_remote else _played_near
            mine = zip(here, map(play_game, here, repeat(self.models)), strict=False)
            for spec, record in chain(loaded, far(self._workers, spread, facts), mine, at_once):
                if spec in keys:
                    record.setdefault("welfare_env", {})["key"] = keys[spec]
                if spec in new and spec in keys and store is not None and _was_answered(record):
                    store.put(facts[spec], record)
                used += _judged(record)
                self.report(new.get(spec, 0))
                kept[spec] = record if keep is None else keep(spec, record)
        _warn(used)
        return [kept[spec] for spec in specs]

    def _warn_of_unnamed(self, specs: Iterable[GameSpec]) -> None:
        unnamed = dict.fromkeys(policy.text for spec in specs for _, policy in spec.players if not policy.is_named)
        effects = ["not stored"] * (self.store is not None)
        effects += ["played in this process"] * (self._workers.count > 1)
        if unnamed and effects:
            cure = "use a class of an importable module, import:MODULE.CLASS"
            names = ", ".join(unnamed)
            _log.warning(f"games of {names} are {' and '.join(effects)}: these policies have no name; {cure}")

    def _divided(self, specs: Iterable[GameSpec]) -> tuple[list[GameSpec], list[GameSpec], list[GameSpec]]:
        """Games played here one after the other (people's last), by workers, and in threads of language models."""
        workers = self._workers
        named: list[GameSpec] = []
        unnamed: list[GameSpec] = []
        asking: list[GameSpec] = []
        people: list[GameSpec] = []
        for spec in specs:
            is_asking = spec.asks_language_models
            kind = people if spec.has_people else asking if is_asking else named if spec.is_named else unnamed
            kind.append(spec)
        if not workers.is_remote and any(spec.engine == "fast" for spec in (*named, *unnamed)):
            from welfare_env.engine.fast import ensure_compiled  # imports numba

            ensure_compiled()  # once here, instead of in every worker
        if not workers.is_remote and (workers.count == 1 or len(named) == 1):
            unnamed, named = [*named, *unnamed], []
        if workers.count == 1 or len(asking) == 1:
            unnamed, asking = [*unnamed, *asking], []
        return [*unnamed, *people], named, asking


class PlayOptions(TypedDict, total=False):
    """The keyword arguments of `Setting` and of `Runner`, for type checkers."""

    seed: int
    rules: Rules | None
    map_name: str
    engine: str
    seats: str
    simultaneous: bool
    paper_code: bool
    start: StartLike
    workers: int | Workers
    store: GameStore | None
    report: Report | None
    models: Models


def read_options(options: Mapping[str, Any]) -> tuple[Setting, Runner]:
    """The `Setting` and the `Runner` of keyword arguments; raises as both."""
    run = {name: options[name] for name in ("workers", "store", "report", "models") if name in options}
    games = {name: value for name, value in options.items() if name not in run}
    runner = Runner(**run)
    if games.get("start") is not None:
        where = DEFAULT_PATH if runner.store is None else runner.store.path
        games["start"] = read_start(games["start"], games.get("rules"), games.get("map_name"), where)
    return Setting(**games), runner


def _check_checkpoints(specs: Iterable[GameSpec], models: SharedModels | None) -> None:
    """Raise CheckpointError if a learned player does not fit one of its games."""
    learned = ((spec, policy) for spec in specs for _, policy in spec.players if policy.checkpoints)
    for policy, map_name, rules in dict.fromkeys((policy, spec.map_name, spec.rules) for spec, policy in learned):
        if not (find_spec("torch") and find_spec("safetensors")):
            policy.make(models)  # raises, and names the extra
        from agents.rl.checkpoint import CheckpointError
        from agents.rl.exported import check_game

        for folder in policy.checkpoints:
            try:
                check_game(folder, welfare_env.load_board(map_name), rules)
            except CheckpointError as error:
                raise CheckpointError(f"policy {policy.text!r}: {error}") from error


def _loaded(store: GameStore, key: str) -> Record:
    """A stored record.

    Raises:
        StoreError: it is no game's.
    """
    record = store.record(key)
    if not isinstance(record.get("phases"), list) or not isinstance(record.get("welfare_env"), dict):
        raise StoreError(f"{store.path}: the record of game {key} is not one of a game: move the file away")
    return record


def _judged(record: Record) -> list[Record]:
    """The parts of a record that `unusable` reads; [] without language models."""
    if not record.get("welfare_env", {}).get("language_models"):
        return []
    from evaluation.measures.lm_usage import without_texts  # imports rich, which workers do not need

    return [without_texts(record)]


def _warn(records: Sequence[Record]) -> None:
    if records:
        from evaluation.measures.lm_usage import unusable

        for warning in unusable(records):
            _log.warning(warning)


def _was_answered(record: Record) -> bool:
    """Whether every language model replied at least once; otherwise (a wrong API key, say) the game is worthless."""
    models = record.get("welfare_env", {}).get("language_models", {})
    return all(model["failed"] < model["calls"] for found in models.values() for model in found if model["calls"])


def _played_at_once(
    specs: Sequence[GameSpec], most: int, models: SharedModels | None
) -> Generator[tuple[GameSpec, Record], None, None]:
    """Play games concurrently. The first error stops all games; it is raised after all finished games were yielded."""
    if not specs:
        return
    from agents.lm.errors import StoppedError
    from agents.lm.models.shared_models import default_models

    stop, failed = Event(), []
    with (models or default_models()).tasks(most) as submit:
        try:
            games = {submit(aplay_game(spec, models, stop)): spec for spec in specs}
            for game in as_completed(games):
                spec, error = games.pop(game), game.exception()
                if error is None:
                    yield spec, game.result()
                else:
                    stop.set()
                    failed.append(error)
        finally:
            stop.set()
    if failed:
        raise next((error for error in failed if not isinstance(error, GameStopped | StoppedError)), failed[0])


def _play_far(spec: GameSpec) -> tuple[Record, str]:
    """A record from another machine, and the game's key there (a digest of its libraries, maps and files)."""
    return play_game(spec), specification_key(spec.to_dict())


def _played_near(workers: Workers, specs: Sequence[GameSpec], facts: Mapping[GameSpec, Mapping[str, Any]]) -> Games:
    return workers.run(play_game, specs)


def _played_far(workers: Workers, specs: Sequence[GameSpec], facts: Mapping[GameSpec, Mapping[str, Any]]) -> Games:
    for spec, (record, key) in workers.run(_play_far, specs):
        if key != specification_key(facts[spec]):
            raise WorkerError(
                "a machine of the cluster has other versions, maps, checkpoints or policies: "
                f"install the same there ({', '.join(f'{name} {number}' for name, number in VERSIONS.items())})"
            )
        yield spec, record
