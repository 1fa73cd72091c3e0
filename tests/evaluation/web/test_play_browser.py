"""A person in a real browser: whole games by mouse, by keyboard and on a phone; seven tabs; nothing for axe to find."""

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from benchmarks.web import free_port, people_of, server
from evaluation.web.seats import GameFolder
from evaluation.web.serving import Address
from evaluation.web.settings import TableSettings
from tests.evaluation.conftest import until
from tests.evaluation.web.conftest import played_again, table_settings
from tools.browser import Browser, chromium
from welfare_env import Game, Rules

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)"),
]
AXE = os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js")  # npm install axe-core
GOAL = "document.getElementById('goal').textContent"
ASKED = "document.getElementById('submit')?.hidden === false && !document.getElementById('submit').disabled"
STEP = "document.getElementById('phase').textContent + ' ' + document.getElementById('goal').textContent"
TOLD = "document.getElementById('notice').textContent"
BOX = """(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(
document.querySelector({0}).getBoundingClientRect())"""
SEEN = """(({{top, bottom}}) => top >= 0 && bottom <= innerHeight)(
document.querySelector('{0}').getBoundingClientRect())"""
FAULTS = """axe.run().then((found) =>
found.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 120))]))"""
TO = """document.getElementById('to').value = '{0}';
document.getElementById('to').dispatchEvent(new Event('change'))"""
OPENING = {"A PAR": "BUR", "A MAR": "SPA", "F BRE": "MAO"}


def settings(**own) -> TableSettings:
    return table_settings("FRANCE*human: + 6*hold", own.pop("rules", Rules(years=3, message_rounds=1)), **own)


class Page:
    """The page of a seat, and what a person does with it."""

    def __init__(self, browser: Browser, link: str) -> None:
        self.browser = browser
        browser.open(link)
        self.until(f"document.getElementById('table')?.hidden === false && {ASKED}")

    def ask(self, script):
        return self.browser.ask(script)

    def until(self, script) -> None:
        try:
            until(lambda: self.ask(script))
        except AssertionError as error:
            raise AssertionError(script, self.ask(STEP), self.ask(TOLD)) from error

    def mouse(self, x, y) -> None:
        """A click of a real mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector) -> None:
        self.ask(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.ask(BOX.format(json.dumps(selector)))
        self.mouse(*box)

    def click_map(self, province) -> None:
        """Click a point of the map where the province, and nothing else of it, is."""
        self.ask("document.getElementById('map').scrollIntoView({block: 'center'})")
        self.mouse(*self.ask(INSIDE.format(province)))

    def submit(self, how="mouse") -> None:
        before = self.ask(STEP)
        if how == "mouse":
            self.click_on("#submit")
        else:
            self.ask("document.getElementById('submit').focus()")
            self.browser.press("Enter")
        self.until(f"({STEP}) !== {json.dumps(before)} && ({ASKED} || {GOAL} === 'The game is over.')")


INSIDE = """(() => {{
const area = document.getElementById('p-{0}'), box = area.getBoundingClientRect();
for (let part = 2; part < 40; part += 1) for (let i = 1; i < part; i += 1) for (let j = 1; j < part; j += 1) {{
  const x = box.left + (box.width * i) / part, y = box.top + (box.height * j) / part;
  const first = document.elementsFromPoint(x, y).find((node) => node.id.startsWith('p-'));
  if (first === area && document.elementFromPoint(x, y).closest('#map > svg')) return [x, y];
}}
throw new Error('{0} cannot be clicked') }})()"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


def check_saved(hosted) -> None:
    """The saved game is the one that `Game` plays with the same orders."""
    saved = hosted.host.seats.folder / "game.json"
    until(saved.exists)
    game = Game.load(saved)
    assert played_again(game).record()["phases"] == game.record()["phases"]


def is_over(page) -> bool:
    return page.ask(GOAL) == "The game is over."


