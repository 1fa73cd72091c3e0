"""A game with people that a server plays: its folder, clock, and policies.

At the end the folder has `game.json`, the saved game. A server has no other state, so a new one continues the game.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from agents.lm.models.shared_models import SharedModels
from evaluation.play.store import GameStore, specification_key
from evaluation.web.seats import GameFolder
from evaluation.web.table import SeatedGame
from welfare_env import WelfareEnvError
from welfare_env.game.record import save_record

_log = logging.getLogger(__name__)
GRACE = 60.0  # minimum seconds for the current step after a restart
AGAIN = 5.0  # seconds until a game that failed (a full disk, say) goes on


class Host:
    """An open game: its table, with a lock and a clock. Nobody else can play it until `close`.

    Args:
        seats: the game, from its folder.
        store: file of a store for the finished game; None to save it only in the folder.
        models: cache, budget and models for language-model players.

    Raises:
        SeatedGameError: the game is damaged, or another process plays it.
    """

    def __init__(self, seats: GameFolder, store: Path | None = None, models: SharedModels | None = None) -> None:
        self.seats, self.settings, self.name = seats, seats.settings, seats.name
        self.store, self.models = store, models
        seats.lock()
        try:
            self._takeovers = seats.takeovers()
            self.table = self._opened()
        except BaseException:
            seats.release()
            raise
        self.lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._opened_at, self._step_before = time.time(), self.table.step

    def _opened(self) -> SeatedGame:
        return SeatedGame(self.settings, self.seats.journal, self.models)

    def close(self) -> None:
        """Let other processes play the game."""
        self.seats.release()

    def secret(self, seat: str) -> str:
        """The secret from which a seat's cookies are derived; it changes when the seat is taken over."""
        return f"{self.seats.secret} {seat} {self._takeovers[seat]}"

    async def enter(self, seat: str, token: object, browser: object) -> None:
        """Use a link, as `GameFolder.redeem`, and note that a person has arrived."""
        count = await asyncio.to_thread(self.seats.redeem, seat, token, browser)  # strangers do not get the lock
        self._takeovers[seat] = max(count, self._takeovers[seat])  # links may be used at the same time
        async with self.lock:
            await asyncio.to_thread(self.table.enter, seat)
        self._changed.set()

    async def accept(self, seat: str, given: Mapping[str, Any]) -> bool:
        """Accept an answer, as `SeatedGame.accept`; it is on disk when this returns."""
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
        self.close()

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
        await asyncio.to_thread(self._save)

    def _advance(self, actions: Mapping[str, Any]) -> None:
        try:
            self.table.advance(actions)
        except BaseException:  # the step may have been played, but is not on disk
            self.table = self._opened()
            raise

    @property
    def left(self) -> float | None:
        """Seconds until this step's deadline; None without a deadline."""
        if not self.settings.minutes or not self.table.has_begun or self.table.is_done:
            return None
        deadline = self.table.since + 60 * self.settings.minutes
        if self.table.step == self._step_before:  # a server that was away has not let people answer
            deadline = max(deadline, self._opened_at + GRACE)
        return max(0.0, deadline - time.time())

    async def _wait(self, seconds: float | None) -> None:
        """Wait for a person to arrive or to answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def _save(self) -> None:
        """Save the finished game, once."""
        path = self.seats.folder / "game.json"
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
