"""A game with people that a server plays: its folder, clock, and policies.

The folder has `settings.json` (the game, the server's address, and the secret of the cookies; readable only by the
owner), `links.jsonl` (see `links`), `journal.jsonl` (see `table`), and at the end `game.json`, the saved game. A server
has no other state, so a new one continues the game.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from agents.lm.models.shared_models import SharedModels
from agents.runtime.files import parse_json, read_file, reason
from evaluation.play.store import GameStore, specification_key
from evaluation.web.events import Events, wait_for
from evaluation.web.links import NO_LINK, LinkRefused, Links, new_token
from evaluation.web.serving import Address
from evaluation.web.settings import TableError, TableSettings
from evaluation.web.table import Table
from welfare_env import WelfareEnvError
from welfare_env.game.record import save_record
from welfare_env.writing import replaced

_log = logging.getLogger(__name__)
GRACE = 60.0  # minimum seconds for the current step after a restart
AGAIN = 5.0  # seconds until a game that failed (a full disk, say) goes on


class Host:
    """An open game: its table, with a lock, a clock and event streams.

    Args:
        folder: the game's folder, see `create`.
        store: file of a store for the finished game; None to save it only in the folder.
        models: cache, budget and models for language-model players.

    Raises:
        TableError, JournalError: there is no game, it is damaged, or another process plays it.
    """

    def __init__(self, folder: Path, store: Path | None = None, models: SharedModels | None = None) -> None:
        self.folder, self.name, self.store, self.models = folder, folder.resolve().name, store, models
        self.settings, _, self._secret = read_folder(folder)
        self.links = Links(folder)
        self._takeovers = {seat: self.links.takeovers(seat) for seat in self.settings.seats}
        self.table = Table(self.settings, folder, models)
        self.events = Events(self.table.position)
        self.lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._opened = time.time()
        self._step_before = self.table.step  # the step that a restart found

    def secret(self, seat: str) -> str:
        """The secret from which a seat's cookies are derived; it changes when the seat is taken over."""
        return f"{self._secret} {seat} {self._takeovers[seat]}"

    async def enter(self, seat: str, token: object, browser: object) -> None:
        """Use a link, as `Links.redeem`, and note that a person has arrived."""
        if not await asyncio.to_thread(self.links.is_known, token):  # strangers must not get the lock
            raise LinkRefused("unknown", NO_LINK)
        async with self.lock:
            self._takeovers[seat] = await asyncio.to_thread(self.links.redeem, seat, token, browser)
            if await asyncio.to_thread(self.table.enter, seat):
                self.events.move(self.table.position)
        self._changed.set()

    async def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Accept an answer, as `Table.accept`; it is on disk when this returns."""
        async with self.lock:
            is_new = await asyncio.to_thread(self.table.accept, seat, given)
        self._changed.set()
        return is_new

    @contextlib.asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Play while the server runs."""
        task = asyncio.create_task(self._run())
        yield
        task.cancel()
        self.events.close()
        self.table.stop()

    async def _run(self) -> None:
        while True:
            try:
                return await self._play()
            except (WelfareEnvError, OSError) as error:  # such as a full disk, on which the host makes room
                _log.error("game %s: %s: %s", self.name, type(error).__name__, error)
                await asyncio.sleep(AGAIN)

    async def _play(self) -> None:
        """Play the game to its end."""
        while not self.table.has_begun:
            await self._wait(None)
        while not self.table.is_done:
            actions = await asyncio.to_thread(self.table.think)
            while self.table.awaited and (self.left is None or self.left > 0):
                await self._wait(self.left)
            async with self.lock:
                await asyncio.to_thread(self._advance, actions)
            self.events.move(self.table.position)
        await asyncio.to_thread(self._save)

    def _advance(self, actions: Mapping[str, Any]) -> None:
        try:
            self.table.advance(actions)
        except BaseException:  # the step may have been played, but is not on disk
            self.table.stop()
            self.table = Table(self.settings, self.folder, self.models)
            raise

    @property
    def left(self) -> float | None:
        """Seconds until this step's deadline; None without a deadline."""
        if not self.settings.minutes or not self.table.has_begun or self.table.is_done:
            return None
        deadline = self.table.since + 60 * self.settings.minutes
        if self.table.step == self._step_before:  # a server that was away has not let people answer
            deadline = max(deadline, self._opened + GRACE)
        return max(0.0, deadline - time.time())

    async def _wait(self, seconds: float | None) -> None:
        """Wait for a person to arrive or to answer."""
        await wait_for(self._changed, seconds)
        self._changed.clear()

    def _save(self) -> None:
        """Save the finished game, once."""
        path = self.folder / "game.json"
        if path.exists():
            return
        record = self.table.record()
        if self.store is not None:
            # Unique to this game, and unchanged if the server is killed before `game.json` is written.
            specification = self.settings.spec.to_dict(self.models) | {"sitting": self.name}
            record["welfare_env"]["key"] = specification_key(specification)
            with GameStore(self.store) as store:  # opened here, since a store may be used only in one thread
                store.put(specification, record)
        save_record(record, path)


def create(folder: Path, settings: TableSettings, address: Address) -> Path:
    """Create a game in a folder of games, which is created if missing; return the game's own folder.

    Raises:
        TableError: the folder cannot be created.
    """
    own = folder / token_hex(8)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        own.mkdir(mode=0o700)
        _write(own, settings, address, new_token())
    except OSError as error:
        raise TableError(f"{folder}: {reason(error)}") from error
    return own


def move(folder: Path, address: Address) -> Path:
    """Note where a game is served now, for `new_links` by another process; return its folder."""
    settings, _, secret = read_folder(folder)
    _write(folder, settings, address, secret)
    return folder


def _write(folder: Path, settings: TableSettings, address: Address, secret: str) -> None:
    own = {"host": address.host, "port": address.port, "public_url": address.public_url}
    with replaced(folder / "settings.json") as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump({"game": settings.to_dict(), "address": own, "secret": secret}, file, indent=1)


def read_folder(folder: Path) -> tuple[TableSettings, Address, str]:
    """The game in a folder, where it was last served, and the secret of its cookies.

    Raises:
        TableError: there is no game, or it is damaged.
    """
    path = folder / "settings.json"
    try:
        given = parse_json(read_file(path, 2**20))
        return TableSettings.from_dict(given["game"]), Address(**given["address"]), str(given["secret"])
    except (KeyError, TypeError, AttributeError) as error:
        raise TableError(f"{path}: damaged: {error!r:.200}") from error
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: {reason(error)}") from error


def new_links(folder: Path, seats: Iterable[str], take_over: bool = False) -> dict[str, str]:
    """Make new links; return seat -> path of its link on the server."""
    links, name = Links(folder), folder.resolve().name
    return {seat: f"/g/{name}/{seat}#{links.new(seat, takes_over=take_over)}" for seat in seats}
