"""Games between policies: one, or many side by side, each found again in the store once it is finished."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from importlib.metadata import version
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
import welfare_env
from agents.specs import Spec, named_files
from evaluation.checks import MOST_SEED, EvaluationError, check_whole
from evaluation.play.answer_sources import answered_by
from evaluation.play.means import check_means, check_workers
from evaluation.play.older_games import older_games, older_record, without_code
from evaluation.play.sources import SOURCES, own_code
from evaluation.play.store import GameStore, StoreError, specification_key
from evaluation.play.turns import GameStopped, play_game
from evaluation.play.workers import WorkerError, Workers
from welfare_env.board.loading import map_digest
from welfare_env.checks import shown

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Record = dict[str, Any]
Report = Callable[[int], None]  # is told how many more games are there

VERSIONS = {name: version(name) for name in ("diplomacy", "numba", "numpy", "scipy")}
"""Of the libraries that decide how a game goes."""


_log = logging.getLogger(__name__)


CODE_DIGEST = SOURCES.digest_of_all
"""Of the code as it was when this process imported it; what is changed later is not what plays here."""


@dataclass(frozen=True)
class GameSpec:
    """All that decides how a game goes.

    Attributes:
        players: (power, policy) of every power: a text, a class, a factory or an instance, kept as its
            `agents.specs.Spec`, so that two ways to write one are the same game.
        seed: of this game; the order of speaking and the policies' chance come from it.
        rules, map_name, engine: as for `welfare_env.make`.
        simultaneous: whether all players speak at the same time in a round, and read each other from the next one on
            (`welfare_env.parallel_env`); else, as in the paper, one after the other in random order.
        coalition: powers that one policy object plays together (`agents.CoalitionPolicy`); () if each has its own.

    Raises:
        UnknownAgentError: a policy does not exist.
        EvaluationError: a value of another kind, a seed out of range, or a coalition that does not play one policy.
    """

    players: tuple[tuple[str, Spec], ...]
    seed: int
    rules: welfare_env.Rules
    map_name: str
    engine: str
    simultaneous: bool = False
    coalition: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, MOST_SEED)
        if not (isinstance(self.rules, welfare_env.Rules) and isinstance(self.simultaneous, bool)):
            raise EvaluationError(f"rules={shown(self.rules)}, simultaneous={shown(self.simultaneous)}: see GameSpec")
        if not (isinstance(self.map_name, str) and isinstance(self.engine, str) and _are_pairs(self.players)):
            given = f"players={shown(self.players)}, map_name={shown(self.map_name)}, engine={shown(self.engine)}"
            raise EvaluationError(f"{given}: give pairs of a power and a policy, and the names of a map and an engine")
        found = {id(policy): agents.specs.read(policy) for _, policy in self.players}
        object.__setattr__(self, "players", tuple((power, found[id(policy)]) for power, policy in self.players))
        seats = [power for power, _ in self.players]
        members = self.coalition if isinstance(self.coalition, tuple) else (self.coalition,)
        if any(members.count(member) > 1 or member not in seats for member in members) or members != self.coalition:
            raise EvaluationError(f"coalition={shown(self.coalition)}: give some of {seats}, each once")
        if len({policy for power, policy in self.players if power in self.coalition}) > 1:
            raise EvaluationError(f"coalition={shown(self.coalition)}: its members play different policies: give one")

    def __reduce__(self) -> tuple[type[GameSpec], tuple[Any, ...]]:
        """To a worker process a policy goes as its text.

        Raises:
            EvaluationError: one has no name.
        """
        if not self.is_named:
            raise EvaluationError(
                f"players={shown(self.written)}: some have no name, so no other process can play them"
            )
        return GameSpec, (
            tuple(self.written.items()),
            self.seed,
            self.rules,
            self.map_name,
            self.engine,
            self.simultaneous,
            self.coalition,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, with all that is decided elsewhere: what has changed there is played anew.

        That is the code of the rules and of these policies (`evaluation.play.sources`), as a digest, and a map file;
        and of language models the address of the server where the environment names it, and the replies in a file of
        kept ones, as a digest.

        Raises:
            UnknownMapError: neither a known map nor a file.
            ConfigError, CacheError: no address of a server in the environment, or no file of kept replies.
        """
        policies = {policy for _, policy in self.players}
        code, own = code_of(policies)
        asked = [answered_by(*model) for model in sorted({model for each in policies for model in each.models})]
        return {
            "players": self.written,
            "seed": self.seed,
            "rules": self.rules.to_dict(),
            "map": self.map_name,
            "map_digest": map_digest(self.map_name),
            "engine": self.engine,
            "code": code,
            "own_code": own,
            "versions": VERSIONS,
            **({"simultaneous": True} if self.simultaneous else {}),
            **({"coalition": list(self.coalition)} if self.coalition else {}),
            **({"language_models": asked} if asked else {}),
        }

    @property
    def written(self) -> dict[str, str]:
        """Power -> the text of its policy."""
        return {power: policy.text for power, policy in self.players}

    @property
    def is_named(self) -> bool:
        """Whether all its policies can be named, so that a store can find the game again."""
        return all(policy.is_named for _, policy in self.players)

    @property
    def asks_language_models(self) -> bool:
        """Whether a player is a language model, or a part of it is, as far as names tell."""
        return any(policy.models for _, policy in self.players)


