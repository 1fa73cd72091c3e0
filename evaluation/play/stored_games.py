"""Listings of a store: games grouped by condition (all but the seed), and games by key."""

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
from agents.runtime.files import irregular, reason, shown
from evaluation.checks import EvaluationError
from evaluation.measures.lm_usage import without_transcripts
from evaluation.play.game_spec import game_seed
from evaluation.play.sources import code_of
from evaluation.play.start import Start, read_position
from evaluation.play.store import DEFAULT_PATH, GameStore, StoredGame
from welfare_env import Game, Rules
from welfare_env.checks import quoted
from welfare_env.errors import WelfareEnvError
from welfare_env.game.press import MEDIATOR
from welfare_env.game.record import load_record, save_record

SHORTEST_KEY = 4  # minimum digits of a key to look up a game
SHOWN_KEY = 8
LISTED = 3  # keys in an error message
LIKELY_SEEDS = 10_000
LONGEST_GAP = 100  # missing games, as after an interrupted run


@dataclass(frozen=True)
class StoredCondition:
    """A game's specification without its seed, as text.

    Attributes:
        players: "dove", or, with several policies, "dove, but FRANCE: random".
        rules: "standard map, years: 10, message rounds: 3", and rules that differ from their default.
        is_current: whether this version, with the same files of the user, played the games, so that the same command
            reuses them.
    """

    players: str
    rules: str
    is_current: bool

    @classmethod
    def of(cls, specification: Mapping[str, Any]) -> StoredCondition:
        """The condition of a stored game."""
        names = [text for pair in specification["players"].items() for text in pair]
        if not isinstance(specification["seed"], int) or not all(isinstance(name, str) for name in names):
            raise TypeError("the seed is not a number, or a player is not text")
        current = _current_code(frozenset(specification["players"].values()))
        is_current = bool(current) and all(specification.get(name) == value for name, value in current.items())
        return cls(seats(specification["players"]), played(specification), is_current)


@functools.lru_cache(maxsize=1024)
def _current_code(policies: frozenset[str]) -> dict[str, Any]:
    """Like `code_of`; {} if one of the policies is not available."""
    try:
        return code_of(agents.specs.read(policy) for policy in policies)
    except (WelfareEnvError, OSError):
        return {}


def played(facts: Mapping[str, Any]) -> str:
    """Map and rules in one line; only rules that differ from their default.

    Args:
        facts: has "map", "rules" and optionally "simultaneous" and "coalition".
    """
    rules = dict(facts["rules"])
    usual = Rules().to_dict()
    parts = [f"{facts['map']} map", f"years: {rules.pop('years')}", f"message rounds: {rules.pop('message_rounds')}"]
    parts += [f"{name}: {value}" for name, value in rules.items() if value != usual.get(name)]
    parts += ["simultaneous"] if facts.get("simultaneous") else []
    parts += [f"from {facts['start']['phase']}"] if facts.get("start") else []
    return ", ".join(parts + ([f"coordinated: {' + '.join(facts['coalition'])}"] if facts.get("coalition") else []))


def seats(players: Mapping[str, str]) -> str:
    """The players in one line: the most frequent policy, and the powers with other policies."""
    counts = Counter(policy for player, policy in players.items() if player != MEDIATOR)
    (most, _), *_ = counts.most_common(1)
    others: dict[str, list[str]] = {}
    for player, policy in players.items():
        if policy != most and (player, policy) != (MEDIATOR, "hold"):
            others.setdefault(policy, []).append(player)
    rest = "; ".join(f"{', '.join(who)}: {policy}" for policy, who in others.items())
    return f"{most}, but {rest}" if rest else most


def conditions(games: Iterable[StoredGame]) -> dict[StoredCondition, list[StoredGame]]:
    """Group games by condition, in their order.

    Raises:
        EvaluationError: a stored game is not from an evaluation.
    """
    groups: dict[StoredCondition, list[StoredGame]] = {}
    for game in games:
        try:
            groups.setdefault(StoredCondition.of(game.specification), []).append(game)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise EvaluationError(f"the stored game {game.key[:SHOWN_KEY]} is not a game of an evaluation") from error
    return groups


def latest(groups: Mapping[StoredCondition, list[StoredGame]], number: int) -> dict[StoredCondition, list[StoredGame]]:
    """The `number` most recently stored conditions, in the order of `groups`; 0 for all."""
    ranked = sorted(groups, key=lambda condition: max(game.created for game in groups[condition]), reverse=True)
    kept = set(ranked[: number or None])
    return {condition: games for condition, games in groups.items() if condition in kept}


def numbered(games: Iterable[StoredGame]) -> dict[int, tuple[int, int]]:
    """Game seed -> (seed of the evaluation as given by the user, number of the game in it, from 0).

    A store has only the games' own seeds (`evaluation.play.game_spec.game_seed`). This tries all evaluation seeds below
    10,000 whose first game is stored; games that match none are left out.
    """
    own = {game.specification.get("seed") for game in games}
    found: dict[int, tuple[int, int]] = {}
    for seed in (seed for seed in range(LIKELY_SEEDS) if game_seed(seed, 0) in own):
        for game in range(len(own) + LONGEST_GAP):
            if (drawn := game_seed(seed, game)) in own:
                found.setdefault(drawn, (seed, game))
    return found


def open_store(path: Path) -> GameStore:
    """Open an existing store.

    Raises:
        EvaluationError: the store does not exist.
    """
    if not _exists(path):
        raise EvaluationError(
            f"{shown(path)}: there is no store yet, so no games. self-play and exploitability create it; see --store"
        )
    return GameStore(path)


