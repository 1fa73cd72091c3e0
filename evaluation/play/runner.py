"""Many games: those in the store are loaded, the others played in processes, threads or a Ray cluster, and stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING, Any, TypedDict

import welfare_env
from agents.policy import Policy
from agents.specs import Spec
from evaluation.checks import EvaluationError, check_whole
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import (
    GameStopped,
    Models,
    Record,
    aplay_game,
    check_orders_written,
    play_game,
    shared_models,
)
from evaluation.play.setting import Setting
from evaluation.play.sources import VERSIONS
from evaluation.play.store import DEFAULT_PATH, GameStore, specification_key
from evaluation.play.stored_games import StartLike, read_start
from evaluation.play.workers import WorkerError, Workers
from welfare_env import Rules
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Report = Callable[[int], None]
"""Called with the number of games finished since the last call."""

MAX_WORKERS = 1024

_log = logging.getLogger("evaluation.play")


class Runner:
    """Plays games. How it plays them does not affect the games.

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
        self._counts = self._peeks = False

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

    def count(self, evaluate: Callable[[Runner], object]) -> int:
        """The maximum number of games of an evaluation. It is called, but ends when it calls `begin`."""
        outer, self._counts = self._counts, True
        try:
            evaluate(self)
        except _Counted as counted:
            return counted.games
        finally:
            self._counts = outer
        return 0

    def peek(self, evaluate: Callable[[Runner], object]) -> list[GameSpec]:
        """The first games that an evaluation would play. It is called, but ends when it asks for them."""
        self._peeks = True
        try:
            evaluate(self)
        except _Peeked as peeked:
            return list(peeked.games)
        finally:
            self._peeks = False
        return []

    def begin(self, games: int) -> None:
        """Every evaluation calls this once: after all its checks, before its first game.

        Args:
            games: the maximum number of games, including stored games.
        """
        if self._counts:
            raise _Counted(games)

    def sample(self, spec: Spec) -> Policy:
        """A policy instance for inspection, not for play; cached.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: the policy writes programs of modal_env.
        """
        if spec not in self._samples:
            policy = spec.make(self.models)
            check_orders_written(spec, policy)
            self._samples[spec] = policy
        return self._samples[spec]

    def check(self, specs: Iterable[Spec]) -> None:
        """Make every policy once, so that errors are raised before the first game; raises as `sample`."""
        for spec in specs:
            self.sample(spec)

    def play(self, specs: Sequence[GameSpec]) -> list[Record]:
        """The records of games, in the order of `specs`; see `play_all`."""
        records = dict(self.play_each(specs))
        return [records[spec] for spec in specs]

    def play_each(self, specs: Sequence[GameSpec]) -> Generator[tuple[GameSpec, Record], None, None]:
        """Like `play`, but yields each distinct game with its record: stored games first, then as they finish.

        Records are not kept in memory. Exhaust or close the generator; it starts working, and can raise errors, only
        when the first game is requested.
        """
        if self._peeks:
            raise _Peeked(specs)
        copies = Counter(specs)
        _check_checkpoints(list(copies), self.models)
        facts = {spec: spec.to_dict(self.models) for spec in copies}  # before the first game: map files could change
        self._warn_of_unnamed(list(copies))
        keys = {spec: specification_key(facts[spec]) for spec in copies if spec.is_named}
        present = set() if self.store is None else self.store.holds(keys.values())
        missing = [spec for spec in copies if keys.get(spec) not in present]
        used: list[Record] = []  # usage of language models
        self.report(sum(copies.values()) - sum(copies[spec] for spec in missing))
        if self.store is not None:
            self.store.reused |= present - self.store.added
            for spec in (spec for spec in copies if keys.get(spec) in present):
                record = self.store.record(keys[spec])
                record.setdefault("welfare_env", {})["key"] = keys[spec]
                used += _judged(record)
                yield spec, record
        with self.open():
            for spec, record in self._played(missing, facts):
                if spec.is_named:
                    record.setdefault("welfare_env", {})["key"] = keys[spec]
                if self.store is not None and spec.is_named and _was_answered(record):
                    self.store.put(facts[spec], record)
                used += _judged(record)
                self.report(copies[spec])
                yield spec, record
        _warn(used)

    def _warn_of_unnamed(self, specs: Sequence[GameSpec]) -> None:
        unnamed = dict.fromkeys(policy.text for spec in specs for _, policy in spec.players if not policy.is_named)
        effects = ["not stored"] * (self.store is not None)
        effects += ["played in this process"] * (self._workers.count > 1)
        if unnamed and effects:
            cure = "use a class of an importable module, import:MODULE.CLASS"
            names = ", ".join(unnamed)
            _log.warning(f"games of {names} are {' and '.join(effects)}: these policies have no name; {cure}")

    def _played(
        self, specs: Sequence[GameSpec], facts: Mapping[GameSpec, Mapping[str, Any]]
    ) -> Iterator[tuple[GameSpec, Record]]:
        """Yield every game with its record, in order of completion."""
        workers = self._workers
        people = [spec for spec in specs if spec.has_people]
        asking = [spec for spec in specs if spec.asks_language_models and not spec.has_people]
        others = [spec for spec in specs if not spec.asks_language_models and not spec.has_people]
        named = [spec for spec in others if spec.is_named]
        if not workers.is_remote and any(spec.engine == "fast" for spec in others):
            from welfare_env.engine.fast import ensure_compiled  # imports numba

            ensure_compiled()  # once here, instead of in every worker
        if workers.is_remote:
            for spec, (record, key) in workers.run(_play_far, named):
                _check_same(key, facts[spec])
                yield spec, record
        elif workers.count > 1 and len(named) > 1:
            yield from workers.run(play_game, named)
        else:
            for spec in named:
                yield spec, play_game(spec)
        for spec in others:
            if not spec.is_named:
                yield spec, play_game(spec)
        at_once = asking if workers.count > 1 and len(asking) > 1 else []
        for spec in (*people, *(() if at_once else asking)):  # people one at a time, at this terminal
            yield spec, play_game(spec, self.models)
        yield from _played_at_once(at_once, workers.count, self.models)


