"""What every page stands on: what the server refuses, its headers, the journal, and the keys of seats."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

pytest.importorskip("starlette")

from starlette.responses import JSONResponse
from starlette.routing import Route

from evaluation.checks import EvaluationError
from evaluation.web import serving
from evaluation.web.journal import Journal
from evaluation.web.serving import (
    EVERYWHERE,
    HEADERS,
    MAX_BODY,
    Address,
    json_object,
    make_server,
    make_site,
)
from tests.evaluation.conftest import PATIENCE, until
from tests.evaluation.web.conftest import running_site


class Site:
    """A small site that runs in a thread."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.address = Address(public_url="http://play.test")
        routes = [Route("/hello", self.hello), Route("/hello", self.told, methods=["POST"])]
        self.server = make_server(make_site(routes, self.address))

    async def hello(self, request):
        return JSONResponse("hello")

    async def told(self, request):
        self.asked.append(await json_object(request))
        return JSONResponse("hello")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    with running_site(made.server, made.address) as made.port:
        yield made


def ask(site, method="GET", path="/hello", body=None, **headers) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)
    given = {"Host": f"127.0.0.1:{site.port}"} | {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


def post(site, body=b"{}", **headers) -> http.client.HTTPResponse:
    own = {"Origin": f"http://127.0.0.1:{site.port}", "Content_Type": "application/json"}
    return ask(site, "POST", "/hello", body, **own | headers)


def test_every_answer_has_the_headers_of_safety(site):
    for answer in (ask(site), ask(site, path="/none"), ask(site, Host="evil.test"), post(site, Origin="http://[")):
        assert {name: answer.getheader(name) for name in HEADERS} == HEADERS
        assert answer.getheader("server") is None
        assert answer.getheader("access-control-allow-origin") is None
    assert "unsafe" not in HEADERS["content-security-policy"]


FOREIGN = ["evil.test", "evil.test:80", "127.0.0.1.evil.test", "evil-play.test", "a.localhost"]
SERVED = ["127.0.0.1", "LOCALHOST:1234", "[::1]:80", "play.test"]
NO_NAMES = ["", "localhost@evil.test", "[", "a]:1", "x@127.0.0.1", "localhost:x"]


def test_our_names_are_served_and_one_that_was_made_to_lead_here_is_refused(site):
    for status, hosts in ((200, SERVED), (400, FOREIGN + NO_NAMES)):
        assert {host: ask(site, Host=host).status for host in hosts} == dict.fromkeys(hosts, status)


@pytest.mark.parametrize("host", EVERYWHERE)
def test_who_listens_everywhere_is_asked_by_its_own_names_alone(host, monkeypatch):
    monkeypatch.setattr(serving, "own_names", lambda: ["192.0.2.7", "fd00::2", "desk"])
    address = Address(host)
    assert {"192.0.2.7", "desk", "localhost"} <= set(address.hosts)
    assert not set(EVERYWHERE) & set(address.hosts)
    assert Address(host, 80).url == "http://192.0.2.7:80"
    assert Address(host, 80, "http://play.test:80/").url == "http://play.test:80"
    assert Address("fd00::2", 80).url == "http://[fd00::2]:80"
    monkeypatch.undo()
    assert socket.gethostname().lower() in serving.own_names()


def test_a_public_url_that_is_none_is_an_error():
    for url in ["http://[", "https://a:b", "https://a?x", "https://a/x", "https://u@a", "https://:1", "a"]:
        with pytest.raises(EvaluationError, match="give a URL such as https://play"):
            Address(public_url=url)
        assert Address(public_url="HTTPS://a.test/").is_secure


def test_posts_of_other_sites_are_refused(site):
    before = len(site.asked)
    for headers in (
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Origin": f"http://127.0.0.1:{site.port + 1}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        answer = post(site, **headers)
        assert (answer.status, json.loads(answer.text)["code"]) == (403, "site")
    assert ask(site, "POST", "/hello", b"{}", Content_Type="application/json").status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert post(site, Content_Type=kind).status == 415
    assert ask(site, "PUT").status == ask(site, "OPTIONS").status == 405
    assert len(site.asked) == before
    assert post(site).status == 200


def test_bodies_have_limits(site):
    before = len(site.asked)
    assert post(site, b" " * (MAX_BODY - 2) + b"{}").status == 200
    assert post(site, b" " * (MAX_BODY + 1)).status == 413
    for body in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 60_000):
        assert post(site, body).status == 400
    assert len(site.asked) == before + 1


def test_a_body_that_does_not_arrive_is_refused(site, monkeypatch):
    monkeypatch.setattr(serving, "PATIENCE", 0.1)
    head = "POST /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE) as sock:
        sock.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n" + b"x" * 300)
        assert sock.recv(4096).startswith(b"HTTP/1.1 408")


def test_beyond_so_many_connections_requests_are_refused(monkeypatch):
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 3)
    made = Site()
    with running_site(made.server, made.address) as made.port:
        held = [socket.create_connection(("127.0.0.1", made.port), timeout=PATIENCE) for _ in range(3)]
        until(lambda: len(made.server.server_state.connections) == 3)
        assert ask(made).status == 503
        for sock in held:
            sock.close()
        until(lambda: not made.server.server_state.connections)
        assert ask(made).status == 200


def test_a_journal_keeps_what_was_accepted(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal.append({"n": 1, "text": "\u202ehé\n"})
    with suppress(RuntimeError), journal.open() as entries:
        entries.append({"n": 2})
        raise RuntimeError  # killed before the block ended
    with journal.open() as entries:
        entries += [{"n": 3}, {"n": 4}]
    assert Journal(tmp_path / "journal").entries() == [{"n": 1, "text": "\u202ehé\n"}, {"n": 3}, {"n": 4}]
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
