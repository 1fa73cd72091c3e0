"""The routes of a game. Every request except for the page itself needs the cookie of its seat.

======  ==========================  ===============================================================================
GET     /g/GAME/SEAT                the page; links have the token in the fragment
POST    /g/GAME/SEAT/enter          {"token", "browser"}: exchanges a link for a cookie, once (`seats`)
POST    /g/GAME/SEAT/link           a link for another device of the same person
GET     /g/GAME/SEAT/state          the state that the seat may see (`seen`); ``?since=N`` omits earlier phases
POST    /g/GAME/SEAT/check          {"orders"} or {"messages"}: parses them or explains errors; changes nothing
POST    /g/GAME/SEAT/answer         {"step", "number", "orders" or "messages"}: on disk before it is confirmed
GET     /g/GAME/events              event stream of positions, for any seat of the game
GET     /static/NAME                script and style of the page
======  ==========================  ===============================================================================
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evaluation.web.guard import problem
from evaluation.web.hosting import Host
from evaluation.web.page import board_page, static
from evaluation.web.seats import LinkRefused, cookie_name, cookie_value, holds
from evaluation.web.seen import state_of
from evaluation.web.settings import SPECTATOR
from evaluation.web.table import AnswerRefused
from welfare_env.errors import OrderError, PressError

STATUS = {"malformed": 400, "late": 409, "answered": 409, "not asked": 409}
_NO_OBJECT = ("not a JSON object", 400)
_NO_GAME = ("this game does not exist, or this seat is not yours: open the link that you were given", 404)


def json_object(body: bytes) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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
        game = f"/g/{self.host.name}"
        seat = f"{game}/{{seat}}"
        return [
            Route(f"{game}/events", self.events),
            Route(seat, self.page),
            Route(f"{seat}/enter", self.enter, methods=["POST"]),
            Route(f"{seat}/link", self._for_seat(self.link), methods=["POST"]),
            Route(f"{seat}/state", self._for_seat(self.state)),
            Route(f"{seat}/check", self._for_seat(self.check), methods=["POST"]),
            Route(f"{seat}/answer", self._for_seat(self.answer), methods=["POST"]),
            Route("/static/{name}", static),
        ]

    async def page(self, request: Request) -> Response:
        """The page, for everybody who knows the address; it contains only the empty board."""
        if request.path_params["seat"] not in self.host.settings.seats:
            return problem(*_NO_GAME)
        return HTMLResponse(board_page(self.host.table.game.board))

    async def enter(self, request: Request) -> Response:
        """Exchange a link for a cookie."""
        seat, given = request.path_params["seat"], json_object(await request.body())
        if seat not in self.host.settings.seats or given is None:
            return problem(*_NO_GAME)
        try:
            await self.host.enter(seat, given.get("token"), given.get("browser"))
        except LinkRefused as error:
            return problem(str(error), 404, error.code)
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
        self, action: Callable[[Request, str], Awaitable[dict[str, Any] | Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Require the seat's cookie, and turn errors into responses; unknown and others' seats give the same error."""

        async def checked(request: Request) -> Response:
            seat = request.path_params["seat"]
            if not self._holds(request, seat):
                return problem(*_NO_GAME)
            try:
                answer = await action(request, seat)
            except AnswerRefused as error:
                return problem(str(error), STATUS[error.code], error.code)
            except (OrderError, PressError) as error:
                return problem(str(error), 422, "illegal")
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return checked

    def _holds(self, request: Request, seat: str) -> bool:
        return seat in self.host.settings.seats and holds(request.cookies, seat, self.host.secret(seat))

    async def link(self, request: Request, seat: str) -> dict[str, Any] | Response:
        """A link for another device of the same person."""
        if seat == SPECTATOR:
            return problem("all spectators use the same link", 409, "not here")
        return {"link": await asyncio.to_thread(self.host.seats.link, seat)}

    async def state(self, request: Request, seat: str) -> dict[str, Any]:
        """The state that the seat may see; the page's own clock may be wrong, so it gets the time left."""
        text = request.query_params.get("since", "")
        since = int(text) if text.isascii() and text.isdecimal() and len(text) <= 6 else 0
        async with self.host.lock:  # a step must not end in between
            table = self.host.table
            found = await asyncio.to_thread(state_of, table, seat, min(since, len(table.game.history)))
            return found | {"left": self.host.left}

    async def check(self, request: Request, seat: str) -> dict[str, Any] | Response:
        """Parse orders or messages without submitting them."""
        given = json_object(await request.body())
        async with self.host.lock:  # a step must not end in between
            if given is None:
                return problem(*_NO_OBJECT)
            if not self.host.table.is_asked(seat):
                return problem("it is not your turn to give orders or messages", 400)
            return await asyncio.to_thread(self.host.table.checked, seat, given)

    async def answer(self, request: Request, seat: str) -> dict[str, Any] | Response:
        """Accept an answer."""
        given = json_object(await request.body())
        return problem(*_NO_OBJECT) if given is None else {"new": await self.host.accept(seat, given)}

    async def events(self, request: Request) -> Response:
        """The event stream of positions, for any seat."""
        if not any(self._holds(request, seat) for seat in self.host.settings.seats):
            return problem(*_NO_GAME)
        return self.host.events.response(request)