class _Counted(Exception):
    """Ends an evaluation whose games are only counted."""

    def __init__(self, games: int) -> None:
        super().__init__(games)
        self.games = games


class _Peeked(Exception):
    """Ends an evaluation of which only the first games are wanted."""

    def __init__(self, games: Sequence[GameSpec]) -> None:
        super().__init__(games)
        self.games = games


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


def play_all(
    specs: Sequence[GameSpec],
    *,
    workers: int | Workers = 1,
    store: GameStore | None = None,
    report: Report | None = None,
    models: Models = None,
) -> list[Record]:
    """Play many games and return their records in the order of `specs`.

    Stored games are not played again; new ones are stored as soon as they finish, so an interrupted call loses at most
    the games in progress. A game in which a language model never answered is not stored. Records do not depend on the
    number of workers. The section "welfare_env" has the key of the game.

    Games with language models are played in this process, in one thread with an event loop, up to `workers` at a time,
    and share one budget. If one of them fails, the others are stopped.

    Games of policies without a name (a lambda, an instance, a class of the running script) are not stored, and are
    played in this process, one after the other; a warning is logged if there is a store or more than one worker.

    Args:
        workers: number of processes, or `Workers` to share between calls. 1 plays in this process.
        store: for finished games; None stores nothing.
        report: called with the number of games finished since the last call.
        models: as for `play_game`.

    Raises:
        EvaluationError: `workers` is out of range.
        LMError: as `play_game`.
        CheckpointError: a learned player does not fit the map or rules of a game (raised before the first game).
        StoreError: the store cannot be used.
        WorkerError: a worker process was killed.
    """
    if not isinstance(specs, Sequence) or not all(isinstance(spec, GameSpec) for spec in specs):
        raise EvaluationError(f"specs={quoted(specs)}: give a list of evaluation.GameSpec(...)")
    return Runner(workers, store, report, models).play(specs)


def _check_checkpoints(specs: Sequence[GameSpec], models: SharedModels | None) -> None:
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


def _judged(record: Record) -> list[Record]:
    """The parts of a record that `unusable` reads; [] without language models."""
    if not record.get("welfare_env", {}).get("language_models"):
        return []
    from evaluation.measures.lm_usage import as_judged  # imports rich, which workers do not need

    return [as_judged(record)]


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
) -> Iterator[tuple[GameSpec, Record]]:
    """Play games concurrently. The first error stops all games; it is raised after all finished games were yielded."""
    if not specs:
        return
    from agents.lm.models.shared_models import default_models

    stop = Event()
    failed: list[BaseException] = []
    with (models or default_models()).tasks(most) as tasks:
        try:
            games = {tasks.submit(aplay_game(spec, models, stop)): spec for spec in specs}
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
        raise _cause(failed)


def _cause(errors: Sequence[BaseException]) -> BaseException:
    """The first error that is not a consequence of another one."""
    from agents.lm.errors import StoppedError

    return next((error for error in errors if not isinstance(error, GameStopped | StoppedError)), errors[0])


def _play_far(spec: GameSpec) -> tuple[Record, str]:
    """A record from another machine, and the game's key there (a digest of its libraries, maps and files)."""
    return play_game(spec), specification_key(spec.to_dict())


def _check_same(key: str, specification: Mapping[str, Any]) -> None:
    """Check that another machine has played the game of this specification."""
    if key != specification_key(specification):
        raise WorkerError(
            "a machine of the cluster has other versions, maps, checkpoints or policies: "
            f"install the same there ({', '.join(f'{name} {number}' for name, number in VERSIONS.items())})"
        )
