"""What every page stands on: the guard, event streams, the journal, and the keys of seats."""

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("starlette")

from starlette.responses import JSONResponse
from starlette.routing import Route

from evaluation.checks import EvaluationError
from evaluation.web import seats, serving
from evaluation.web.events import Events
from evaluation.web.guard import MAX_BODY_WITHOUT_TEXT, SECURITY_POLICY, host_name
from evaluation.web.journal import Journal, JournalError
from evaluation.web.serving import EVERYWHERE, Address, listening, make_server, make_site


class Site:
    """A small site that runs in a thread."""

    def __init__(self, max_text: int = 0) -> None:
        self.streams = Events(3, max_open=4, pulse=0.2)
        self.asked: list[bytes] = []
        routes = [
            Route("/hello", self.hello, methods=["GET", "POST"]),
            Route("/events", self.events),
        ]
        self.address = Address(public_url="http://play.test")
        self.server = make_server(make_site(routes, self.address, max_text=max_text))

    async def events(self, request):
        return self.streams.response(request)

    async def hello(self, request):
        self.asked.append(await request.body())
        return JSONResponse("hello")

    @contextmanager
    def running(self) -> Iterator[int]:
        with listening(self.address) as sock:
            thread = threading.Thread(target=self.server.run, kwargs={"sockets": [sock]})
            thread.start()
            try:
                yield sock.getsockname()[1]
            finally:
                self.server.should_exit = True
                thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    with made.running() as port:
        made.port = port
        yield made


def ask(site, method="GET", path="/hello", body=None, **headers) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
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
    for answer in (ask(site), ask(site, path="/none"), ask(site, Host="evil.test")):
        assert answer.getheader("content-security-policy") == SECURITY_POLICY
        assert answer.getheader("x-content-type-options") == "nosniff"
        assert answer.getheader("referrer-policy") == "no-referrer"
        assert answer.getheader("server") is None
    assert "unsafe" not in SECURITY_POLICY


FOREIGN = ["evil.test", "evil.test:80", "127.0.0.1.evil.test", "evil-play.test", "a.localhost"]


@pytest.mark.parametrize("host", [*FOREIGN, "", "localhost@evil.test", "[", "a]:1", "x@127.0.0.1", "localhost:x"])
def test_a_name_that_was_made_to_lead_here_is_refused(site, host):
    assert ask(site, Host=host).status == 421


def test_names_that_are_served(site):
    for host in ("127.0.0.1", "LOCALHOST:1234", "[::1]:80", "play.test"):
        assert ask(site, Host=host).status == 200
    assert host_name("[::1]:80") == "::1"


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
    names = serving.own_names()
    assert socket.gethostname().lower() in names
    assert "127.0.0.1" not in names


@pytest.mark.parametrize(
    "url", ["http://[", "https://a:b", "https://a?x", "https://a/x", "https://u@a", "https://:1", "a"]
)
def test_a_public_url_that_is_none_is_an_error(url):
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
        {"Origin": "http://127.0.0.1:x"},
        {"Origin": f"http://127.0.0.1:{site.port + 1}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        assert post(site, **headers).status == 403
    assert ask(site, "POST", "/hello", b"{}", Content_Type="application/json").status == 403
    assert post(site, Content_Type="text/plain").status == 415
    assert post(site, Content_Type="application/x-www-form-urlencoded").status == 415
    assert ask(site, "PUT").status == ask(site, "OPTIONS").status == 405
    assert len(site.asked) == before
    assert post(site).status == 200


def test_refusals_are_sentences_for_pages_and_for_people(site):
    refusals = {
        "name": ask(site, Host="evil.test"),
        "site": post(site, Origin="http://["),
        "long": post(site, b"x" * 70_000),
        "type": post(site, Content_Type="text/plain"),
        "method": ask(site, "PUT"),
    }
    for code, answer in refusals.items():
        assert json.loads(answer.text)["code"] == code
        assert answer.getheader("content-security-policy") == SECURITY_POLICY
        assert answer.getheader("connection") == "close"
    assert "'evil.test': allow it with --public-url" in json.loads(refusals["name"].text)["error"]
    assert ask(site, Host="evil.test", Accept="text/html").text.startswith("this server does not accept the name")


def test_texts_that_people_may_send_fit():
    made = Site(max_text=100_000)
    with made.running() as made.port:
        assert post(made, b"x" * (MAX_BODY_WITHOUT_TEXT + 100_000)).status == 200
        assert post(made, b"x" * (MAX_BODY_WITHOUT_TEXT + 100_001)).status == 413


def test_bodies_have_limits(site):
    before = len(site.asked)
    assert post(site, b"x" * 70_000).status == 413
    assert ask_raw(
        site, b"Transfer-Encoding: chunked\r\n\r\n" + b"ffff\r\n" + b"x" * 65535 + b"\r\n12c\r\n"
    ).startswith(b"HTTP/1.1 413")
    assert len(site.asked) == before


def test_a_body_that_does_not_arrive_is_refused():
    made = Site()
    made.server.config.app.patience = 0.1
    with made.running() as made.port:
        assert ask_raw(made, b"Content-Length: 1000\r\n\r\n").startswith(b"HTTP/1.1 408")


def ask_raw(site, rest: bytes) -> bytes:
    head = "POST /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as sock:
        sock.sendall(head.encode() + rest + b"x" * 300)
        return sock.recv(4096)


def test_beyond_so_many_connections_requests_are_refused(monkeypatch):
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 3)
    made = Site()
    with made.running() as made.port:
        held = [socket.create_connection(("127.0.0.1", made.port), timeout=10) for _ in range(3)]
        until(lambda: len(made.server.server_state.connections) == 3)
        assert ask(made).status == 503
        for sock in held:
            sock.close()
        until(lambda: not made.server.server_state.connections)
        assert ask(made).status == 200


