"""What a store holds, told for people: games in groups that differ by their seed alone, and games by their keys."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agents
from agents.files import irregular, reason, shown
from evaluation.checks import EvaluationError
from evaluation.play.games import VERSIONS, code_of
from evaluation.play.store import GameStore, StoredGame
from welfare_env import Rules
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.press import MEDIATOR
from welfare_env.game.record import load_record, save_record

SHORTEST_KEY = 4  # digits that are enough to ask for a game
SHOWN_KEY = 8


@dataclass(frozen=True)
class StoredCondition:
    """What was played: all of a game's specification but its seed, in words.

    Attributes:
        players: "dove", or where not all play the same, "dove, but FRANCE: random".
        rules: "standard map, years: 10, message rounds: 3" and what else is not as usual.
        is_current: whether the code that played it is the code here, so that the same command finds it again.
    """

    players: str
    rules: str
    is_current: bool

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> StoredCondition:
        """The condition of a stored game."""
        names = [text for pair in specification["players"].items() for text in pair]
        if not isinstance(specification["seed"], int) or not all(isinstance(name, str) for name in names):
            raise TypeError("the seed is no number, or a player no text")
        code = tuple(specification.get(name) for name in ("code", "own_code", "versions"))
        current = _current_code(frozenset(specification["players"].values()))
        return cls(seats(specification["players"]), played(specification), code == (*current, VERSIONS))


@functools.lru_cache(maxsize=1024)
def _current_code(policies: frozenset[str]) -> tuple[str, ...]:
    """As `code_of`; nothing where one of the policies is not here."""
    try:
        return code_of(agents.specs.read(policy) for policy in policies)
    except (WelfareEnvError, OSError):
        return ()


def played(facts: Mapping[str, Any]) -> str:
    """Map and rules in a line, rules only where they are not as usual.

    Args:
        facts: with "map", "rules" and perhaps "simultaneous" and "coalition".
    """
    rules = dict(facts["rules"])
    usual = Rules().to_dict()
    parts = [f"{facts['map']} map", f"years: {rules.pop('years')}", f"message rounds: {rules.pop('message_rounds')}"]
    parts += [f"{name}: {value}" for name, value in rules.items() if value != usual.get(name)]
    parts += ["simultaneous"] if facts.get("simultaneous") else []
    return ", ".join(parts + ([f"coordinated: {' + '.join(facts['coalition'])}"] if facts.get("coalition") else []))


def seats(players: Mapping[str, str]) -> str:
    """Who plays what, in a line: what most of them play, and who plays something else."""
    counts = Counter(policy for player, policy in players.items() if player != MEDIATOR)
    (most, _), *_ = counts.most_common(1)
    others: dict[str, list[str]] = {}
    for player, policy in players.items():
        if policy != most and (player, policy) != (MEDIATOR, "hold"):
            others.setdefault(policy, []).append(player)
    rest = "; ".join(f"{', '.join(who)}: {policy}" for policy, who in others.items())
    return f"{most}, but {rest}" if rest else most


def conditions(games: Iterable[StoredGame]) -> dict[StoredCondition, list[StoredGame]]:
    """The games of each condition, in the sequence in which they come.

    Raises:
        EvaluationError: a game has not the specification that evaluations give it.
    """
    found: dict[StoredCondition, list[StoredGame]] = {}
    for game in games:
        try:
            found.setdefault(StoredCondition.of(game.specification), []).append(game)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise EvaluationError(f"the stored game {game.key[:SHOWN_KEY]} is no game of an evaluation") from error
    return found


def latest(groups: Mapping[StoredCondition, list[StoredGame]], number: int) -> dict[StoredCondition, list[StoredGame]]:
    """The conditions of which games were stored last, in the sequence in which they come; all, for 0."""
    ranked = sorted(groups, key=lambda condition: max(game.created for game in groups[condition]), reverse=True)
    kept = set(ranked[: number or None])
    return {condition: games for condition, games in groups.items() if condition in kept}


def open_store(path: Path) -> GameStore:
    """A store that is there already.

    Raises:
        EvaluationError: it is not.
    """
    if not _exists(path):
        raise EvaluationError(
            f"{shown(path)}: there is no store yet. self-play and exploitability make it; see --store"
        )
    return GameStore(path)


def _exists(path: Path) -> bool:
    """Whether something is there; not where there can be no such path."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _is_file(name: str) -> bool:
    try:
        return not irregular(name) and os.path.exists(name)
    except OSError:
        return False


