"""Games with people side by side: their folders, their clocks, and the thinking of their policies.

A host has a folder; each game has a folder in it, with `settings.json`, `keys.json` (the secrets of its seats, readable
by the owner alone), `links.jsonl` (see `links`), `journal.jsonl`, and at the end `game.json`, the saved game. All that
a host knows is there.
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
from pathlib import Path
from secrets import token_hex
from typing import Any

from agents.lm.models.shared_models import SharedModels
from agents.runtime.files import read_file, reason
from evaluation.play.store import GameStore, specification_key
from evaluation.web.foundation import keys
from evaluation.web.foundation.streams import Topic, wait_for
from evaluation.web.games.links import NO_LINK, LinkRefused, Links
from evaluation.web.games.settings import SPECTATOR, TableError, TableSettings
from evaluation.web.games.table import Table
from welfare_env.game.record import save_record
from welfare_env.writing import replaced

_log = logging.getLogger(__name__)
# Of their own, so that no request waits for policies that think.
_WRITING = ThreadPoolExecutor(8, "writing")
_PLAYING = ThreadPoolExecutor(256, "playing")  # a thread for each game whose policies think
NAME = re.compile(r"[a-z0-9]{8,40}")
MOST_OVER = 20  # finished games that are kept open for those who still look at them
GRACE = 60.0  # seconds that a step has at least after a restart


class Hosted:
    """A game that is played here: its table, with a lock, a clock and a topic.

    Args:
        secrets: seat -> its secret.
    """

    def __init__(self, name: str, table: Table, secrets: Mapping[str, str], links: Links) -> None:
        self.name, self.table, self.links = name, table, links
        self._secrets = dict(secrets)
        self._taken = {seat: links.taken(seat) for seat in secrets}
        self.topic = Topic(table.position)
        self.lock = asyncio.Lock()
        self.changed = asyncio.Event()
        self.opened = time.time()
        self._step_before = table.step if table.has_begun else None  # the step that a restart found
        self.task: asyncio.Task[None] | None = None

    @property
    def may_close(self) -> bool:
        """Whether the game is over, and no page follows it."""
        return self.table.is_done and not self.topic.followers

    @property
    def seats(self) -> Collection[str]:
        """Those that have links: people's, and the spectators' if there may be any."""
        return self._secrets.keys()

    def secret(self, seat: str) -> str:
        """What the cookies of a seat follow from; another one when the seat was taken from those who had it."""
        return f"{self._secrets[seat]} {self._taken[seat]}"

    async def trade(self, seat: str, token: object, browser: object) -> None:
        """Use a link: as `Links.trade`. The person is there then."""
        if not await asyncio.to_thread(self.links.is_known, token):  # before the lock, which strangers must not hold
            raise LinkRefused("unknown", NO_LINK)
        async with self.lock:
            self._taken[seat] = await asyncio.to_thread(self.links.trade, seat, token, browser)
        await self.enter(seat)

    async def enter(self, seat: str) -> None:
        """A person, or a spectator, has come."""
        async with self.lock:
            if await asyncio.to_thread(self.table.enter, seat):
                self.topic.move(self.table.position)
        self.changed.set()

    async def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Take an answer: as `Table.accept`; it is on disk when this returns."""
        async with self.lock:
            is_new = await asyncio.get_running_loop().run_in_executor(_WRITING, self.table.accept, seat, given)
        self.changed.set()
        return is_new

    async def play(self) -> None:
        """Play the game to its end, step by step."""
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
        """Until all have answered, or their time is up."""
        while self.table.awaited:
            left = self.left
            if left is not None and left <= 0:
                return
            await self._wait(left)

    @property
    def left(self) -> float | None:
        """Seconds until this step is over; None without a deadline."""
        if not self.table.seconds:
            return None
        return max(self.table.since + self.table.seconds, self._grace) - time.time()

    @property
    def _grace(self) -> float:
        """A step that was on its way when the server stopped has some time yet."""
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
        folder: made if it is not there.
        store: the file of a store: finished games go there, too. None keeps them in their folders alone.
        models: where language models come from.

    Raises:
        TableError: the folder cannot be made.
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
        """Make a game. Returns its name."""
        name = token_hex(8)
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        looks_on = [SPECTATOR] if settings.spectators != "none" else []
        _write(folder / "keys.json", {seat: keys.new_token() for seat in [*settings.people, *looks_on]})
        _write(folder / "settings.json", settings.to_dict())
        return name

    def secrets(self, name: str) -> dict[str, str]:
        """Seat -> its secret.

        Raises:
            TableError: there is no such game, or it is damaged.
        """
        return {str(seat): str(secret) for seat, secret in _read(self.folder / name / "keys.json").items()}

    def links(self, name: str) -> Links:
        """The links of a game."""
        return Links(self.folder / name)

    def invite(self, name: str, seats: Collection[str] = (), alone: bool = False) -> dict[str, str]:
        """New links. Returns seat -> the path of its link on the server.

        Args:
            seats: all by default.
            alone: see `Links.new`.

        Raises:
            TableError: there is no such game, a seat has no links, or `alone` is for spectators.
        """
        links, known = self.links(name), self.secrets(name)
        if unknown := set(seats) - set(known):
            raise TableError(f"{sorted(unknown)}: no person has this seat; there are links for {sorted(known)}")
        if alone and SPECTATOR in (seats or known):
            raise TableError(
                "a spectator's link is for many people, and is taken from nobody: only powers' can be alone"
            )
        return {seat: f"/g/{name}/{seat}#{links.new(seat, alone=alone)}" for seat in seats or known}

    async def find(self, name: str) -> Hosted | None:
        """The game of this name; it is opened if it was not. None if there is none."""
        if name not in self._open:
            if not NAME.fullmatch(name) or not (self.folder / name / "settings.json").is_file():
                return None
            async with self._opening.setdefault(name, asyncio.Lock()):
                if name not in self._open:  # else another request was faster
                    await self._bring(name)
        self._open.move_to_end(name)
        return self._open[name]

    async def _bring(self, name: str) -> None:
        table = await asyncio.get_running_loop().run_in_executor(_PLAYING, self._opened, name)
        hosted = self._open[name] = Hosted(name, table, self.secrets(name), self.links(name))
        hosted.task = asyncio.create_task(self._played(hosted))
        hosted.task.add_done_callback(lambda task: self._ended(hosted, task))

    def _opened(self, name: str) -> Table:
        folder = self.folder / name
        return Table(settings_in(folder), folder, self.models)

    async def _played(self, hosted: Hosted) -> None:
        await hosted.play()
        await asyncio.to_thread(self._keep, hosted)
        over = [name for name, each in self._open.items() if each.may_close and name != hosted.name]
        for name in over[: max(0, len(over) - MOST_OVER + 1)]:
            closed = self._open.pop(name)
            closed.topic.close()
            closed.table.stop()

    def _ended(self, hosted: Hosted, task: asyncio.Task[None]) -> None:
        """A game that failed (a full disk) is closed; whoever asks next opens it again, as it is on disk."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("game %s: %s: %s", hosted.name, type(error).__name__, error)
            if self._open.pop(hosted.name, None):
                hosted.topic.close()
                hosted.table.stop()

    def _keep(self, hosted: Hosted) -> None:
        """Save a finished game, once."""
        path = self.folder / hosted.name / "game.json"
        if path.exists():
            return
        record = hosted.table.record()
        if self.store is not None and not hosted.table.settings.is_practice:
            # Of this game alone, and the same if the server was killed before `game.json` was there.
            specification = hosted.table.settings.spec.to_dict(self.models) | {"sitting": hosted.name}
            record["welfare_env"]["key"] = specification_key(specification)
            with GameStore(self.store) as store:  # here, since a store belongs to the thread that opened it
                store.put(specification, record)
        save_record(record, path)

    def stop(self) -> None:
        """End all clocks and close all journals."""
        for hosted in self._open.values():
            if hosted.task is not None:
                hosted.task.cancel()
            hosted.topic.close()
            hosted.table.stop()
        self._open.clear()


def settings_in(folder: Path) -> TableSettings:
    """The settings of a game by its folder.

    Raises:
        TableError: there is no game, or it is damaged.
    """
    return TableSettings.from_dict(_read(folder / "settings.json"))


def _write(path: Path, value: Any) -> None:
    with replaced(path) as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_file(path, 2**20))
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: {reason(error)}") from error
    if not isinstance(found, dict):
        raise TableError(f"{path}: damaged: not an object")
    return found
