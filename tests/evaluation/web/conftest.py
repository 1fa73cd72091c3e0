"""A server of games in a thread, and people who are scripts."""

import asyncio
import http.client
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from evaluation.web.hosting import Host
from evaluation.web.routes import Routes
from evaluation.web.seats import GameFolder
from evaluation.web.serving import Address, listening, make_server, make_site
from evaluation.web.settings import TableSettings, seated
from tests.evaluation.conftest import PATIENCE, until
from welfare_env import Game, Rules, load_board

BROWSERS = itertools.count()


@contextmanager
def running_site(server: Any, address: Address) -> Iterator[int]:
    """A server in a thread, while the block lasts. Gives its port."""
    with listening(address) as sock:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])), daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


class Player:
    """A person who is a script: holds the link of a seat."""

    def __init__(self, port: int, game: str, seat: str, token: str) -> None:
        self.port, self.game, self.seat, self.token = port, game, seat, token
        self.browser = f"browser-{next(BROWSERS):012}"
        self.cookies: dict[str, str] = {}

    def connect(self) -> http.client.HTTPConnection:
        """A connection for one request: the server ends those that are quiet for long."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path: str, body: Any = None, seat: str | None = None, **headers: str) -> tuple[int, Any]:
        """The status and the answer of a request of the seat."""
        given = {"Host": f"127.0.0.1:{self.port}", "Origin": f"http://127.0.0.1:{self.port}"}
        given |= {"Content-Type": "application/json"} if body is not None else {}
        given |= {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} | headers
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        method, url = "GET" if body is None else "POST", f"/g/{self.game}/{seat or self.seat}{path}"
        with closing(self.connect()) as connection:
            connection.request(method, url, sent, given)
            answer = connection.getresponse()
            text = answer.read().decode()
        if cookie := answer.getheader("set-cookie"):
            self.set_cookie = cookie
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        is_json = (answer.getheader("content-type") or "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text

    def enter(self) -> "Player":
        assert self.ask("/enter", {"token": self.token, "browser": self.browser})[0] == 200
        return self

    def state(self, since: int = 0) -> dict[str, Any]:
        status, found = self.ask(f"/state?since={since}")
        assert status == 200, found
        return found

    def answer(self, step: str, number: str = "1", **given: Any) -> tuple[int, Any]:
        return self.ask("/answer", {"step": step, "number": number, **given})

    def until_asked(self, step: str = "") -> dict[str, Any]:
        """The state when the person is asked again."""
        found: dict[str, Any] = {}

        def is_asked() -> bool:
            found.update(self.state())
            return found["step"] == "end" or (
                found.get("view", {}).get("is_asked") and not found["answer"] and found["step"] != step
            )

        until(is_asked)
        return found


class Server:
    """A server of a game, and the links of one."""

    def __init__(self, folder: Path, port: int = 0, public_url: str = "") -> None:
        self.host = Host(GameFolder(folder))
        self.game = self.host.name
        self.address = Address(port=port, public_url=public_url)
        routes = Routes(self.host, self.address.is_secure).all
        self.server = make_server(make_site(routes, self.address, self.host.running))

    @property
    def table(self):
        return self.host.table

    def player(self, seat: str, take_over: bool = False) -> Player:
        return Player(self.port, self.game, seat, self.link(seat, take_over).partition("#")[2])

    def link(self, seat: str, take_over: bool = False) -> str:
        """A fresh one."""
        return f"http://127.0.0.1:{self.port}{self.host.seats.link(seat, take_over)}"

    @contextmanager
    def running(self) -> Iterator["Server"]:
        with running_site(self.server, self.address) as self.port:
            yield self

    def stop(self) -> None:
        self.server.should_exit = True
        until(lambda: self.host.seats._lock < 0)


@pytest.fixture
def serving(tmp_path) -> Iterator[Callable[..., Server]]:
    """Starts servers, which end with the test: serving(profile, years=1, ...) or serving(settings).

    `begun`: all people have arrived. `game`: the folder of a game to continue.
    """
    with ExitStack() as stack:

        def start(
            profile: str | TableSettings = "",
            game: Path | None = None,
            port: int = 0,
            public_url: str = "",
            begun: bool = False,
            **own: Any,
        ) -> Server:
            if game is None:
                settings = profile if isinstance(profile, TableSettings) else quick(profile, **own)
                game = GameFolder.create(tmp_path / "games", settings, Address()).folder
            server = Server(game, port, public_url)
            if begun:
                begin(server.table)
            return stack.enter_context(server.running())

        yield start


def begin(table) -> None:
    """All people arrive."""
    for seat in table.people:
        table.enter(seat)


def played_again(game: Game) -> Game:
    """What `Game` makes of the messages and orders of a game that is over."""
    again = Game(rules=game.rules)
    for phase in game.history:
        for message in phase.messages:
            again.send(message.sender, message.recipient, message.text, message.round)
        for power, orders in phase.orders.items():
            again.submit(power, orders)
        again.advance()
    assert again.is_done
    return again


def quick(profile: str, **own: Any) -> TableSettings:
    """A short game on a small board."""
    return table_settings(profile, **{"rules": Rules(years=2, message_rounds=1), "map_name": "clique:3"} | own)


def table_settings(profile: str, rules: Rules, map_name: str = "standard", **own: Any) -> TableSettings:
    """The settings of a profile with people in named seats; or "7*human:"."""
    terms = profile.split(" + ")
    people = [term.partition("*")[0] for term in terms if term.endswith("*human:")]
    people = list(load_board(map_name).powers) if people == ["7"] else people
    others = " + ".join(term for term in terms if not term.endswith("*human:"))
    return TableSettings(seated(people, others or "hold", rules, map_name), **own)
