"""Intermediate results of runs: the games stored so far, and tables of them.

Stores are opened read-only, and only if their files have changed. A game is measured once; each update measures at most
`MOST_NEW` games per store, so that a watcher started late shows results soon.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.measures.metrics import GameMeasures, measure
from evaluation.play.store import GameStore, StoredGame, StoreError
from evaluation.play.stored_games import played
from evaluation.web.watching.runs import Run, plain, read_runs
from welfare_env import WelfareEnvError
from welfare_env.game.press import MEDIATOR

MOST_NEW = 20  # games measured per store and update
MOST_KNOWN = 20_000  # games with cached measures
MOST_SHOWN = 20  # games listed per run


@dataclass(frozen=True)
class PlayedGame:
    """A finished game.

    Attributes:
        created: time of storing, in seconds since 1970.
        root_nash_welfare, stolen_centers, conflicts: nan if the game could not be measured.
        points: power -> welfare points a year.
    """

    key: str
    players: str
    rules: str
    created: float
    root_nash_welfare: float = math.nan
    stolen_centers: float = math.nan
    conflicts: float = math.nan
    points: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Line:
    """A row of a table: games with the same players and rules, with means over the measured games."""

    players: str
    rules: str
    games: int
    measured: int
    root_nash_welfare: float
    stolen_centers: float
    conflicts: float


@dataclass(frozen=True)
class Watched:
    """A run, and the games stored since it began.

    Attributes:
        run: the run.
        lines: one row per combination of players and rules.
        games: the latest games, most recent first.
        stored: number of games.
        trouble: why the store cannot be read; "" if it can.
    """

    run: Run
    lines: tuple[Line, ...] = ()
    games: tuple[PlayedGame, ...] = ()
    stored: int = 0
    trouble: str = ""


@dataclass
class Watcher:
    """Watches the runs of this machine.

    Args:
        folder: folder of their status files.
    """

    folder: Path
    _measured: dict[str, PlayedGame] = field(default_factory=dict)
    _listed: dict[str, tuple[object, list[StoredGame]]] = field(default_factory=dict)
    _stores: dict[str, str] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)

    def look(self, measures_all: bool = False) -> list[Watched]:
        """The current state of all runs, active runs first.

        Args:
            measures_all: measure all new games, which may take long.
        """
        runs = read_runs(self.folder)
        first: dict[str, float] = {}
        for run in runs:
            if run.store:
                first[run.store] = min(run.started, first.get(run.store, math.inf))
        troubles: dict[str, str] = {}
        for store, since in first.items():
            most = MOST_KNOWN if measures_all else MOST_NEW
            try:
                self._read(store, since, most)
                self._failed.discard(store)
            except (WelfareEnvError, OSError) as error:
                if measures_all or store in self._failed:  # ignore a single failure: the file may be in transition
                    troubles[store] = plain(str(error))
                self._failed.add(store)
        return [self._watched(run, troubles.get(run.store, "")) for run in runs]

    def record(self, key: str) -> dict[str, Any] | None:
        """The record of a game stored by any run; None if it is unknown.

        Raises:
            StoreError: the store cannot be read.
        """
        if key not in self._stores:
            return None
        with GameStore(self._stores[key], is_read_only=True) as store:
            return store.record(key)

    def _read(self, path: str, since: float, most: int) -> None:
        """Update the list of a store's games, and measure the latest new games."""
        state = (since, *(_stamp(f"{path}{ending}") for ending in ("", "-wal")))
        known = self._listed.get(path)
        if known is None and not _stamp(path)[1]:
            return  # the run has not created its store yet
        if known is None or known[0] != state:
            with GameStore(path, is_read_only=True) as store:
                known = self._listed[path] = state, store.games_since(since)
            self._stores.update({game.key: path for game in known[1]})
        new = [game for game in reversed(known[1]) if self._name(game) not in self._measured][:most]
        if new:
            with GameStore(path, is_read_only=True) as store:
                for game in new:
                    self._measured[self._name(game)] = _measured(game, store)
        while len(self._measured) > MOST_KNOWN:
            del self._measured[next(iter(self._measured))]

    @staticmethod
    def _name(game: StoredGame) -> str:
        return f"{game.key} {game.created}"  # a game may be played again and replaced

    def _watched(self, run: Run, trouble: str) -> Watched:
        if not run.store or run.store not in self._listed:
            return Watched(run, trouble=trouble)
        until = math.inf if run.ended is None else run.ended + 1
        games = [game for game in self._listed[run.store][1] if run.started <= game.created <= until]
        known = [self._measured.get(self._name(game)) or _unmeasured(game) for game in games]
        return Watched(run, _lines(known), tuple(reversed(known[-MOST_SHOWN:])), len(known), trouble)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_mtime_ns, found.st_size


def _unmeasured(game: StoredGame) -> PlayedGame:
    try:
        texts = plain(_profile(game.specification["players"])), plain(played(game.specification))
    except (AttributeError, KeyError, TypeError, ValueError):
        texts = "not a game of an evaluation", ""
    return PlayedGame(game.key, *texts, game.created)


def _profile(players: Mapping[str, str]) -> str:
    """The policies without their seats, the most frequent first: "4*dove + 3*random"."""
    counts = Counter(policy for player, policy in players.items() if player != MEDIATOR)
    if len(counts) == 1:
        return next(iter(counts))
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return " + ".join(policy if count == 1 else f"{count}*{policy}" for policy, count in ranked)


def _measured(game: StoredGame, store: GameStore) -> PlayedGame:
    plain_game = _unmeasured(game)
    try:
        found: GameMeasures = measure(store.record(game.key))
    except (WelfareEnvError, StoreError):
        return plain_game
    return PlayedGame(
        game.key,
        plain_game.players,
        plain_game.rules,
        game.created,
        found.root_nash_welfare,
        found.stolen_centers.count,
        found.conflicts.count,
        tuple((plain(power), points) for power, points in found.welfare_per_year.items()),
    )


def _lines(games: Sequence[PlayedGame]) -> tuple[Line, ...]:
    kinds: dict[tuple[str, str], list[PlayedGame]] = {}
    for game in games:
        kinds.setdefault((game.players, game.rules), []).append(game)
    return tuple(_line(*kind, found) for kind, found in kinds.items())


def _line(players: str, rules: str, games: Sequence[PlayedGame]) -> Line:
    measured = [game for game in games if not math.isnan(game.stolen_centers)]

    def mean(values: Iterable[float]) -> float:
        listed = list(values)
        return fmean(listed) if listed else math.nan

    return Line(
        players,
        rules,
        len(games),
        len(measured),
        mean(game.root_nash_welfare for game in measured),
        mean(game.stolen_centers for game in measured),
        mean(game.conflicts for game in measured),
    )
