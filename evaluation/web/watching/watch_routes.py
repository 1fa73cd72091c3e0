"""The routes of ``welfare-env watch``. Every request except for the page itself needs the link's cookie.

======  ===================  =======================================================================
GET     /watch               the page; the link has its token in the fragment
POST    /watch/enter         {"token"}: exchanges it for a cookie
GET     /watch/state         the runs, their tables and games
GET     /watch/events        event stream with a new position after every change
GET     /watch/replay/KEY    the replay page of a game that a run has stored
======  ===================  =======================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evaluation.report.replays import annotated_page
from evaluation.web.foundation import keys
from evaluation.web.foundation.answers import json_object, problem, whole_page
from evaluation.web.foundation.serving import ASKING, BUNDLES
from evaluation.web.foundation.streams import Streams, Topic
from evaluation.web.watching.results import PlayedGame, Watched, Watcher
from evaluation.web.watching.terminal import lasted, spent
from welfare_env import WelfareEnvError

EVERY = 1.0  # seconds between updates while a page is open
SEAT, PLACE = "watch", "/watch"
_REPLAY, _OWN = "welfare_env.render.replay", "evaluation.web.watching"
BUNDLES["watch.css"] = (f"{_REPLAY}/page.css", f"{_OWN}/watch.css")
BUNDLES["watch.js"] = (f"{_REPLAY}/dom.js", ASKING, f"{_OWN}/watch.js")


class WatchRoutes:
    """The routes of a watcher.

    Args:
        token: the secret of its link.
        is_secure: whether cookies are https only.
    """

    def __init__(self, watcher: Watcher, token: str, is_secure: bool = False, streams: Streams | None = None) -> None:
        self.watcher, self.token, self.is_secure = watcher, token, is_secure
        self.streams = streams or Streams()
        self.topic = Topic(int(time.time() * 10))  # differs from positions of an earlier server
        self._state: list[dict[str, Any]] = []
        self._looked = -math.inf
        self._looking = asyncio.Lock()

    @property
    def routes(self) -> list[Route]:
        """For `serving.make_site`."""
        return [
            Route(PLACE, self.page),
            Route(f"{PLACE}/enter", self.enter, methods=["POST"]),
            Route(f"{PLACE}/state", self._checked(self.state)),
            Route(f"{PLACE}/events", self._checked(self.events)),
            Route(f"{PLACE}/replay/{{key}}", self._checked(self.replay)),
        ]

    @contextlib.asynccontextmanager
    async def looking(self, app: object) -> AsyncIterator[None]:
        """While the server runs, update the state regularly, as long as a page is open."""
        task = asyncio.create_task(self._look_on())
        yield
        task.cancel()
        self.topic.close()

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            if self.streams.open:
                await self._look()

    async def _look(self) -> None:
        async with self._looking:
            if time.monotonic() - self._looked < EVERY / 2:
                return
            state = [_as_json(each) for each in await asyncio.to_thread(self.watcher.look)]
            self._looked = time.monotonic()
            if state != self._state:
                self._state = state
                self.topic.move(self.topic.position + 1)

    async def page(self, request: Request) -> Response:
        """The page, without any data of runs."""
        return HTMLResponse(resources.files(_OWN).joinpath("static/watch.html").read_text("utf-8"))

    async def enter(self, request: Request) -> Response:
        """Exchange the link's token for a cookie."""
        given = json_object(await request.body())
        if not keys.is_token((given or {}).get("token"), self.token):
            return _not_yours()
        header = keys.cookie_header(SEAT, self.token, PLACE, self.is_secure)
        return JSONResponse({}, headers={"set-cookie": header})

    def _checked(self, action: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            if not keys.holds(request.cookies, SEAT, self.token):
                return _not_yours()
            return await action(request)

        return checked

    async def state(self, request: Request) -> Response:
        """The state of all runs."""
        await self._look()
        return JSONResponse({"position": self.topic.position, "now": time.time(), "runs": self._state})

    async def events(self, request: Request) -> Response:
        """The event stream of positions."""
        return self.streams.response(request, self.topic)

    async def replay(self, request: Request) -> Response:
        """The replay page of a game."""
        try:
            page = await asyncio.to_thread(self._replay, request.path_params["key"])
        except WelfareEnvError as error:
            return problem(str(error), 500, "damaged")
        return problem("no run has stored this game", 404) if page is None else whole_page(page)

    def _replay(self, key: str) -> str | None:
        record = self.watcher.record(key)
        return None if record is None else annotated_page(record)


def _not_yours() -> Response:
    return problem("no access: open the link printed by welfare-env watch", 404)


def _as_json(each: Watched) -> dict[str, Any]:
    run = each.run
    return {
        "name": run.name,
        "command": run.command,
        "state": run.state,
        "trouble": each.trouble,
        "progress": [vars(stage) for stage in run.stages],
        "started": run.started,
        "lasted": "" if run.ended is None else lasted(run),
        "spent": spent(run),
        "folder": run.folder,
        "stored": each.stored,
        "lines": [{name: _number(value) for name, value in vars(line).items()} for line in each.lines],
        "games": [_game(game) for game in each.games],
    }


def _game(game: PlayedGame) -> dict[str, Any]:
    facts = {name: _number(value) for name, value in vars(game).items()}
    return facts | {"points": [[power, _number(points)] for power, points in game.points]}


def _number(value: Any) -> Any:
    """A value for JSON: None for nan and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
