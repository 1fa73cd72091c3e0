"""Behind nginx, with https: the lines of docs/play.md, as they stand there."""

import http.client
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from benchmarks.web import free_port
from evaluation.web.foundation.connections import ConnectionLimits
from tests.evaluation.web.conftest import Player, until
from tests.evaluation.web.test_play_browser import ASKED, GOAL, ask_in, new_tab, until_in
from tools.browser import Browser, chromium

NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None or shutil.which("openssl") is None, reason="needs nginx (Debian: nginx-light)"),
]
PAGE = Path(__file__).parents[3] / "docs" / "play.md"
WHOLE = """daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
access_log {folder}/access.log;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
{lines}
}}
"""
TWO = "PLAYERA*human: + PLAYERB*human: + PLAYERC*hold"


class Behind(Player):
    """A person who comes through the proxy."""

    def __init__(self, server, port: int, seat: str) -> None:
        inner = server.player(seat)
        super().__init__(port, inner.game, seat, inner.token)
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trusting())

    def ask(self, path, body=None, seat=None, **headers):
        own = {"Host": f"localhost:{self.port}", "Origin": f"https://localhost:{self.port}"}
        return super().ask(path, body, seat, **own | headers)


def trusting() -> ssl.SSLContext:
    """Any certificate will do: it is our own."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.fixture
def behind(serving, tmp_path) -> Iterator[tuple]:
    """The server, and the port of nginx before it."""
    port = free_port()
    limits = ConnectionLimits(most_each=3)  # of one address: here that is the proxy's
    server = serving(TWO, begin="now", limits=limits, public_url=f"https://localhost:{port}")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(
        [shutil.which("openssl"), *made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    lines = re.search("```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    for old, new in (
        ("/etc/ssl/play.example.org.pem", str(certificate)),
        ("/etc/ssl/play.example.org.key", str(key)),
        ("play.example.org", "localhost"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:8000", f"127.0.0.1:{server.port}"),
    ):
        assert old in lines
        lines = lines.replace(old, new)
    file = tmp_path / "nginx.conf"
    file.write_text(WHOLE.format(folder=tmp_path, lines=lines))
    with subprocess.Popen([NGINX, "-c", str(file), "-e", str(tmp_path / "error.log")]) as nginx:
        until(lambda: (tmp_path / "nginx.pid").exists() and (tmp_path / "nginx.pid").read_text().strip())
        try:
            yield server, port
        finally:
            nginx.terminate()


def test_people_play_through_nginx(behind, tmp_path):
    server, port = behind
    first, second = (Behind(server, port, seat).enter() for seat in ("PLAYERA", "PLAYERB"))
    streams = [Events(first) for _ in range(5)]
    assert [stream.next() for stream in streams] == [server.table.position] * 5  # they are not held back
    step = first.until_asked()["step"]
    assert first.answer(step, messages={"PLAYERB": "through nginx"}) == (200, {"new": True})
    assert second.answer(step, messages={}) == (200, {"new": True})
    assert [stream.next() for stream in streams] == [server.table.position] * 5
    assert second.until_asked(step)["game"]["phases"][-1]["messages"][0][3] == "through nginx"
    assert first.ask("/answer", {"step": step}, Origin="https://evil.test")[0] == 403
    assert first.ask("/state", Host="evil.test")[0] == 421
    logs = (tmp_path / "access.log").read_text() + (tmp_path / "error.log").read_text()
    assert "/enter" in logs
    assert first.token not in logs


class Events:
    """The event stream of a person."""

    def __init__(self, person: Behind) -> None:
        self.connection = http.client.HTTPSConnection("127.0.0.1", person.port, timeout=20, context=trusting())
        cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
        self.connection.request(
            "GET", f"/g/{person.game}/events", headers={"Cookie": cookies, "Host": f"localhost:{person.port}"}
        )
        self.answer = self.connection.getresponse()

    def next(self) -> int:
        """The next position; raises after 20 seconds without one."""
        while True:
            line = self.answer.readline()
            if line.startswith(b"data: "):
                return json.loads(line[6:])


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)")
def test_eight_tabs_of_eight_games_have_eight_streams(behind):
    """HTTP/2 has no limit of six; without it the seventh game would wait for ever."""
    server, port = behind
    names = [server.game, *(server.host.create(server.table.settings) for _ in range(7))]
    with Browser() as browser:
        browser.call("Security.setIgnoreCertificateErrors", ignore=True)
        tabs = []
        for name in names:
            path = server.host.invite(name, ["PLAYERA"])["PLAYERA"]
            tabs.append(new_tab(browser, "about:blank"))
            trust_in(browser, tabs[-1])
            ask_in(browser, tabs[-1], f"location.href = 'https://localhost:{port}{path}'")
        for tab in tabs:
            until_in(browser, tab, f"document.getElementById('table')?.hidden === false && {ASKED}")
        for name, tab in zip(names, tabs, strict=True):
            table = server.host._open[name].table
            ask_in(browser, tab, "document.getElementById('submit').click()")
            until(lambda table=table: table.answer("PLAYERA") is not None)
            token = server.host.invite(name, ["PLAYERB"])["PLAYERB"].partition("#")[2]
            other = Player(server.port, name, "PLAYERB", token).enter()
            assert other.answer(table.step, messages={})[0] == 200
        for tab in tabs:
            until_in(browser, tab, f"{ASKED} && {GOAL}.startsWith('Choose a unit')")


def trust_in(browser, tab) -> None:
    session, browser._session = browser._session, tab
    browser.call("Security.setIgnoreCertificateErrors", ignore=True)
    browser._session = session