def code_of(policies: Iterable[Spec]) -> tuple[str, str]:
    """SHA-256 over our code that decides a game of these policies, and over the user's; "" if there is none.

    Raises:
        UnknownAgentError: the package that the user's module is in cannot be imported.
    """
    policies = list(policies)
    own, imported = own_code({path for policy in policies for path in named_files(policy)})
    return SOURCES.digest(imported.union(*(policy.modules for policy in policies))), own


def _are_pairs(players: object) -> bool:
    pairs = players if isinstance(players, tuple | list) else [None]
    return all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)


def game_seed(seed: int, game: int) -> int:
    """The seed of an evaluation's `game`-th game: the same in every condition, so that conditions can be paired."""
    return int(np.random.SeedSequence([seed, game]).generate_state(1)[0])


def play(spec: GameSpec, models: SharedModels | None = None, stop: Event | None = None) -> Record:
    """Play one game to its end.

    Args:
        models: where language models come from; None for those without budget and cache.
        stop: breaks the game off once it is set.

    Returns:
        Its record, with "seed" and "players" in the section "welfare_env", and, of a game with language models, what
        `evaluation.play.turns.conversation` adds.

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: as their names say.
        EvaluationError: not every player has exactly one policy.
        LMError: a budget is used up, a model cannot be asked, or a prompt does not fit the game.
        GameStopped: `stop` was set.
    """
    if not isinstance(spec, GameSpec):
        raise EvaluationError(f"spec={shown(spec)}: give evaluation.GameSpec(...)")
    stop = stop or Event()
    return play_game(
        spec.players, spec.seed, spec.rules, spec.map_name, spec.engine, spec.simultaneous, spec.coalition, models, stop
    )


def play_all(
    specs: Sequence[GameSpec],
    *,
    workers: int | Workers = 1,
    store: GameStore | None = None,
    report: Report | None = None,
    models: SharedModels | None = None,
    use_older_games: bool = False,
) -> list[Record]:
    """The records of many games, in the order asked for.

    Games that the store has are not played again; each new one is stored as soon as it is finished, so an interrupted
    call loses at most the games under way. A game in which a language model answered nothing is not stored. The
    records do not depend on the number of workers. They have their game's key in the section "welfare_env".

    Games with language models, which mostly wait, are all played in this process, in as many threads as there are
    workers, so that they share one budget. When one of them has to end, the others do too.

    Games of policies that have no name (a lambda, an instance, a class of the running script) are not stored, and are
    played in this process, one after the other; a warning says so where it makes a difference.

    Args:
        workers: processes that play, or a `Workers` that several calls share. 1 plays in this process.
        store: where finished games are kept; None keeps them nowhere.
        report: is called with the number of games that have come in since the last call.
        models: as for `play`.
        use_older_games: whether a game of the store will do that was played by code that has changed since, where
            there is none by this code. Its record says so: "older_code" is true in the section "welfare_env".

    Raises:
        EvaluationError: no worker, or no store for older games.
        LMError: as `play` does.
        CheckpointError: before the first game; a learned player does not fit the map or the rules of a game.
        StoreError: the store cannot be used, or the code was changed while games were played.
        WorkerError: a worker process was killed.
    """
    check_workers(workers)
    check_means(store=store, report=report, models=models, use_older_games=use_older_games)
    if not isinstance(specs, list | tuple) or not all(isinstance(spec, GameSpec) for spec in specs):
        raise EvaluationError(f"specs={shown(specs)}: give a list of evaluation.GameSpec(...)")
    if isinstance(workers, int):
        with Workers(workers) as own:
            return play_all(
                specs, workers=own, store=store, report=report, models=models, use_older_games=use_older_games
            )
    unique = list(dict.fromkeys(specs))
    _check_checkpoints(unique)
    keys = {spec: spec.to_dict() for spec in unique}  # before any game, or a map file could change in between
    _warn_of_unnamed(unique, store, workers)
    records = _found({spec: key for spec, key in keys.items() if spec.is_named}, store, use_older_games)
    tell = report or (lambda count: None)
    tell(sum(spec in records for spec in specs))
    copies = Counter(specs)
    for spec, (record, digest) in _played([spec for spec in unique if spec not in records], workers, models):
        if workers.is_remote and digest not in (CODE_DIGEST, specification_key(keys[spec])):
            raise WorkerError(
                "a machine of the cluster has other code, libraries, maps, checkpoints or own policies than this one: "
                f"install the same there ({', '.join(f'{name} {number}' for name, number in VERSIONS.items())})"
            )
        if not workers.is_remote and digest != CODE_DIGEST:
            raise StoreError("the code was changed while games were played: give the command again")
        if spec.is_named:
            record.setdefault("welfare_env", {})["key"] = specification_key(keys[spec])
        if store and spec.is_named and _was_answered(record):
            store.put(keys[spec], record)
        records[spec] = record
        tell(copies[spec])
    if models is not None:
        models.forget_passing()  # the next run asks again what could not be answered this time
    _warn(list(records.values()))
    return [records[spec] for spec in specs]


