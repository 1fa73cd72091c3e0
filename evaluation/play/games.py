"""Games between policies: one, or many side by side, each found again in the store once it is finished."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

import agents
import welfare_env
from agents.modal.players import ProgramPolicy
from agents.specs import Spec, named_files
from agents.wording import told
from evaluation.checks import MOST_SEED, EvaluationError, check_means, check_whole, check_workers
from evaluation.play import turns as loops
from evaluation.play.answer_sources import answered_by
from evaluation.play.store import GameStore, StoreError
from evaluation.play.turns import GameStopped, conversation, play_at_once, play_in_turn
from evaluation.play.workers import Workers
from welfare_env.board.loading import map_digest

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Record = dict[str, Any]
Report = Callable[[int], None]  # is told how many more games are there

VERSIONS = {name: version(name) for name in ("diplomacy", "numba", "numpy", "scipy")}
"""Of the libraries that decide how a game goes."""

NO_COALITION = "it does not play a coalition: give it reset_coalition(agents, seed), see agents.CoalitionPolicy"

_log = logging.getLogger(__name__)


def code_digest(*packages: Path) -> str:
    """SHA-256 over the sources and maps in the folders of packages, without what draws a game, and over how we play."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + Path(str(loops.__file__)).read_bytes())
    for root in packages:
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.map")]):
            place = path.relative_to(root)
            if place.parts[0] != "render":
                digest.update(f"\0{root.name}/{place.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


CODE_DIGEST = code_digest(*(Path(str(package.__file__)).parent for package in (welfare_env, agents)))
"""Of the code as it was when this process imported it; what is changed later is not what plays here."""


def _own_code(policies: Iterable[Spec]) -> str:
    """SHA-256 over the checkpoints and the modules of the user's own policies, "" if there are none."""
    files = sorted({path for policy in policies for path in named_files(policy)})
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest() if files else ""


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
            raise EvaluationError(f"rules={told(self.rules)}, simultaneous={told(self.simultaneous)}: see GameSpec")
        if not (isinstance(self.map_name, str) and isinstance(self.engine, str) and _are_pairs(self.players)):
            given = f"players={told(self.players)}, map_name={told(self.map_name)}, engine={told(self.engine)}"
            raise EvaluationError(f"{given}: give pairs of a power and a policy, and the names of a map and an engine")
        found = {id(policy): agents.specs.read(policy) for _, policy in self.players}
        object.__setattr__(self, "players", tuple((power, found[id(policy)]) for power, policy in self.players))
        seats = [power for power, _ in self.players]
        members = self.coalition if isinstance(self.coalition, tuple) else (self.coalition,)
        if any(members.count(member) > 1 or member not in seats for member in members) or members != self.coalition:
            raise EvaluationError(f"coalition={told(self.coalition)}: give some of {seats}, each once")
        if len({policy for power, policy in self.players if power in self.coalition}) > 1:
            raise EvaluationError(f"coalition={told(self.coalition)}: its members play different policies: give one")

    def __reduce__(self) -> tuple[type[GameSpec], tuple[Any, ...]]:
        """To a worker process a policy goes as its text.

        Raises:
            EvaluationError: one has no name.
        """
        if not self.is_named:
            raise EvaluationError(f"players={told(self.written)}: some have no name, so no other process can play them")
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

        That is the code that plays it, as a digest, and a map file; and of language models the address of the server
        where the environment names it, and the replies in a file of kept ones, as a digest.

        Raises:
            UnknownMapError: neither a known map nor a file.
            ConfigError, CacheError: no address of a server in the environment, or no file of kept replies.
        """
        policies = {policy for _, policy in self.players}
        asked = [answered_by(*model) for model in sorted({model for each in policies for model in each.models})]
        return {
            "players": self.written,
            "seed": self.seed,
            "rules": self.rules.to_dict(),
            "map": self.map_name,
            "map_digest": map_digest(self.map_name),
            "engine": self.engine,
            "code": CODE_DIGEST,
            "own_code": _own_code(policies),
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
        raise EvaluationError(f"spec={told(spec)}: give evaluation.GameSpec(...)")
    make = welfare_env.parallel_env if spec.simultaneous else welfare_env.make
    env = make(spec.map_name, spec.rules, engine=spec.engine)
    seats = [power for power, _ in spec.players]
    if sorted(seats) != sorted(env.possible_agents):
        raise EvaluationError(f"players are {seats}: give a policy for each of {env.possible_agents}, once")
    policies = _made(spec, models)
    for power, named in spec.written.items():
        if isinstance(policies[power], ProgramPolicy):
            raise EvaluationError(
                f"policy {named!r} writes programs of modal_env; here {power} plays Welfare Diplomacy. For programs "
                "call evaluation.exploitability(..., environment=modal_env.make(...))"
            )
    _reset(spec, policies)
    if spec.simultaneous:
        play_at_once(env, policies, spec.seed, stop or Event(), models)
    else:
        play_in_turn(env, policies, spec.seed, stop or Event())
    record: Record = env.unwrapped.game.record()
    record["welfare_env"] |= {"seed": spec.seed, "players": spec.written}
    if spec.simultaneous:
        record["welfare_env"]["simultaneous"] = True
    if spec.coalition:
        record["welfare_env"]["coalition"] = list(spec.coalition)
    if spec.asks_language_models or (not spec.is_named and _holds_language_models(policies.values())):
        record["welfare_env"] |= conversation(policies)
    return record


def _made(spec: GameSpec, models: SharedModels | None) -> dict[str, agents.Policy]:
    """A policy for each player; one for all members of a coalition."""
    shared = [policy.make(models) for power, policy in spec.players if power in spec.coalition[:1]]
    return {power: shared[0] if power in spec.coalition else policy.make(models) for power, policy in spec.players}


def _reset(spec: GameSpec, policies: Mapping[str, agents.Policy]) -> None:
    """Tells each policy who it is.

    Raises:
        EvaluationError: one that is to play a coalition cannot.
    """
    for power, policy in policies.items():
        if power not in spec.coalition:
            policy.reset(agent=power, seed=spec.seed)
    if spec.coalition:
        shared = policies[spec.coalition[0]]
        if not isinstance(shared, agents.CoalitionPolicy):
            raise EvaluationError(f"{spec.written[spec.coalition[0]]}: {NO_COALITION}")
        shared.reset_coalition(agents=spec.coalition, seed=spec.seed)


def _holds_language_models(policies: Iterable[agents.Policy]) -> bool:
    """Of policies that have been made; names tell it sooner."""
    from agents.lm.player import language_models

    return any(True for policy in policies for _ in language_models(policy))


def play_all(
    specs: Sequence[GameSpec],
    *,
    workers: int | Workers = 1,
    store: GameStore | None = None,
    report: Report | None = None,
    models: SharedModels | None = None,
) -> list[Record]:
    """The records of many games, in the order asked for.

    Games that the store has are not played again; each new one is stored as soon as it is finished, so an interrupted
    call loses at most the games under way. A game in which a language model answered nothing is not stored. The
    records do not depend on the number of workers.

    Games with language models, which mostly wait, are all played in this process, in as many threads as there are
    workers, so that they share one budget. When one of them has to end, the others do too.

    Games of policies that have no name (a lambda, an instance, a class of the running script) are not stored, and are
    played in this process, one after the other; a warning says so where it makes a difference.

    Args:
        workers: processes that play, or a `Workers` that several calls share. 1 plays in this process.
        store: where finished games are kept; None keeps them nowhere.
        report: is called with the number of games that have come in since the last call.
        models: as for `play`.

    Raises:
        EvaluationError: no worker.
        LMError: as `play` does.
        StoreError: the store cannot be used, or the code was changed while games were played.
        WorkerError: a worker process was killed.
    """
    check_workers(workers)
    check_means(store=store, report=report, models=models)
    if not isinstance(specs, list | tuple) or not all(isinstance(spec, GameSpec) for spec in specs):
        raise EvaluationError(f"specs={told(specs)}: give a list of evaluation.GameSpec(...)")
    if isinstance(workers, int):
        with Workers(workers) as own:
            return play_all(specs, workers=own, store=store, report=report, models=models)
    unique = list(dict.fromkeys(specs))
    keys = {spec: spec.to_dict() for spec in unique}  # before any game, or a map file could change in between
    _warn_of_unnamed(unique, store, workers)
    found = {spec: store.get(keys[spec]) if store and spec.is_named else None for spec in unique}
    records: dict[GameSpec, Record] = {spec: record for spec, record in found.items() if record is not None}
    tell = report or (lambda count: None)
    tell(sum(spec in records for spec in specs))
    copies = Counter(specs)
    for spec, (record, digest) in _played([spec for spec in unique if spec not in records], workers, models):
        if digest != CODE_DIGEST:
            raise StoreError("the code was changed while games were played: give the command again")
        if store and spec.is_named and _was_answered(record):
            store.put(keys[spec], record)
        records[spec] = record
        tell(copies[spec])
    if models is not None:
        models.forget_passing()  # the next run asks again what could not be answered this time
    _warn(list(records.values()))
    return [records[spec] for spec in specs]


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
    yield from workers.run(_play_task, [spec for spec in others if spec.is_named])
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
