"""Load test of a game with people: confirmation times, and killed servers.

    python -m benchmarks.web                  # seven people
    python -m benchmarks.web --kills 50       # kill -9 at 50 random moments

People are scripts that send HTTP requests to a server in a separate process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.web.seats import GameFolder
from evaluation.web.serving import Address
from evaluation.web.settings import TableSettings, seated
from welfare_env import Rules, load_board

LOOK = 0.05  # seconds between questions; pages wait two
LOST = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)


@dataclass
class Person:
    """A script that plays a seat, and continues after a restart of the server.

    Attributes:
        confirmed: (step, confirmed answer), in order.
        seconds: duration of each confirmation.
    """

    port: int
    game: str
    seat: str
    token: str
    rng: np.random.Generator
    cookie: str = ""
    confirmed: list[tuple[str, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    pause: float = 0.0  # maximum thinking time, in seconds
    position: int = -1
    connection: http.client.HTTPConnection | None = None

    @property
    def link(self) -> dict[str, str]:
        """The data that a page sends to join."""
        return {"token": self.token, "browser": f"{self.seat} of {self.game}"}

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request; the connection stays open."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json", "Cookie": self.cookie}
        sent = None if body is None else json.dumps(body).encode()
        try:
            self.connection.request(
                "GET" if body is None else "POST", f"/g/{self.game}/{self.seat}{path}", sent, headers
            )
            answer = self.connection.getresponse()
            text = answer.read()
        except LOST:
            self.connection.close()
            self.connection = None
            raise
        if cookie := answer.getheader("set-cookie"):
            self.cookie = cookie.partition(";")[0]
        return answer.status, json.loads(text)

    def ask_until_answered(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Retry a request while the server is down, as a page does."""
        while True:
            with suppress(*LOST):
                return self.ask(path, body)
            time.sleep(0.02)

    def play(self) -> None:
        """Play a game to its end; as a page does, ask from time to time whether anything has changed."""
        self.ask_until_answered("/enter", self.link)
        step, phases = "", 0
        while True:
            known = f"since={max(0, phases - 1)}&position={self.position}"
            _, state = self.ask_until_answered(f"/state?{known}")
            if not state:
                time.sleep(LOOK)
                continue
            step = state["step"]
            if step == "end":
                break
            if "game" in state:
                phases = state["game"]["since"] + len(state["game"]["phases"])
            if state.get("view", {}).get("is_asked") and not state["answer"]:
                self._answer(state)
            self.position = state["position"]
        self.seen = self.ask_until_answered("/state")[1]

    def _answer(self, state: dict[str, Any]) -> None:
        given = self._drawn(state["view"])
        time.sleep(self.pause * self.rng.random())
        began = time.perf_counter()
        number = f"{self.rng.integers(2**60)}"
        status, _ = self.ask_until_answered("/answer", {"step": state["step"], "number": number, **given})
        if status == 200:
            self.seconds.append(time.perf_counter() - began)
            self.confirmed.append((state["step"], given))

    def _drawn(self, view: dict[str, Any]) -> dict[str, Any]:
        if view["asked"] == "messages":
            return {
                "messages": dict.fromkeys(view["recipients"], f"{self.seat} in {view['phase']} {view['message_round']}")
            }
        if view["phase_type"] == "A":
            return {"orders": []}
        return {"orders": [str(self.rng.choice(orders)) for orders in view["legal_orders"].values()]}


