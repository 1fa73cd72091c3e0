"""Games between policies: one, or many side by side, each found again in the store once it is finished."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import agents
import welfare_env
from evaluation.store import GameStore, StoreError
from evaluation.workers import Workers
from welfare_env.engine import DEFAULT_ENGINE
from welfare_env.press import MEDIATOR

Record = dict[str, Any]
Report = Callable[[int], None]  # is told how many more games are there


@dataclass(frozen=True)
class GameSpec:
    """All that decides how a game goes.

    Attributes:
        players: (power, policy spec) of every power.
        rules: as `Rules.to_dict` gives them.
        map_name, engine: as for `welfare_env.make`.
        seed: of this game; the order of speaking and the policies' chance come from it.
    """

    players: tuple[tuple[str, str], ...]
    rules: welfare_env.Rules
    map_name: str
    engine: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, with a digest of the code that plays it: a changed policy plays a game anew."""
        return {
            "players": dict(self.players),
            "rules": self.rules.to_dict(),
            "map": self.map_name,
            "engine": self.engine,
            "seed": self.seed,
            "code": code_digest(),
            "versions": {name: version(name) for name in ("diplomacy", "numpy")},
            **_map_digest(self.map_name),
        }


def _map_digest(map_name: str) -> dict[str, str]:
    """A map file of the user's is known by what is in it."""
    path = Path(map_name)
    if path.suffix == ".map" and path.is_file():
        return {"map_digest": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {}


@functools.cache
def code_digest() -> str:
    """SHA-256 over our own sources (and maps) that decide how a game goes."""
    digest = hashlib.sha256()
    for package in (welfare_env, agents):
        root = Path(str(package.__file__)).parent
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.map")]):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def game_seed(seed: int, game: int) -> int:
    """The seed of an evaluation's `game`-th game: the same in every condition, so that conditions can be paired."""
    return int(np.random.SeedSequence([seed, game]).generate_state(1)[0])


def play(spec: GameSpec) -> Record:
    """Play one game to its end.

    Returns:
        Its record, with "seed" and "players" in the section "welfare_env".

    Raises:
        UnknownAgentError, UnknownMapError, RulesError: as their names say.
        ValueError: not every player has exactly one policy.
    """
    env = welfare_env.make(spec.map_name, spec.rules, engine=spec.engine)
    seats = [power for power, _ in spec.players]
    if sorted(seats) != sorted(env.possible_agents):
        raise ValueError(f"players are {seats}: give a policy for each of {env.possible_agents}, once")
    env.reset(seed=spec.seed)
    policies = {power: agents.make(policy) for power, policy in spec.players}
    for power, policy in policies.items():
        policy.reset(agent=power, seed=spec.seed)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        over = terminated or truncated
        env.step(None if over else policies[agent].act(observation, info))
    record: Record = env.unwrapped.game.record()
    record["welfare_env"] |= {"seed": spec.seed, "players": dict(spec.players)}
    return record


def play_all(
    specs: Sequence[GameSpec],
    store: GameStore | None = None,
    workers: int | Workers = 1,
    report: Report | None = None,
) -> list[Record]:
    """The records of many games, in the order asked for.

    Games that the store has are not played again; each new one is stored as soon as it is finished, so an interrupted
    call loses at most the games under way. The records do not depend on the number of workers.

    Args:
        store: where finished games are kept; None keeps them nowhere.
        workers: processes that play, or a `Workers` that several calls share. 1 plays in this process.
        report: is called with the number of games that have come in since the last call.

    Raises:
        StoreError: the store cannot be used, or the code was changed while games were played.
        WorkerError: a worker process was killed.
    """
    if isinstance(workers, int):
        with Workers(workers) as own:
            return play_all(specs, store, own, report)
    unique = list(dict.fromkeys(specs))
    found = {spec: store.get(spec.to_dict()) for spec in unique} if store else dict.fromkeys(unique)
    records: dict[GameSpec, Record] = {spec: record for spec, record in found.items() if record is not None}
    tell = report or (lambda count: None)
    tell(sum(spec in records for spec in specs))
    copies = Counter(specs)
    for spec, (record, digest) in workers.run(_play_task, [spec for spec in unique if spec not in records]):
        if digest != code_digest():
            raise StoreError("the code was changed while games were played: give the command again")
        if store:
            store.put(spec.to_dict(), record)
        records[spec] = record
        tell(copies[spec])
    return [records[spec] for spec in specs]


def _play_task(spec: GameSpec) -> tuple[Record, str]:
    """A game, and the digest of the code that played it, which in a worker may not be ours."""
    return play(spec), code_digest()


def profile(
    board: welfare_env.Board, rules: welfare_env.Rules, policy: str, others: Mapping[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Every player with its policy: `policy`, but for those named in `others`. A mediator says nothing by default."""
    everybody = dict.fromkeys(board.powers, policy) | ({MEDIATOR: "hold"} if rules.mediator else {})
    return tuple((everybody | dict(others or {})).items())


def common_games(
    players: Iterable[tuple[str, str]],
    games: int,
    seed: int,
    rules: welfare_env.Rules,
    map_name: str,
    engine: str = DEFAULT_ENGINE,
) -> list[GameSpec]:
    """`games` games of one profile, with the seeds that every profile gets."""
    seats = tuple(players)
    return [GameSpec(seats, rules, map_name, engine, game_seed(seed, game)) for game in range(games)]
