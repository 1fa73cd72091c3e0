"""Pages whose connection fails: links whose answer is lost, connections that are half open, servers that are away,
clocks that are wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("starlette")

from tests.evaluation.conftest import PATIENCE, until
from tests.evaluation.web.conftest import table_settings
from tests.evaluation.web.test_play_browser import ASKED, GOAL, Page, new_tab, settings, until_in
from tools.browser import Browser, chromium
from welfare_env import Rules

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)"),
]
TROUBLE = "document.getElementById('trouble').textContent"
PHASE = "document.getElementById('phase').textContent"
AN_HOUR_SLOW = "{ const now = Date.now; Date.now = () => now() - 3600000 }"


class Relay:
    """A network between browser and server, which can go wrong.

    Attributes:
        is_dead: what passes on connections that are open is thrown away, and nobody is told.
        drops: if this is in a request, the connection ends before the answer; then it is None again.
    """

    def __init__(self, port: int) -> None:
        self.port, self.drops, self._held = port, None, []
        self.sock = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._take, daemon=True).start()

    def die(self) -> None:
        """All connections that are open are half open from now on; new ones work."""
        for each in self._held:
            each["is_dead"] = True
        self._held.clear()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                browser, _ = self.sock.accept()
                there = socket.create_connection(("127.0.0.1", self.port))
                state = {"is_dead": False, "answered": threading.Event()}
                self._held.append(state)
                for ends in ((browser, there, state, True), (there, browser, state, False)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source, target, state, is_request) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if state["is_dead"]:
                    state["answered"].set()
                    continue
                if is_request and self.drops and self.drops in data:
                    self.drops, state["is_dead"] = None, True
                    target.sendall(data)
                    state["answered"].wait(PATIENCE)
                    source.close()
                    return
                target.sendall(data)
            if not state["is_dead"]:
                target.shutdown(socket.SHUT_WR)


@contextmanager
def relay(port: int) -> Iterator[tuple[Relay, str]]:
    made = Relay(port)
    try:
        yield made, f"http://127.0.0.1:{made.sock.getsockname()[1]}"
    finally:
        made.sock.close()


@pytest.fixture
def browser():
    with Browser() as opened:
        opened.look(1280, 900)
        yield opened


TWO = table_settings("FRANCE*human: + ENGLAND*human: + 5*hold", Rules(years=1, message_rounds=1))


def all_answer(hosted, seats=("FRANCE", "ENGLAND")) -> str:
    """The people answer from elsewhere. Returns the step that was left."""
    step = hosted.table.step
    for seat in seats:
        given = {"orders": []} if step.endswith("orders") else {"messages": {}}
        assert hosted.player(seat).enter().answer(step, **given) == (200, {"new": True})
    until(lambda: hosted.table.step != step)
    return step


def through(base: str, link: str) -> str:
    return base + "/" + link.split("/", 3)[3]


def test_a_link_whose_answer_is_lost_locks_nobody_out(browser, serving):
    hosted = serving(settings())
    with relay(hosted.port) as (network, base):
        network.drops = b"/enter"
        link = through(base, hosted.link("FRANCE"))
        page = Page(browser, link)
        assert network.drops is None
        assert "#" not in page.ask("location.href")
        with Browser() as other:
            other.open(link)
            until(lambda: "already used" in other.ask(TROUBLE))
            assert "#" not in other.ask("location.href")
        browser.call("Network.clearBrowserCookies")  # as if the tab had been closed before the answer came
        Page(browser, link)


def test_two_tabs_open_the_same_link_at_once(browser, serving):
    link = serving(settings()).link("FRANCE")
    for tab in [new_tab(browser, link) for _ in range(2)]:
        until_in(browser, tab, f"document.getElementById('table')?.hidden === false && {ASKED}")


def test_a_person_goes_on_on_another_device(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.click_on("#device summary")
    page.click_on("#device-make")
    page.until("document.getElementById('device-link').value.includes('#')")
    with Browser() as phone:
        phone.look(390, 844, mobile=True)
        there = Page(phone, page.ask("document.getElementById('device-link').value"))
        there.submit()
        page.until(f"{ASKED} && {GOAL}.startsWith('Choose a unit')")
        assert hosted.table.step == "S1901M orders"


def test_another_link_can_be_put_into_the_same_tab(browser, serving):
    hosted = serving(settings())
    used, fresh = hosted.player("FRANCE").enter(), hosted.link("FRANCE")
    browser.open(f"{fresh.partition('#')[0]}#{used.token}")
    until(lambda: "already used" in browser.ask(TROUBLE))
    browser.ask(f"location.href = '{fresh}'")
    until(lambda: browser.ask("document.getElementById('table')?.hidden") is False)


def test_the_time_that_is_left_is_the_servers(browser, serving):
    hosted = serving(settings(minutes=10))
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=AN_HOUR_SLOW)
    page = Page(browser, hosted.link("FRANCE"))

    def too_much() -> float:
        """Seconds more than the server gives."""
        minutes, seconds = page.ask("document.getElementById('clock').textContent").split()[0].split(":")
        return 60 * int(minutes) + int(seconds) - hosted.host.left

    assert abs(too_much()) < 10
    page.ask("window.fetch = () => new Promise(() => {}); 0")  # the page hears no more of the server

    def is_ahead() -> bool:
        # Each time anew: an answer may still have been on its way.
        page.ask("{ const now = Date.now; Date.now = () => now() + 30000 }")
        return too_much() < -20

    until(is_ahead)


def test_a_page_hears_of_changes_though_its_connection_was_half_open(browser, serving):
    hosted = serving(TWO, begun=True)
    with relay(hosted.port) as (network, base):
        page = Page(browser, through(base, hosted.link("FRANCE")))
        network.die()
        all_answer(hosted)
        page.until(f"{GOAL}.startsWith('Choose a unit')")
        all_answer(hosted)
        page.until(f"{PHASE} === 'Fall 1901, movement'")


def test_a_page_that_the_browser_had_put_aside_asks_at_once(browser, serving):
    hosted = serving(TWO, begun=True)
    with relay(hosted.port) as (network, base):
        page = Page(browser, through(base, hosted.link("FRANCE")))
        network.die()
        all_answer(hosted)
        page.ask("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        page.until(f"{GOAL}.startsWith('Choose a unit')")
    page = Page(browser, hosted.link("FRANCE"))
    page.ask("location.href = 'about:blank'")
    page.until("location.href === 'about:blank'")
    all_answer(hosted)
    page.ask("history.back()")
    page.until(f"document.getElementById('phase')?.textContent === 'Fall 1901, movement' && {ASKED}")