def test_a_game_by_mouse(browser, serving):
    hosted = serving(settings())
    browser.look(1280, 900)
    page = Page(browser, hosted.link("FRANCE"))
    assert "#" not in page.ask("location.href")
    page.ask(TO.format("ENGLAND"))
    page.click_on("#text")
    browser.call("Input.insertText", text="Peace in the Channel?")
    page.submit()
    for unit, where in OPENING.items():
        page.click_map(unit[2:])
        page.click_map(where)
        assert where in page.ask(TOLD)
    page.click_map("PAR")  # change of mind: Paris supports Marseilles to Burgundy
    page.click_on("#choices button[value='S']")
    page.click_map("MAR")
    page.click_map("BUR")
    assert page.ask(TOLD).startswith("A PAR S A MAR - BUR")
    page.click_map("MAR")
    page.click_map("BUR")
    page.submit()
    first = hosted.table.game.history[0]
    assert set(first.orders["FRANCE"]) == {"A PAR S A MAR - BUR", "A MAR - BUR", "F BRE - MAO"}
    assert [message.text for message in first.messages] == ["Peace in the Channel?"]
    while not is_over(page):
        page.submit()
    check_saved(hosted)
    assert browser.complaints == []
    assert all(asked.startswith(f"http://127.0.0.1:{hosted.port}/") for asked in browser.requests)


def test_orders_by_keyboard_alone(browser, serving):
    hosted = serving(settings())
    browser.look(1280, 900)
    page = Page(browser, hosted.link("FRANCE"))
    page.submit("keyboard")
    tab_to(page, "document.activeElement.dataset.unit === 'A PAR'")
    browser.press("Enter")
    tab_to(page, "document.activeElement.value === 'BUR'")
    browser.press("Enter")
    assert page.ask(TOLD).startswith("A PAR - BUR")
    assert page.ask("document.activeElement.dataset.unit") == "A PAR"
    tab_to(page, "document.activeElement.id === 'typed'")
    for text, wrong in (
        ("army marseilles to spain", ""),
        ("F BRE - POR", "not legal"),
        ("F KIE - HOL", "belongs to GERMANY"),
        ("bre-mao", ""),
        ("nonsense", ""),
    ):
        page.ask("document.getElementById('typed').select()")
        browser.call("Input.insertText", text=text)
        before = page.ask(TOLD)
        browser.press("Enter")
        page.until(f"({TOLD}) !== {json.dumps(before)}")
        assert wrong in page.ask(TOLD)
    page.submit("keyboard")
    assert set(hosted.table.game.history[0].orders["FRANCE"]) == {"A PAR - BUR", "A MAR - SPA", "F BRE - MAO"}


def tab_to(page, script) -> None:
    """Tab until the focus is there, as a person does."""
    for _ in range(200):
        if page.ask(script):
            return
        page.browser.press("Tab")
    raise AssertionError(script)


def test_a_game_on_a_phone(browser, serving):
    hosted = serving(settings())
    browser.look(390, 844, mobile=True)
    page = Page(browser, hosted.link("FRANCE"))
    page.submit()
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    page.ask("scrollTo(0, 0)")
    for selector in ("#map", "#submit"):  # without scrolling
        assert page.ask(SEEN.format(selector))
    for unit, where in OPENING.items():
        page.mouse(*page.ask(INSIDE.format(unit[2:])))
        assert page.ask(SEEN.format("#choosing"))
        page.mouse(*page.ask(INSIDE.format(where)))
        assert page.ask("scrollY") == 0
    page.submit()
    assert {order[-3:] for order in hosted.table.game.history[0].orders["FRANCE"]} == set(OPENING.values())
    while not is_over(page):
        page.submit()
    check_saved(hosted)
    browser.look(1280, 900)


@pytest.mark.skipif(not Path(AXE).is_file(), reason="needs axe-core (npm install axe-core; AXE_CORE=PATH)")
@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 900, False), (1280, 900, True), (390, 844, False)])
def test_nothing_keeps_people_from_using_it(browser, serving, width, height, dark):
    hosted = serving(settings(rules=Rules(years=1, message_rounds=1)))
    browser.look(width, height, dark=dark)
    page = Page(browser, hosted.link("FRANCE"))
    faults = []
    for number in range(9):
        if page.ask("document.getElementById('ordering').hidden") is False:
            page.ask("document.querySelector('#units button').click()")
        browser.call("Runtime.evaluate", expression=Path(AXE).read_text(encoding="utf-8"))
        found = page.ask(FAULTS)
        faults += [(number, *each) for each in found]
        if is_over(page):
            break
        page.submit()
    browser.look(1280, 900)
    assert faults == []
    assert is_over(page)


