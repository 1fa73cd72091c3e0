"""Behind nginx, with https: the lines of docs/play.md, as they stand there."""

import http.client
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from benchmarks.web import free_port
from tests.evaluation.web.conftest import PATIENCE, Player, until

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

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=trusting())

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
    server = serving(TWO, begun=True, public_url=f"https://localhost:{port}")
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
    step = first.until_asked()["step"]
    assert first.answer(step, messages={"PLAYERB": "through nginx"}) == (200, {"new": True})
    assert second.answer(step, messages={}) == (200, {"new": True})
    assert second.until_asked(step)["game"]["phases"][-1]["messages"][0][3] == "through nginx"
    assert first.ask("/answer", {"step": step}, Origin="https://evil.test")[0] == 403
    assert first.ask("/state", Host="evil.test")[0] == 400
    logs = (tmp_path / "access.log").read_text() + (tmp_path / "error.log").read_text()
    assert "/enter" in logs
    assert first.token not in logs
