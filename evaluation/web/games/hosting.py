"""Hosts many games with people: their folders, clocks, and policies.

A host has a folder with a subfolder per game: `settings.json`, `keys.json` (the secrets of the seats, readable only by
the owner), `links.jsonl` (see `links`), `journal.jsonl`, and at the end `game.json`, the saved game. A host has no
other state.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any

from agents.lm.models.shared_models import SharedModels
from agents.runtime.files import parse_json, read_file, reason
from evaluation.play.store import GameStore, specification_key
from evaluation.web.foundation import keys
from evaluation.web.foundation.streams import Topic, wait_for
from evaluation.web.games.links import NO_LINK, LinkRefused, Links
from evaluation.web.games.settings import SPECTATOR, TableError, TableSettings
from evaluation.web.games.table import Table
from welfare_env.game.record import save_record
from welfare_env.writing import replaced

_log = logging.getLogger(__name__)
# Separate pools, so that requests do not wait for policies.
_WRITING = ThreadPoolExecutor(8, "writing")
_PLAYING = ThreadPoolExecutor(256, "playing")  # one thread per game whose policies are acting
NAME = re.compile(r"[a-z0-9]{8,40}")
MOST_OVER = 20  # finished games that stay open, for people still viewing them
GRACE = 60.0  # minimum seconds for the current step after a restart


class Hosted:
    """An open game: its table, with a lock, a clock and a topic.

    Args:
        secrets: seat -> secret.
    """

    def __init__(self, name: str, table: Table, secrets: Mapping[str, str], links: Links) -> None:
        self.name, self.table, self.links = name, table, links
        self._secrets = dict(secrets)
        self._revocations = {seat: links.revocations(seat) for seat in secrets}
        self.topic = Topic(table.position)
        self.lock = asyncio.Lock()
        self.changed = asyncio.Event()
        self.opened = time.time()
        self._step_before = table.step if table.has_begun else None  # the step that a restart found
        self.task: asyncio.Task[None] | None = None

    @property
    def may_close(self) -> bool:
        """Whether the game is over and no page is open."""
        return self.table.is_done and not self.topic.followers

    @property
    def seats(self) -> Collection[str]:
        """The seats with links: those of people, and SPECTATOR if allowed."""
        return self._secrets.keys()

    def secret(self, seat: str) -> str:
        """The secret from which a seat's cookies are derived; it changes when the seat is taken from its browsers."""
        return f"{self._secrets[seat]} {self._revocations[seat]}"

    async def redeem(self, seat: str, token: object, browser: object) -> None:
        """Use a link, as `Links.redeem`, and enter the seat."""
        if not await asyncio.to_thread(self.links.is_known, token):  # strangers must not get the lock
            raise LinkRefused("unknown", NO_LINK)
        async with self.lock:
            self._revocations[seat] = await asyncio.to_thread(self.links.redeem, seat, token, browser)
        await self.enter(seat)

    async def enter(self, seat: str) -> None:
        """Note that a person or a spectator has arrived."""
        async with self.lock:
            if await asyncio.to_thread(self.table.enter, seat):
                self.topic.move(self.table.position)
        self.changed.set()

    async def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Accept an answer, as `Table.accept`; it is on disk when this returns."""
        async with self.lock:
            is_new = await asyncio.get_running_loop().run_in_executor(_WRITING, self.table.accept, seat, given)
        self.changed.set()
        return is_new

    async def play(self) -> None:
        """Play the game to its end."""
        while not self.table.has_begun:
            if self.table.may_begin:
                async with self.lock:
                    await asyncio.to_thread(self.table.begin)
                self.topic.move(self.table.position)
            else:
                await self._wait(None)
        while not self.table.is_done:
            loop = asyncio.get_running_loop()
            actions = await loop.run_in_executor(_PLAYING, self.table.think)
            await self._wait_for_people()
            spare = await loop.run_in_executor(_PLAYING, self.table.think_late)  # meanwhile people may still answer
            async with self.lock:
                await asyncio.to_thread(self.table.advance, actions | spare)
            self.topic.move(self.table.position)

    async def _wait_for_people(self) -> None:
        """Wait until all people have answered, or the deadline has passed."""
        while self.table.awaited:
            left = self.left
            if left is not None and left <= 0:
                return
            await self._wait(left)

    @property
    def left(self) -> float | None:
        """Seconds until this step's deadline; None without a deadline."""
        if not self.table.seconds:
            return None
        return max(self.table.since + self.table.seconds, self._grace) - time.time()

    @property
    def _grace(self) -> float:
        """The earliest deadline of a step that was in progress when the server stopped; 0 for other steps."""
        return self.opened + GRACE if self.table.step == self._step_before else 0.0

    async def _wait(self, seconds: float | None) -> None:
        self.changed.clear()
        if self.table.has_begun and not self.table.awaited:
            return
        if not self.table.has_begun and self.table.may_begin:
            return
        await wait_for(self.changed, seconds)


