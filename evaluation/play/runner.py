"""Many games: those in the store are loaded, the others played in processes, threads or a Ray cluster, and stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain, repeat
from threading import Event
from typing import TYPE_CHECKING, Any, TypedDict

import welfare_env
from agents.policy import Policy
from agents.specs import Spec
from evaluation.checks import EvaluationError, check_whole
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import GameStopped, Models, Record, aplay_game, made, play_game, shared_models
from evaluation.play.setting import Setting
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
Games = Iterator[tuple[GameSpec, Record]]

MAX_WORKERS = 1024

_log = logging.getLogger("evaluation.play")


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
        self._ends_at = ""  # "begin" or "play": evaluations are only counted, or only their first games are wanted

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
        return self._until("begin", evaluate) or 0

    def peek(self, evaluate: Callable[[Runner], object]) -> list[GameSpec]:
        """The first games that an evaluation would play. It is called, but ends when it asks for them."""
        return list(self._until("play", evaluate) or ())

    def _until(self, step: str, evaluate: Callable[[Runner], object]) -> Any:
        outer, self._ends_at = self._ends_at, step
        try:
            evaluate(self)
        except _Ended as ended:
            return ended.value
        finally:
            self._ends_at = outer
        return None

    def begin(self, games: int) -> None:
        """Every evaluation calls this once: after all its checks, before its first game.

        Args:
            games: the maximum number of games, including stored games.
        """
        if self._ends_at == "begin":
            raise _Ended(games)

    def sample(self, spec: Spec) -> Policy:
        """A policy instance for inspection, not for play; cached.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: the policy writes programs of modal_env.
        """
        if spec not in self._samples:
            self._samples[spec] = made(spec, self.models)
        return self._samples[spec]

    def check(self, specs: Iterable[Spec]) -> None:
        """Make every policy once, so that errors are raised before the first game; raises as `sample`."""
        for spec in specs:
            self.sample(spec)

    def play(self, specs: Sequence[GameSpec], keep: Callable[[GameSpec, Record], Any] | None = None) -> list[Any]:
        """Play games: their records in the order of `specs`, which do not depend on the number of workers.

        The section "welfare_env" of a record has the key of the game.

        Args:
            keep: called once for each distinct game as soon as it is there, stored games first; what it returns is
                kept instead of the record.

        Raises:
            EvaluationError: `specs` are not games.
            LMError: as `play_game`.
            CheckpointError: a learned player does not fit the map or rules of a game (raised before the first game).
            StoreError: the store cannot be used (raised before the first game, if it cannot be written to).
            WorkerError: a worker process was killed.
        """
        if not isinstance(specs, Sequence) or not all(isinstance(spec, GameSpec) for spec in specs):
            raise EvaluationError(f"specs={quoted(specs)}: give a list of evaluation.GameSpec(...)")
        if self._ends_at == "play":
            raise _Ended(specs)
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
        asking = [spec for spec in new if spec.asks_language_models and not spec.has_people]
        if self._workers.count == 1 or len(asking) == 1:
            asking = []
        together = set(asking)
        others = [spec for spec in new if spec not in together]
        at_once = _played_at_once(asking, self._workers.count, self.models)
        with self.open(), closing(at_once):
            for spec, record in chain(loaded, self._played(others, facts), at_once):
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

    def _played(self, specs: Iterable[GameSpec], facts: Mapping[GameSpec, Mapping[str, Any]]) -> Games:
        """Games with their records, in order of completion; people play one at a time, at this terminal."""
        kinds: dict[str, list[GameSpec]] = {"named": [], "unnamed": [], "waiting": []}
        for spec in specs:
            is_waiting = spec.has_people or spec.asks_language_models
            kinds["waiting" if is_waiting else "named" if spec.is_named else "unnamed"].append(spec)
        workers, named, here = self._workers, kinds["named"], [*kinds["unnamed"], *kinds["waiting"]]
        if not workers.is_remote and any(spec.engine == "fast" for spec in (*named, *kinds["unnamed"])):
            from welfare_env.engine.fast import ensure_compiled  # imports numba

            ensure_compiled()  # once here, instead of in every worker
        spread: Games = iter(())
        if workers.is_remote:
            spread = _played_far(workers, named, facts)
        elif workers.count > 1 and len(named) > 1:
            spread = workers.run(play_game, named)
        else:
            here = [*named, *here]
        return chain(spread, zip(here, map(play_game, here, repeat(self.models)), strict=False))


class _Ended(Exception):
    """Ends an evaluation of which only a number or the first games are wanted."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


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


def _played_far(workers: Workers, specs: Sequence[GameSpec], facts: Mapping[GameSpec, Mapping[str, Any]]) -> Games:
    for spec, (record, key) in workers.run(_play_far, specs):
        if key != specification_key(facts[spec]):
            raise WorkerError(
                "a machine of the cluster has other versions, maps, checkpoints or policies: "
                f"install the same there ({', '.join(f'{name} {number}' for name, number in VERSIONS.items())})"
            )
        yield spec, record
