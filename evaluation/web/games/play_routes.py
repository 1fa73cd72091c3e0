"""The routes of games. Every request except for the page itself needs the cookie of its seat.

======  ==========================  ===============================================================================
GET     /g/GAME/SEAT                the page; links have the token in the fragment
POST    /g/GAME/SEAT/enter          {"token", "browser"}: exchanges a link for a cookie, once (`links`)
POST    /g/GAME/SEAT/link           a link for another device of the same person
GET     /g/GAME/SEAT/state          the state that the seat may see (`seen`); ``?since=N`` omits earlier phases
POST    /g/GAME/SEAT/check          {"orders"} or {"messages"}: parses them or explains errors; changes nothing
POST    /g/GAME/SEAT/answer         {"step", "number", "orders" or "messages"}: on disk before it is confirmed
GET     /g/GAME/SEAT/replay         the replay page, for a spectator who may see everything after the end
GET     /g/GAME/events              event stream of positions, for any seat of the game
======  ==========================  ===============================================================================
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evaluation.web.foundation import keys
from evaluation.web.foundation.answers import json_object, problem, whole_page
from evaluation.web.foundation.streams import Streams
from evaluation.web.games.hosting import Host, Hosted
from evaluation.web.games.links import DEVICE_SECONDS, LinkRefused
from evaluation.web.games.page import board_page
from evaluation.web.games.seen import may_look, state_of
from evaluation.web.games.settings import SPECTATOR
from evaluation.web.games.table import AnswerRefused
from welfare_env.errors import OrderError, PressError
from welfare_env.render.replay.annotations import NO_ANNOTATIONS
from welfare_env.render.replay.page import replay_page

STATUS = {"malformed": 400, "late": 409, "answered": 409, "not asked": 409, "many": 409}
NO_OBJECT = "not a JSON object"
_NO_GAME = ("this game does not exist, or this seat is not yours: open the link that you were given", 404)


class PlayRoutes:
    """The routes of the games of a host.

    Args:
        is_secure: cookies are for https only.
    """

    def __init__(self, host: Host, is_secure: bool = False, streams: Streams | None = None) -> None:
        self.host, self.is_secure, self.streams = host, is_secure, streams or Streams()

    @property
    def routes(self) -> list[Route]:
        """For `serving.make_site`."""
        place = "/g/{game}/{seat}"
        return [
            Route("/g/{game}/events", self.events),
            Route(place, self.page),
            Route(f"{place}/enter", self.enter, methods=["POST"]),
            Route(f"{place}/link", self._for_seat(self.link), methods=["POST"]),
            Route(f"{place}/state", self._for_seat(self.state)),
            Route(f"{place}/check", self._for_seat(self.check), methods=["POST"]),
            Route(f"{place}/answer", self._for_seat(self.answer), methods=["POST"]),
            Route(f"{place}/replay", self._for_seat(self.replay)),
        ]

    async def page(self, request: Request) -> Response:
        """The page, for everybody who knows the address; it contains only the empty board."""
        hosted = await self.host.find(request.path_params["game"])
        if hosted is None or request.path_params["seat"] not in hosted.seats:
            return problem(*_NO_GAME)
        return HTMLResponse(board_page(hosted.table.game.board))

    async def enter(self, request: Request) -> Response:
        """Exchange a link for a cookie. A browser that already has the seat uses up only links made with `alone`."""
        game, seat = request.path_params["game"], request.path_params["seat"]
        hosted = await self.host.find(game)
        given = json_object(await request.body())
        if hosted is None or seat not in hosted.seats or given is None:
            return problem(*_NO_GAME)
        token = given.get("token")
        try:
            if not _holds(request, hosted, seat) or await asyncio.to_thread(hosted.links.is_alone, seat, token):
                await hosted.redeem(seat, token, given.get("browser"))
        except LinkRefused as error:
            return problem(str(error), 404, error.code)
        header = keys.cookie_header(seat, hosted.secret(seat), f"/g/{game}", self.is_secure)
        return JSONResponse({}, headers={"set-cookie": header})

    async def link(self, request: Request, hosted: Hosted, seat: str) -> Response:
        """A link for another device of the same person."""
        if seat == SPECTATOR:
            return problem("links to other devices are not available here", 409, "not here")

        async def made() -> dict[str, Any]:
            token = await asyncio.to_thread(hosted.links.new, seat, DEVICE_SECONDS)
            return {"link": f"/g/{hosted.name}/{seat}#{token}", "minutes": DEVICE_SECONDS // 60}

        return await _refusing(made)

    def _for_seat(
        self, action: Callable[[Request, Hosted, str], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Require the seat's cookie; unknown games and others' seats give the same error."""

        async def checked(request: Request) -> Response:
            seat = request.path_params["seat"]
            hosted = await self.host.find(request.path_params["game"])
            if hosted is None or not _holds(request, hosted, seat):
                return problem(*_NO_GAME)
            return await action(request, hosted, seat)

        return checked

    async def state(self, request: Request, hosted: Hosted, seat: str) -> Response:
        """The state that the seat may see."""
        since = request.query_params.get("since", "0")
        played = len(hosted.table.game.history)
        number = int(since) if since.isascii() and since.isdecimal() and len(since) < 6 else 0
        async with hosted.lock:
            found = await asyncio.to_thread(state_of, hosted.table, seat, min(number, played))
            left = hosted.left
        return JSONResponse(found | ({"left": left} if "view" in found else {}))

    async def check(self, request: Request, hosted: Hosted, seat: str) -> Response:
        """Parse orders or messages without submitting them."""
        given = json_object(await request.body())
        async with hosted.lock:  # a step must not end in between
            if given is None:
                return problem(NO_OBJECT, 400)
            if not hosted.table.is_asked(seat):
                return problem("it is not your turn to give orders or messages", 400)
            return await _refusing(lambda: asyncio.to_thread(hosted.table.checked, seat, given))

    async def answer(self, request: Request, hosted: Hosted, seat: str) -> Response:
        """Accept an answer."""
        given = json_object(await request.body())
        if given is None:
            return problem(NO_OBJECT, 400)

        async def accepted() -> dict[str, Any]:
            return {"new": await hosted.accept(seat, given)}

        return await _refusing(accepted)

    async def replay(self, request: Request, hosted: Hosted, seat: str) -> Response:
        """The replay of the finished game, for a spectator."""
        if seat != SPECTATOR or hosted.table.settings.spectators != "end" or not may_look(hosted.table, seat):
            return problem(*_NO_GAME)
        page = await asyncio.to_thread(
            replay_page, hosted.table.record(), hosted.table.game.board, NO_ANNOTATIONS, at_end=True
        )
        return whole_page(page)

    async def events(self, request: Request) -> Response:
        """The event stream of positions, for any seat."""
        hosted = await self.host.find(request.path_params["game"])
        if hosted is None or not any(_holds(request, hosted, seat) for seat in hosted.seats):
            return problem(*_NO_GAME)
        return self.streams.response(request, hosted.topic)


def _holds(request: Request, hosted: Hosted, seat: str) -> bool:
    return seat in hosted.seats and keys.holds(request.cookies, seat, hosted.secret(seat))


async def _refusing(action: Callable[[], Awaitable[dict[str, Any]]]) -> Response:
    """The response of an action, or its error with an explanation."""
    try:
        return JSONResponse(await action())
    except (AnswerRefused, LinkRefused) as error:
        return problem(str(error), STATUS[error.code], error.code)
    except (OrderError, PressError) as error:
        return problem(str(error), 422, "illegal")