def choose(games: Sequence[StoredGame], keys: Sequence[str], where: Path) -> list[StoredGame]:
    """The games whose keys begin as said, without repetition; all, where nothing is said.

    Raises:
        EvaluationError: no game, or more than one, has a key that begins so.
    """
    found = {game.key: game for game in games}
    return [found[key] for key in whole_keys(list(found), keys, where)] if keys else list(games)


def whole_keys(known: Sequence[str], beginnings: Sequence[str], where: Path) -> list[str]:
    """The keys that begin as said, without repetition.

    Raises:
        EvaluationError: no key, or more than one, begins so.
    """
    found = [_only([key for key in known if key.startswith(begin)], begin, where) for begin in beginnings]
    return list(dict.fromkeys(found))


def _only(keys: list[str], begin: str, where: Path) -> str:
    if len(begin) >= SHORTEST_KEY and len(keys) == 1:
        return keys[0]
    if not is_key(begin):
        problem = f"is no file of a saved game, and no beginning of a key ({SHORTEST_KEY} or more of 0-9 and a-f)"
    elif keys:
        problem = f"begins the keys of {len(keys)} games in {where}: give more of it"
    else:
        problem = f"begins the key of no game in {where}"
    raise EvaluationError(f"{begin!r:.80} {problem}; `python -m evaluation games` lists the keys")


def is_key(text: str) -> bool:
    """Whether a text may be the beginning of a key."""
    return re.fullmatch(rf"[0-9a-f]{{{SHORTEST_KEY},64}}", text) is not None


def day(seconds: float) -> str:
    """A moment in UTC, as ISO 8601 has it: "2026-11-21T16:10:02Z"."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def told(game: StoredGame) -> dict[str, Any]:
    """A stored game as plain JSON types, without digests."""
    specification = game.specification
    return {
        "key": game.key,
        "players": specification["players"],
        "seed": specification["seed"],
        "map": specification["map"],
        "rules": specification["rules"],
        "simultaneous": bool(specification.get("simultaneous")),
        "coalition": specification.get("coalition", []),
        "language_models": specification.get("language_models", []),
        "is_current": StoredCondition.of(specification).is_current,
        "stored": day(game.created),
    }


def saved_games(names: Sequence[str], path: Path) -> dict[str, dict[str, Any]]:
    """Key or file -> record, of games named by the beginning of a key or as a file; all of the store for no name.

    Raises:
        EvaluationError: no such game.
        RecordError, StoreError: a file or the store cannot be read.
    """
    files = {name: load_record(name) for name in names if _is_file(name)}
    keys = [name for name in names if name not in files]
    if names and not keys:
        return files
    if keys and not _exists(path):
        raise EvaluationError(f"{keys[0]!r:.80} is no file of a saved game, and {shown(path)} is no store")
    with open_store(path) as store:
        return {game.key: store.record(game.key) for game in choose(store.games(), keys, path)} | files


def save(store: GameStore, games: Sequence[StoredGame], folder: Path) -> None:
    """Writes records to files, KEY.json, in a folder that is made if need be.

    Raises:
        EvaluationError, RecordError: they cannot be written.
        StoreError: the store cannot be read.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for game in games:
            save_record(store.record(game.key), folder / f"{game.key[:SHOWN_KEY]}.json")
    except RecordError:
        raise
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{shown(folder)}: the games cannot be written there: {reason(error)}") from error