class Host:
    """All games of a folder.

    Args:
        folder: folder of the games; created if missing.
        store: file of a store for finished games; None to save them only in their folders.
        models: cache, budget and models for language-model players.

    Raises:
        TableError: the folder cannot be created.
    """

    def __init__(self, folder: Path, store: Path | None = None, models: SharedModels | None = None) -> None:
        self.folder, self.store, self.models = folder, store, models
        self._open: OrderedDict[str, Hosted] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TableError(f"{folder}: {reason(error)}") from error

    def create(self, settings: TableSettings) -> str:
        """Create a game and return its name."""
        name = token_hex(8)
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        looks_on = [SPECTATOR] if settings.spectators != "none" else []
        _write(folder / "keys.json", {seat: keys.new_token() for seat in [*settings.people, *looks_on]})
        _write(folder / "settings.json", settings.to_dict())
        return name

    def secrets(self, name: str) -> dict[str, str]:
        """Seat -> secret.

        Raises:
            TableError: the game does not exist, or is damaged.
        """
        return {str(seat): str(secret) for seat, secret in _read(self.folder / name / "keys.json").items()}

    def links(self, name: str) -> Links:
        """The links of a game."""
        return Links(self.folder / name)

    def invite(self, name: str, seats: Collection[str] = (), alone: bool = False) -> dict[str, str]:
        """Make new links; return seat -> path of its link on the server.

        Args:
            seats: the seats; all by default.
            alone: see `Links.new`.

        Raises:
            TableError: the game does not exist, a seat has no links, or `alone` is used for spectators.
        """
        links, known = self.links(name), self.secrets(name)
        if unknown := set(seats) - set(known):
            raise TableError(f"{sorted(unknown)}: not a person's seat: choose from {sorted(known)}")
        if alone and SPECTATOR in (seats or known):
            raise TableError("--alone is only for powers: many spectators can share a link")
        return {seat: f"/g/{name}/{seat}#{links.new(seat, alone=alone)}" for seat in seats or known}

    async def find(self, name: str) -> Hosted | None:
        """The game with this name, opened if necessary; None if it does not exist."""
        if name not in self._open:
            if not NAME.fullmatch(name) or not (self.folder / name / "settings.json").is_file():
                return None
            async with self._opening.setdefault(name, asyncio.Lock()):
                if name not in self._open:  # otherwise, another request was faster
                    await self._open_game(name)
        self._open.move_to_end(name)
        return self._open[name]

    async def _open_game(self, name: str) -> None:
        hosted = await asyncio.get_running_loop().run_in_executor(_PLAYING, self._opened, name)
        self._open[name] = hosted
        hosted.task = asyncio.create_task(self._played(hosted))
        hosted.task.add_done_callback(lambda task: self._ended(hosted, task))

    def _opened(self, name: str) -> Hosted:
        folder, secrets, links = self.folder / name, self.secrets(name), self.links(name)
        with ExitStack() as opened:
            table = Table(settings_in(folder), folder, self.models)
            opened.callback(table.stop)  # otherwise a later attempt would find the journal open
            hosted = Hosted(name, table, secrets, links)
            opened.pop_all()
        return hosted

    async def _played(self, hosted: Hosted) -> None:
        await hosted.play()
        await asyncio.to_thread(self._save_finished, hosted)
        over = [name for name, each in self._open.items() if each.may_close and name != hosted.name]
        for name in over[: max(0, len(over) - MOST_OVER + 1)]:
            closed = self._open.pop(name)
            closed.topic.close()
            closed.table.stop()

    def _ended(self, hosted: Hosted, task: asyncio.Task[None]) -> None:
        """Close a game that failed (a full disk, say); the next request opens it again from disk."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("game %s: %s: %s", hosted.name, type(error).__name__, error)
            if self._open.pop(hosted.name, None):
                hosted.topic.close()
                hosted.table.stop()

    def _save_finished(self, hosted: Hosted) -> None:
        """Save a finished game, once."""
        path = self.folder / hosted.name / "game.json"
        if path.exists():
            return
        record = hosted.table.record()
        if self.store is not None:
            # Unique to this game, and unchanged if the server is killed before `game.json` is written.
            specification = hosted.table.settings.spec.to_dict(self.models) | {"sitting": hosted.name}
            record["welfare_env"]["key"] = specification_key(specification)
            with GameStore(self.store) as store:  # opened here, since a store may be used only in one thread
                store.put(specification, record)
        save_record(record, path)

    def stop(self) -> None:
        """Stop all games and close their journals."""
        for hosted in self._open.values():
            if hosted.task is not None:
                hosted.task.cancel()
            hosted.topic.close()
            hosted.table.stop()
        self._open.clear()


def settings_in(folder: Path) -> TableSettings:
    """The settings of the game in a folder.

    Raises:
        TableError: there is no game, or it is damaged.
    """
    path = folder / "settings.json"
    given = _read(path)
    try:
        return TableSettings.from_dict(given)
    except (KeyError, TypeError, AttributeError) as error:
        raise TableError(f"{path}: damaged: {error!r:.200}") from error


def _write(path: Path, value: Any) -> None:
    with replaced(path) as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_file(path, 2**20))
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: {reason(error)}") from error
    if not isinstance(found, dict):
        raise TableError(f"{path}: damaged: not an object")
    return found