def events(site, **headers) -> Iterator[str]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    connection.request("GET", "/events", headers={"Host": "127.0.0.1"} | headers)
    answer = connection.getresponse()
    try:
        while line := answer.readline():
            if text := line.decode().strip():
                yield text
    finally:
        answer.close()
        connection.close()


def test_streams_tell_what_was_missed_and_what_comes(site):
    site.streams.position = 3
    fresh = events(site)
    assert [next(fresh) for _ in range(3)] == ["retry: 1500", "id: 3", "data: 3"]
    back = events(site, **{"Last-Event-ID": "3"})
    assert [next(back) for _ in range(3)] == ["retry: 1500", "event: alive", "data: 3"]
    site.streams.position = 9  # as a restart finds it
    later = events(site, **{"Last-Event-ID": "3"})
    assert [next(later) for _ in range(3)] == ["retry: 1500", "id: 9", "data: 9"]
    ahead = events(site, **{"Last-Event-ID": "12"})  # what it saw was never on disk: a journal was put back
    assert [next(ahead) for _ in range(3)] == ["retry: 1500", "id: 9", "data: 9"]
    for stream in (fresh, back, later, ahead):
        stream.close()


def test_there_are_only_so_many_streams(site):
    until(lambda: site.streams.open == 0)
    held = [events(site) for _ in range(4)]
    assert [next(stream) for stream in held] == ["retry: 1500"] * 4
    assert ask(site, path="/events").status == 503
    for stream in held:
        stream.close()
    until(lambda: site.streams.open == 0)
    assert next(events(site)) == "retry: 1500"


def until(is_so) -> None:
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    assert is_so()


def test_a_journal_keeps_what_was_accepted(tmp_path):
    with Journal(tmp_path / "journal") as journal:
        journal.append({"n": 1, "text": "\u202ehé\n"})
        journal.append({"n": 2})
        with pytest.raises(JournalError, match="another process has this file open"):
            Journal(tmp_path / "journal")
    (tmp_path / "journal").open("ab").write(b'{"n": 3, "tex')  # killed while it wrote
    with Journal(tmp_path / "journal") as journal:
        assert journal.entries == [{"n": 1, "text": "\u202ehé\n"}, {"n": 2}]
        journal.append({"n": 3})
    assert [json.loads(line)["n"] for line in (tmp_path / "journal").read_text().splitlines()] == [1, 2, 3]
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0


def test_a_folder_is_synced_for_a_new_journal_alone(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("evaluation.web.journal._sync_folder", synced.append)
    for n in range(3):
        with Journal(tmp_path / "journal", waits=True) as journal:
            journal.append({"n": n})
    assert synced == [tmp_path]


def test_a_damaged_journal_says_where(tmp_path):
    (tmp_path / "journal").write_text('{"n":1}\nnonsense\n')
    with pytest.raises(JournalError, match="line 2: damaged"):
        Journal(tmp_path / "journal")
    (tmp_path / "journal").write_text("[]\n")
    with pytest.raises(JournalError, match="line 1: damaged"):
        Journal(tmp_path / "journal")
    with pytest.raises(JournalError, match="directory"):
        Journal(tmp_path)


def test_a_journal_that_cannot_be_opened_keeps_no_lock(tmp_path, monkeypatch):
    def fails(folder):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("evaluation.web.journal._sync_folder", fails)
    with pytest.raises(JournalError, match="Input/output error"):
        Journal(tmp_path / "journal")
    monkeypatch.undo()
    Journal(tmp_path / "journal").close()


def test_a_full_disk_confirms_nothing(tmp_path, monkeypatch):
    with Journal(tmp_path / "journal") as journal:
        journal.append({"n": 1})

        def full(file: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(JournalError, match="No space"):
            journal.append({"n": 2})
        monkeypatch.undo()
        journal.append({"n": 3})
        assert [entry["n"] for entry in journal.entries] == [1, 3]
    assert [json.loads(line)["n"] for line in (tmp_path / "journal").read_text().splitlines()] == [1, 3]


def test_tokens_and_cookies():
    token, other = seats.new_token(), seats.new_token()
    assert len(token) >= 32
    cookies = {seats.cookie_name("FRANCE"): seats.cookie_value(token)}
    assert seats.holds(cookies, "FRANCE", token)
    assert not seats.holds(cookies, "FRANCE", other)
    assert not seats.holds(cookies, "ENGLAND", token)
    for wrong in (token, "", seats.cookie_value(token) + "x", "\ud800"):
        assert not seats.holds({seats.cookie_name("FRANCE"): wrong}, "FRANCE", token)