def test_hostile_messages_are_shown_as_text(browser, serving):
    browser.look(1280, 900)
    hostile = "<img src=x onerror='window.hacked = 1'>\u202e<script>window.hacked = 1</script>"
    two = table_settings("FRANCE*human: + ENGLAND*human: + 5*hold", Rules(years=1, message_rounds=2))
    hosted = serving(two, begun=True)
    other = hosted.player("ENGLAND").enter()
    other.answer(other.until_asked()["step"], messages={"FRANCE": hostile})
    page = Page(browser, hosted.link("FRANCE"))
    page.submit()
    page.until("document.querySelector('#talk .message p') !== null")
    assert page.ask("document.querySelector('#talk .message p').textContent") == hostile
    assert page.ask("[window.hacked, document.querySelectorAll('#talk img, #talk script').length]") == [None, 0]


def test_a_draft_is_kept_and_belongs_to_its_step(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.ask("document.getElementById('text').focus()")
    browser.call("Input.insertText", text="half a thought")
    page = Page(browser, hosted.link("FRANCE").partition("#")[0])
    assert page.ask("document.getElementById('text').value") == "half a thought"
    device = hosted.player("FRANCE").enter()
    device.answer("S1901M 1", messages={})
    device.answer(device.until_asked("S1901M 1")["step"], orders=[])
    page.until(f"document.getElementById('phase').textContent === 'Fall 1901, movement' && {ASKED}")
    assert page.ask("document.getElementById('text').value") == ""


def test_a_page_recovers_by_itself_when_the_server_is_killed(browser, tmp_path):
    """Nothing is done in the page: its stream comes back, and says what was missed."""
    browser.look(1280, 900)
    port = free_port()
    given = table_settings("FRANCE*human: + ENGLAND*human: + 5*hold", Rules(years=1, message_rounds=1))
    game = GameFolder.create(tmp_path, given, Address(port=port)).folder
    mine, other = sorted(people_of(game, port, 0), key=lambda person: person.seat != "FRANCE")
    link = f"http://127.0.0.1:{port}/g/{mine.game}/FRANCE#{mine.token}"
    with server(game, port) as process:
        assert other.ask_until_answered("/enter", other.link)[0] == 200
        page = Page(browser, link)
        page.click_on("#submit")
        page.until(f"{GOAL}.startsWith('Sent.')")
        process.kill()
        process.wait()
    with server(game, port) as process:
        answer(other, "S1901M 1", messages={"FRANCE": "still there?"})
        page.until(f"{ASKED} && {GOAL}.startsWith('Choose a unit')")
        assert page.ask("document.querySelector('#talk .message p').textContent") == "still there?"
        process.kill()
        process.wait()
        page.click_on("#submit")
        page.until(f"({TOLD}).includes('cannot be reached')")
    with server(game, port):
        page.click_on("#submit")
        page.until(f"{GOAL}.startsWith('Sent.')")
        answer(other, "S1901M orders", orders=[])
        page.until("document.getElementById('phase').textContent === 'Fall 1901, movement'")


def answer(person, step, **given) -> None:
    assert person.ask_until_answered("/enter", person.link)[0] == 200
    assert person.ask_until_answered("/answer", {"step": step, "number": "1", **given}) == (200, {"new": True})


def test_seven_tabs_of_one_browser(serving):
    """Browsers open six connections to a server, and share them among its tabs."""
    hosted = serving(table_settings("7*human:", Rules(years=1, message_rounds=1)))
    with Browser() as browser:
        tabs = []
        for seat in hosted.table.people:
            tabs.append((seat, new_tab(browser, hosted.link(seat))))
        for step in ("S1901M orders", "F1901M 1", "F1901M orders"):
            for _, tab in tabs:
                until_in(browser, tab, f"document.getElementById('table')?.hidden === false && {ASKED}")
                ask_in(browser, tab, "document.getElementById('submit').click()")
            for _, tab in tabs:
                until_in(browser, tab, f"{ASKED} || {GOAL}.startsWith('There is nothing')")
            assert hosted.table.step == step


def new_tab(browser, link) -> str:
    session, browser._session = browser._session, ""
    target = browser.call("Target.createTarget", url=link)["targetId"]
    tab = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser._session = session
    return tab


def ask_in(browser, tab, script):
    session, browser._session = browser._session, tab
    try:
        browser.call("Page.bringToFront")  # a page that nobody sees asks the server nothing
        return browser.ask(script)
    finally:
        browser._session = session


def until_in(browser, tab, script) -> None:
    until(lambda: ask_in(browser, tab, script))