def _exists(path: str | Path) -> bool:
    """Whether a path exists; False for impossible paths."""
    try:
        return os.path.exists(path)
    except (OSError, ValueError):
        return False


def choose(games: Sequence[StoredGame], keys: Sequence[str], where: Path) -> list[StoredGame]:
    """The games whose keys start with one of these prefixes, without repetition; all games if `keys` is empty.

    Raises:
        EvaluationError: a prefix matches no game, or several.
    """
    found = {game.key: game for game in games}
    return [found[key] for key in whole_keys(list(found), keys, where)] if keys else list(games)


def whole_keys(known: Sequence[str], beginnings: Sequence[str], where: Path, or_files: bool = False) -> list[str]:
    """The keys with these prefixes, without repetition.

    Args:
        known: the keys in the store, the last one the latest.
        or_files: whether files might have been given, too, for errors.

    Raises:
        EvaluationError: a prefix matches no key, or several.
    """
    found = []
    for begin in beginnings:
        keys = [key for key in known if key.startswith(begin)]
        if len(keys) == 1 and len(begin) >= SHORTEST_KEY:
            found += keys
            continue
        if os.path.isdir(begin):
            problem = "is a folder, not a file"
        elif not re.fullmatch(rf"[0-9a-f]{{{SHORTEST_KEY},64}}", begin):
            is_no = "is neither a file of a saved game nor" if or_files else "is not"
            problem = f"{is_no} the prefix of a key ({SHORTEST_KEY} or more hex digits)"
        elif keys:
            problem = f"is the prefix of {len(keys)} keys in {where}: give more digits"
        else:
            problem = f"is not the prefix of any key in {where}"
        last = ", ".join(key[:SHOWN_KEY] for key in known[-LISTED:])
        some = f" (the last of {len(known):,}: {last})" if known else ""
        raise EvaluationError(f"{begin!r:.80} {problem}; `welfare-env games` lists the keys{some}")
    return list(dict.fromkeys(found))


def day(seconds: float) -> str:
    """A time in UTC in ISO 8601: "2026-11-21T16:10:02Z"."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def game_facts(game: StoredGame, numbers: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
    """A stored game as plain JSON types, without digests.

    Args:
        numbers: see `numbered`.
    """
    facts = game.specification
    seed, number = numbers.get(facts["seed"], (None, None))
    return {
        "key": game.key,
        "players": facts["players"],
        "evaluation_seed": seed,
        "game": number,
        "seed": facts["seed"],
        "map": facts["map"],
        "rules": facts["rules"],
        "simultaneous": bool(facts.get("simultaneous")),
        "coalition": facts.get("coalition", []),
        "start": facts.get("start", {}).get("phase"),
        "language_models": facts.get("language_models", []),
        "is_current": StoredCondition.of(facts).is_current,
        "stored": day(game.created),
    }


def saved_games(names: Sequence[str], path: Path) -> dict[str, dict[str, Any]]:
    """Key or file -> record, for files and prefixes of keys.

    Raises:
        EvaluationError: an unknown game.
        RecordError, StoreError: a file or the store cannot be read.
    """
    files = {name: load_record(name) for name in names if _exists(name) and not irregular(name)}
    keys = [name for name in names if name not in files]
    if not keys:
        return files
    if not _exists(path):
        raise EvaluationError(
            f"{keys[0]!r:.80} is not a file of a saved game; it is no key either, since there is no store yet at "
            f"{shown(path)}: self-play and exploitability create it; see --store"
        )
    with open_store(path) as store:
        return {key: store.record(key) for key in whole_keys(store.keys(), keys, path, True)} | files


StartLike = Start | Game | str | os.PathLike[str] | None
"""A start; a game, which goes on from its current phase; or text: "FILE", "FILE@F1903M" or "KEY@F1903M"."""


def read_start(
    start: StartLike, rules: Rules | None = None, map_name: str | None = None, store: Path = DEFAULT_PATH
) -> Start | None:
    """Where games begin.

    Args:
        start: a file is a saved game or a position (`evaluation.play.start.read_position`); a key is one of the store,
            or its prefix. After @ is the phase; without it, a saved game goes on from its last one.
        rules: of the games that begin in a position.
        map_name: path of the map, if it is a file.

    Raises:
        EvaluationError: no such file, game or phase, or the game is over there.
        RecordError, StoreError: a file or the store cannot be read.
        PositionError and others: as `welfare_env.Game.from_position`.
    """
    if start is None or isinstance(start, Start):
        return start
    if isinstance(start, Game):
        return Start.of(start.record(), start.phase, map_name)
    if not isinstance(start, str | os.PathLike):
        raise EvaluationError(f"start={quoted(start)}: give a game, FILE, FILE@PHASE or KEY@PHASE")
    name, _, phase = os.fspath(start).rpartition("@") if "@" in os.fspath(start) else (os.fspath(start), "", "")
    if not phase and _exists(name) and not irregular(name) and (game := read_position(name, rules)) is not None:
        return Start.of(game.record(), None, map_name)
    (record,) = saved_games([name], store).values()
    return Start.of(record, phase or None, map_name)


def save(store: GameStore, games: Sequence[StoredGame], folder: Path, private: bool = False) -> None:
    """Write records to files KEY.json in a folder, which is created if necessary.

    Args:
        private: include the prompts and raw replies of language models.

    Raises:
        EvaluationError, RecordError: the files cannot be written.
        StoreError: the store cannot be read.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{shown(folder)}: the games cannot be written there: {reason(error)}") from error
    for game in games:
        record = store.record(game.key)
        save_record(record if private else without_transcripts(record), folder / f"{game.key[:SHOWN_KEY]}.json")
