"""Games between policies: one, or many in parallel, with finished games loaded from the store."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from functools import partial
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING, Any

import welfare_env
from evaluation.checks import EvaluationError
from evaluation.play.execution import Models, Report, check_run, checked_report, pool_of, shared_models
from evaluation.play.game_spec import GameSpec
from evaluation.play.sources import VERSIONS
from evaluation.play.store import GameStore, specification_key
from evaluation.play.turns import GameStopped, set_up_game
from evaluation.play.workers import WorkerError, Workers
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Record = dict[str, Any]

_log = logging.getLogger(__name__)


def play_game(spec: GameSpec, models: Models = None, stop: Event | None = None) -> Record:
    """Play one game to its end.

    Args:
        models: cache, budget and your own models for language-model players (`agents.lm`'s SharedModels), or just a
            mapping of names to your own models; None for the defaults.
        stop: aborts the game when it is set.

    Returns:
        The game's record, with "seed" and "players" in the section "welfare_env", and, with language models, the
        output of `evaluation.play.turns.conversation`.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: an invalid policy, map or rules.
        EvaluationError: not every player has exactly one policy.
        LMError: a budget is exhausted, a model cannot be called, or a prompt does not fit the game.
        GameStopped: `stop` was set.
    """
    if not isinstance(spec, GameSpec):
        raise EvaluationError(f"spec={quoted(spec)}: give evaluation.GameSpec(...)")
    shared, stop = shared_models(models), stop or Event()
    seats = set_up_game(spec, shared)
    if not seats.asks:
        return _without_waiting(seats.play(shared, stop))
    from agents.lm.models.shared_models import default_models

    with (shared or default_models()).tasks(1) as tasks:
        return tasks.submit(seats.play(shared, stop)).result()


async def aplay_game(spec: GameSpec, models: Models = None, stop: Event | None = None) -> Record:
    """Like `play_game`, in the caller's event loop, so that many games can wait for language models concurrently.

    Pass the same `SharedModels` to all of them to share its limits.
    """
    shared = shared_models(models)
    return await set_up_game(spec, shared).play(shared, stop or Event())


def _without_waiting(playing: Coroutine[Any, Any, Record]) -> Record:
    """Run a game that never waits for language models, without an event loop, and return its record."""
    try:
        while playing.send(None) is None:
            pass
    except StopIteration as end:
        record: Record = end.value
        return record
    raise EvaluationError("internal error: a game without language models waits for one; please report it")


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
    check_run(workers, store)
    records = dict(play_each(specs, workers, store, checked_report(report), shared_models(models)))
    return [records[spec] for spec in specs]


def play_each(
    specs: Sequence[GameSpec],
    workers: int | Workers = 1,
    store: GameStore | None = None,
    report: Report | None = None,
    models: SharedModels | None = None,
) -> Generator[tuple[GameSpec, Record], None, None]:
    """Like `play_all`, but yields each distinct game with its record: stored games first, then in order of completion.

    Records are not kept in memory. Exhaust or close the generator; it starts working, and can raise errors, only when
    the first game is requested.
    """
    if not isinstance(specs, Sequence) or not all(isinstance(spec, GameSpec) for spec in specs):
        raise EvaluationError(f"specs={quoted(specs)}: give a list of evaluation.GameSpec(...)")
    copies, report = Counter(specs), report or (lambda count: None)
    _check_checkpoints(list(copies), models)
    keys = {spec: spec.to_dict(models) for spec in copies}  # before the first game, since a map file could change
    used: list[Record] = []  # usage of language models
    with pool_of(workers) as pool:
        _warn_of_unnamed(list(copies), store, pool)
        named = {spec: key for spec, key in keys.items() if spec.is_named}
        stored = {} if store is None else _stored(named, store)
        if store is not None:
            store.reused |= {specification_key(keys[spec]) for spec in stored} - store.added
        report(sum(copies[spec] for spec in stored))
        for spec, load in stored.items():
            record = load()
            used += _judged(record)
            yield spec, record
        missing = [spec for spec in copies if spec not in stored]
        for spec, record in _played(missing, pool, models, keys):
            if spec.is_named:
                record.setdefault("welfare_env", {})["key"] = specification_key(keys[spec])
            if store and spec.is_named and _was_answered(record):
                store.put(keys[spec], record)
            used += _judged(record)
            report(copies[spec])
            yield spec, record
    if models is not None:
        models.forget_passing()  # the next run retries calls that failed this time
    _warn(used)


def _check_checkpoints(specs: Sequence[GameSpec], models: SharedModels | None) -> None:
    """Raise CheckpointError if a learned player does not fit one of its games."""
    learned = ((spec, policy) for spec in specs for _, policy in spec.players if policy.checkpoints)
    for policy, map_name, rules in dict.fromkeys((policy, spec.map_name, spec.rules) for spec, policy in learned):
        if not (find_spec("torch") and find_spec("safetensors")):
            policy.make(models)  # raises, and names the extra
        from agents.rl import checkpoint

        for folder in policy.checkpoints:
            try:
                checkpoint.load(folder).rules_of_play(welfare_env.load_board(map_name), rules)
            except checkpoint.CheckpointError as error:
                raise checkpoint.CheckpointError(f"policy {policy.text!r}: {error}") from error


def _stored(
    specifications: Mapping[GameSpec, dict[str, Any]], store: GameStore
) -> dict[GameSpec, Callable[[], Record]]:
    """Stored games, each with a function that loads its record."""
    keys = {spec: specification_key(specification) for spec, specification in specifications.items()}
    present = store.holds(keys.values())
    return {spec: partial(_stored_record, store, key) for spec, key in keys.items() if key in present}


def _stored_record(store: GameStore, key: str) -> Record:
    record = store.record(key)
    record.setdefault("welfare_env", {})["key"] = key
    return record


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


def _warn_of_unnamed(specs: Sequence[GameSpec], store: GameStore | None, workers: Workers) -> None:
    unnamed = dict.fromkeys(policy.text for spec in specs for _, policy in spec.players if not policy.is_named)
    effects = ["not stored"] * (store is not None) + ["played in this process"] * (workers.count > 1)
    if unnamed and effects:
        cure = "use a class of an importable module, import:MODULE.CLASS"
        _log.warning(f"games of {', '.join(unnamed)} are {' and '.join(effects)}: these policies have no name; {cure}")


def _was_answered(record: Record) -> bool:
    """Whether every language model replied at least once; otherwise (a wrong API key, say) the game is worthless."""
    models = record.get("welfare_env", {}).get("language_models", {})
    return all(model["failed"] < model["calls"] for found in models.values() for model in found if model["calls"])


def _played(
    specs: Sequence[GameSpec],
    workers: Workers,
    models: SharedModels | None,
    specifications: Mapping[GameSpec, Mapping[str, Any]],
) -> Iterator[tuple[GameSpec, Record]]:
    """Yield every game with its record, in order of completion."""
    people = [spec for spec in specs if spec.has_people]
    asking = [spec for spec in specs if spec.asks_language_models and not spec.has_people]
    others = [spec for spec in specs if not spec.asks_language_models and not spec.has_people]
    if not workers.is_remote and any(spec.engine == "fast" for spec in others):
        from welfare_env.engine.fast import ensure_compiled  # imports numba

        ensure_compiled()  # once here, instead of in every worker
    named = [spec for spec in others if spec.is_named]
    if workers.is_remote:
        for spec, (record, key) in workers.run(_play_far, named):
            _check_same(key, specifications[spec])
            yield spec, record
    else:
        yield from workers.run(play_game, named)
    yield from ((spec, play_game(spec)) for spec in others if not spec.is_named)
    yield from ((spec, play_game(spec, models)) for spec in people)  # one at a time, at this terminal
    if workers.count == 1 or len(asking) == 1:
        yield from ((spec, play_game(spec, models)) for spec in asking)
        return
    yield from _played_at_once(asking, workers.count, models)


def _played_at_once(
    specs: Sequence[GameSpec], most: int, models: SharedModels | None
) -> Iterator[tuple[GameSpec, Record]]:
    """Play games concurrently. The first error stops all games; it is raised after all finished games were yielded."""
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