@contextmanager
def server(game: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Continue a game by the command `play`; yields once it listens. The store is in the folder of games."""
    command = [sys.executable, "-m", "evaluation", "play", str(game.resolve()), "--port", str(port), "--no-browser"]
    started = subprocess.Popen(  # noqa: S603 (this Python, with arguments of ours)
        command, cwd=game.parent, stdout=subprocess.PIPE, text=True
    )
    if started.stdout is not None:
        while started.stdout.readline().partition(":")[0] not in ("", "To continue the game"):
            pass
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def free_port() -> int:
    """An unused port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def people_of(game: Path, port: int, seed: int) -> list[Person]:
    """All people of a game."""
    seats, found = GameFolder(game), []
    for seat in seats.settings.seats:
        rng = np.random.default_rng([seed, *seat.encode()])
        found.append(Person(port, game.name, seat, seats.link(seat).partition("#")[2], rng))
    return found


def play_all_at_once(people: list[Person]) -> None:
    """Let all people play, each in a thread."""
    with ThreadPoolExecutor(len(people)) as pool:
        for future in [pool.submit(person.play) for person in people]:
            future.result()


@dataclass(frozen=True)
class KillReport:
    """Counts of confirmed, lost and duplicated answers, and of kills."""

    confirmed: int
    lost: int
    doubled: int
    kills: int


def killed_games(folder: Path, settings: TableSettings, kills: int, seed: int) -> KillReport:
    """Play games in sequence while their server is killed at random moments; then check the journals."""
    port, draw = free_port(), random.Random(seed)  # noqa: S311 (moments, not secrets)
    people: list[Person] = []
    done = 0
    while done < kills:
        game = GameFolder.create(folder, settings, Address(port=port)).folder
        those = people_of(game, port, seed + len(people))
        people += those
        playing = threading.Thread(target=play_all_at_once, args=(those,))
        playing.start()
        while playing.is_alive():
            with server(game, port) as process:
                playing.join(draw.uniform(0.05, 1) if done < kills else None)
                if playing.is_alive():
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    done += 1
    reports = [_checked(folder, person) for person in people]
    confirmed, lost, doubled = (sum(column) for column in zip(*reports, strict=True))
    return KillReport(confirmed, lost, doubled, done)


def _checked(folder: Path, person: Person) -> tuple[int, int, int]:
    """A person's confirmed, lost and duplicated answers, by the journal and by what the page showed in the end."""
    entries = GameFolder(folder / person.game).journal.entries()
    kept = [entry for entry in entries if entry["kind"] == "answer" and entry["seat"] == person.seat]
    steps = [entry["step"] for entry in kept]
    said = [message for phase in person.seen["game"]["phases"] for message in phase["messages"]]
    sent = [(message[0], message[1], message[2], message[3]) for message in said if message[1] == person.seat]
    wanted = sum(len(given["messages"]) for _, given in person.confirmed if "messages" in given)
    lost = sum(
        (step, given) not in [(each["step"], each["given"]) for each in kept] for step, given in person.confirmed
    )
    lost += max(0, wanted - len(sent))
    return len(person.confirmed), lost, len(steps) - len(set(steps)) + len(sent) - len(set(sent))


def percentile(people: list[Person], share: float) -> float:
    """A percentile of all confirmation times, in milliseconds."""
    return 1000 * float(np.quantile([second for person in people for second in person.seconds], share))


def small_game() -> TableSettings:
    """Two people and one hold policy, three years, on a toy board."""
    rules = Rules(years=3, message_rounds=1)
    return TableSettings(seated(["PLAYERA", "PLAYERB"], "hold", rules, "clique:3"))


def standard_game() -> TableSettings:
    """Seven people, three years, on the standard board."""
    return TableSettings(seated(load_board("standard").powers, "hold", Rules(years=3, message_rounds=1)))


def together(pause: float) -> None:
    """A game of seven people who think for up to `pause` seconds: print confirmation times."""
    with tempfile.TemporaryDirectory() as name:
        port = free_port()
        game = GameFolder.create(Path(name), standard_game(), Address(port=port)).folder
        with server(game, port):
            people = people_of(game, port, 0)
            for person in people:
                person.pause = pause
            play_all_at_once(people)
        count = sum(len(person.seconds) for person in people)
        print(
            f"{len(people)} people who think up to {pause:g} s, {count} confirmations: "
            f"median {percentile(people, 0.5):.0f} ms, p95 {percentile(people, 0.95):.0f} ms, "
            f"most {percentile(people, 1):.0f} ms"
        )


def main() -> None:
    """Run the chosen measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0)
    given = parser.parse_args()
    if given.kills:
        with tempfile.TemporaryDirectory() as name:
            print(killed_games(Path(name), small_game(), given.kills, 0))
        return
    for pause in (1.0, 0.0):
        together(pause)


if __name__ == "__main__":
    main()
