"""The routes of a game. Every request except for the page itself needs the cookie of its seat.

======  ==========================  ===============================================================================
GET     /g/GAME/SEAT                the page; links have the token in the fragment
POST    /g/GAME/SEAT/enter          {"token", "browser"}: exchanges a link for a cookie, once (`seats`)
POST    /g/GAME/SEAT/link           a link for another device of the same person
GET     /g/GAME/SEAT/state          the state that the seat may see (`seen`): ``?since=N`` omits earlier phases; {}
                                    if ``?position=N`` is the current one. Pages ask every two seconds
POST    /g/GAME/SEAT/check          {"orders"} or {"messages"}: parses them or explains errors; changes nothing
POST    /g/GAME/SEAT/answer         {"step", "number", "orders" or "messages"}: on disk before it is confirmed
GET     /static/NAME                script and style of the page
======  ==========================  ===============================================================================

The page has the drawing and scripts of the replay page, and our own; it contains no game, only the empty board.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evaluation.web.hosting import Host
from evaluation.web.seats import cookie_name, cookie_value, holds
from evaluation.web.seen import state_of
from evaluation.web.serving import Refused, json_object
from evaluation.web.settings import SPECTATOR
from welfare_env import Board
from welfare_env.render.drawing import drawing_of
from welfare_env.render.svg import board_svg

_NO_GAME = (
    404,
    "unknown",
    "this game does not exist, or this seat is not yours: open the link that you were given",
)
_REPLAY, _OWN = "welfare_env.render.replay", "evaluation.web"
_FILES = {
    "play.css": [(_REPLAY, "page.css"), (_OWN, "play.css")],
    "play.js": [
        (_REPLAY, "dom.js"),
        *((_OWN, f"{name}.js") for name in ("asking", "store")),
        *((_REPLAY, f"{name}.js") for name in ("view", "board")),
        *((_OWN, f"{name}.js") for name in ("network", "choosing", "task", "talk", "play")),
    ],
}


class Routes:
    """The routes of a game.

    Args:
        is_secure: cookies are for https only.
    """

    def __init__(self, host: Host, is_secure: bool = False) -> None:
        self.host, self.is_secure = host, is_secure

    @property
    def all(self) -> list[Route]:
        """For `serving.make_site`."""
        seat = f"/g/{self.host.name}/{{seat}}"
        return [
            Route(seat, self.page),
            Route(f"{seat}/enter", self.enter, methods=["POST"]),
            Route(f"{seat}/link", self._for_seat(self.link), methods=["POST"]),
            Route(f"{seat}/state", self._for_seat(self.state)),
            Route(f"{seat}/check", self._for_seat(self.check), methods=["POST"]),
            Route(f"{seat}/answer", self._for_seat(self.answer), methods=["POST"]),
            Route("/static/{name}", static),
        ]

    async def page(self, request: Request) -> Response:
        """The page, for everybody who knows the address."""
        if request.path_params["seat"] not in self.host.settings.seats:
            raise Refused(*_NO_GAME)
        return HTMLResponse(board_page(self.host.table.game.board))

    async def enter(self, request: Request) -> Response:
        """Exchange a link for a cookie."""
        seat, given = request.path_params["seat"], await json_object(request)
        if seat not in self.host.settings.seats:
            raise Refused(*_NO_GAME)
        await self.host.enter(seat, given.get("token"), given.get("browser"))
        answer = JSONResponse({})
        answer.set_cookie(
            cookie_name(seat),
            cookie_value(self.host.secret(seat)),
            max_age=90 * 24 * 3600,
            path=f"/g/{self.host.name}",
            secure=self.is_secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    def _for_seat(
        self, action: Callable[[Request, str], Awaitable[dict[str, Any]]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Require the seat's cookie; unknown and others' seats give the same error."""

        async def checked(request: Request) -> Response:
            seat = request.path_params["seat"]
            if seat not in self.host.settings.seats or not holds(request.cookies, seat, self.host.secret(seat)):
                raise Refused(*_NO_GAME)
            return JSONResponse(await action(request, seat))

        return checked

    async def link(self, request: Request, seat: str) -> dict[str, Any]:
        """A link for another device of the same person."""
        await json_object(request)
        if seat == SPECTATOR:
            raise Refused(409, "not here", "all spectators use the same link")
        return {"link": await asyncio.to_thread(self.host.seats.link, seat)}

    async def state(self, request: Request, seat: str) -> dict[str, Any]:
        """The state that the seat may see; the page's own clock may be wrong, so it gets the time left."""
        if request.query_params.get("position") == str(self.host.table.position):
            return {}
        text = request.query_params.get("since", "")
        since = int(text) if text.isascii() and text.isdecimal() and len(text) <= 6 else 0
        async with self.host.lock:  # a step must not end in between
            table = self.host.table
            found = await asyncio.to_thread(state_of, table, seat, min(since, len(table.game.history)))
            return found | {"left": self.host.left}

    async def check(self, request: Request, seat: str) -> dict[str, Any]:
        """Parse orders or messages without submitting them."""
        given = await json_object(request)
        async with self.host.lock:  # a step must not end in between
            if not self.host.table.is_asked(seat):
                raise Refused(400, "not asked", "it is not your turn to give orders or messages")
            return await asyncio.to_thread(self.host.table.checked, seat, given)

    async def answer(self, request: Request, seat: str) -> dict[str, Any]:
        """Accept an answer."""
        return {"new": await self.host.accept(seat, await json_object(request))}


@functools.lru_cache(maxsize=16)
def board_page(board: Board) -> str:
    """The page of a game on this board."""
    nothing: dict[str, tuple[str, ...]] = dict.fromkeys(board.powers, ())
    drawn = board_svg(drawing_of(board), board.powers, nothing, nothing)
    return _text(_OWN, "play.html").replace("{board}", drawn)


async def static(request: Request) -> Response:
    """The script and the style of the page: several files each, the scripts in one function scope."""
    name = request.path_params["name"]
    if name not in _FILES:
        raise Refused(404, "unknown", "no such file")
    text = "\n".join(_text(*each) for each in _FILES[name])
    if name.endswith(".css"):
        return Response(text, media_type="text/css")
    return Response(f'"use strict";(() => {{\n{text}\n}})();\n', media_type="text/javascript")


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"static/{name}").read_text("utf-8")