def _check_checkpoints(specs: Sequence[GameSpec]) -> None:
    """Raises CheckpointError if a learned player does not fit a game that it is to play."""
    learned = ((spec, policy) for spec in specs for _, policy in spec.players if policy.checkpoints)
    for policy, map_name, rules in dict.fromkeys((policy, spec.map_name, spec.rules) for spec, policy in learned):
        policy.make()  # says so if torch is missing
        from agents.rl import checkpoint

        for folder in policy.checkpoints:
            try:
                checkpoint.load(folder).rules_of_play(welfare_env.load_board(map_name), rules)
            except checkpoint.CheckpointError as error:
                raise checkpoint.CheckpointError(f"policy {policy.text!r}: {error}") from error


def _found(
    keys: Mapping[GameSpec, dict[str, Any]], store: GameStore | None, use_older_games: bool
) -> dict[GameSpec, Record]:
    """The games that the store has."""
    if store is None:
        return {}
    older = older_games(store) if use_older_games else {}
    records: dict[GameSpec, Record] = {}
    for spec, specification in keys.items():
        record = store.get(specification)
        if record is not None:
            record.setdefault("welfare_env", {})["key"] = specification_key(specification)  # earlier ones lack it
            records[spec] = record
        elif key := older.get(without_code(specification)):
            records[spec] = older_record(store, key)
    return records


def _warn(records: Sequence[Record]) -> None:
    from evaluation.measures.lm_usage import unusable  # with rich, which workers do not need

    for warning in unusable(records):
        _log.warning(warning)


def _warn_of_unnamed(specs: Sequence[GameSpec], store: GameStore | None, workers: Workers) -> None:
    unnamed = dict.fromkeys(policy.text for spec in specs for _, policy in spec.players if not policy.is_named)
    effects = ["not stored"] * (store is not None) + ["played in this process"] * (workers.count > 1)
    if unnamed and effects:
        cure = "a class of an importable module has a name, import:MODULE.CLASS"
        _log.warning(f"games of {', '.join(unnamed)} are {' and '.join(effects)}: no spec names it; {cure}")


def _was_answered(record: Record) -> bool:
    """Whether every language model answered something; else, as with a wrong key, the game is worth nothing later."""
    models = record.get("welfare_env", {}).get("language_models", {})
    return all(model["failed"] < model["calls"] for found in models.values() for model in found if model["calls"])


def _played(
    specs: Sequence[GameSpec], workers: Workers, models: SharedModels | None
) -> Iterator[tuple[GameSpec, tuple[Record, str]]]:
    """Every game with its record, in the order in which they are finished."""
    asking = [spec for spec in specs if spec.asks_language_models]
    others = [spec for spec in specs if not spec.asks_language_models]
    yield from workers.run(_play_far if workers.is_remote else _play_task, [spec for spec in others if spec.is_named])
    yield from ((spec, _play_task(spec)) for spec in others if not spec.is_named)
    if workers.count == 1 or len(asking) == 1:
        yield from ((spec, (play(spec, models), CODE_DIGEST)) for spec in asking)
        return
    yield from _played_in_threads(asking, workers.count, models)


def _played_in_threads(
    specs: Sequence[GameSpec], threads: int, models: SharedModels | None
) -> Iterator[tuple[GameSpec, tuple[Record, str]]]:
    """The first error stops all games; those that are finished come in before it is raised."""
    from agents.lm.models.shared_models import default_models

    stop = Event()
    failed: list[BaseException] = []
    with (models or default_models()).threads(threads) as pool:
        try:
            games = {pool.submit(play, spec, models, stop): spec for spec in specs}
            for game in as_completed(games):
                error = game.exception()
                if error is None:
                    yield games[game], (game.result(), CODE_DIGEST)
                else:
                    stop.set()
                    failed.append(error)
        finally:
            stop.set()
    if failed:
        raise _cause(failed)


def _cause(errors: Sequence[BaseException]) -> BaseException:
    """The first of them that is not merely due to another one."""
    from agents.lm.errors import StoppedError

    return next((error for error in errors if not isinstance(error, GameStopped | StoppedError)), errors[0])


def _play_task(spec: GameSpec) -> tuple[Record, str]:
    """A game, and the digest of the code that played it, which in a worker may not be ours."""
    return play(spec), CODE_DIGEST


def _play_far(spec: GameSpec) -> tuple[Record, str]:
    """A game played on another machine, and the key that it has there: that of its code, libraries, maps and files."""
    return play(spec), specification_key(spec.to_dict())
