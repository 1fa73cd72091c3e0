"""The replay page in a real browser: controls, keys, links, messages, hostile texts, and that it asks for nothing."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import welfare_env
from benchmarks.replay import findings
from tests.browsers import AXE, IN_A_BROWSER, NEEDS_AXE
from tests.evaluation.conftest import until as wait_until
from tests.welfare_env.positions import full_press
from tests.welfare_env.test_replay import HOSTILE as hostile
from tools.browser import Browser, BrowserError
from welfare_env import Game, Rules
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.words import phase_title

pytestmark = IN_A_BROWSER
TITLE = "document.getElementById('phase')?.textContent"
COUNT = "document.getElementById('count')?.textContent"
FIRST, END = "Spring 1901, movement", "End of the game"
INTRUDERS = """document.body.insertAdjacentHTML('beforeend',
'<img src=x onerror="window.hacked = 1"><b onclick="window.hacked = 1">b</b>');
document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"""
SCREENS = [(1280, 800), (800, 600), (390, 844)]
HIDDEN = """['#slider', '#play', '#next', '#map', '.order', '#ranking li:last-child'].filter((one) => {
const box = document.querySelector(one).getBoundingClientRect();
return box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth })"""
HOSTILE = (*hostile[:4], "\u202eright to left", "x" * 100_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        opened.look(1280, 800)
        yield opened


@pytest.fixture(scope="module")
def game() -> Game:
    return full_press(years=2, message_rounds=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def page(game, folder) -> Path:
    said = game.history[0].messages[0]
    told = Annotations(
        players=dict.fromkeys(game.powers, "exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot"),
        promises=[MarkedPromise(said.phase, said.round, said.sender, said.recipient, said.text, False)],
        reasoning=[Reasoning("S1901M", 1, said.sender, "They believe me.")],
        events=[Event("F1902M", "stab", "Et tu")],
    )
    game.replay(folder / "game.html", told)
    return folder / "game.html"


def count(browser: Browser, selector: str) -> int:
    return int(browser.ask(f"document.querySelectorAll({json.dumps(selector)}).length"))


def until(browser: Browser, script: str, wanted: object) -> None:
    """Wait for a value, also of a page that is loaded again."""

    def is_so() -> bool:
        with suppress(BrowserError):
            return browser.ask(script) == wanted

    wait_until(is_so)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("map_name", "rules"),
    [("standard", {}), ("clique:4", {}), ("ancmed", {}), ("standard", {"variant": "standard"})],
)
def test_a_course_through_the_page_by_keys(browser, folder, map_name, rules):
    """Every phase has its title, its units and its owners; at either end the keys lead nowhere."""
    game = full_press(map_name, **{"years": 2, "message_rounds": 2} | rules)
    game.replay(folder / "whole.html")
    first = phase_title(game.history[0].phase)
    browser.look(1280, 800)
    browser.open(folder / "whole.html")
    for record in game.history:
        assert browser.ask(TITLE) == phase_title(record.phase)
        units = sum(map(len, record.units.values())) + sum(map(len, record.position.dislodged.values()))
        assert count(browser, ".map .unit") == units
        assert count(browser, ".map .center.owned") == sum(map(len, record.centers.values()))
        for tab in ("events", "messages", "orders"):
            browser.click(f"#tab-{tab}")
        browser.press("ArrowRight")
    for key, title in (("ArrowRight", END), ("Home", first), ("End", END), ("Home", first), ("ArrowLeft", first)):
        browser.press(key)
        assert browser.ask(TITLE) == title
    # The page's clock stands still: its steps are taken here.
    browser.ask("window.setInterval = (step, wait) => { window.nextStep = step; window.waits = wait; return 1; }, 0")
    browser.press("4")
    assert browser.ask("document.querySelector('#speeds [aria-pressed=true]').value") == "4"
    browser.press(" ")
    assert browser.ask("[document.getElementById('play').getAttribute('aria-label'), window.waits]") == ["Pause", 400]
    assert browser.ask("window.nextStep(), window.nextStep(), document.getElementById('slider').value") == "2"
    browser.press(" ")
    assert browser.ask("document.getElementById('play').getAttribute('aria-label')") == "Play"
    assert browser.complaints == browser.requests == []


@pytest.mark.slow
def test_each_phase_has_a_link_and_one_that_makes_no_sense_leads_to_the_first(browser, page, game):
    for link in ("S1777M", "%E0%A4%A", "__proto__"):
        browser.open(page, link)
        assert browser.ask(TITLE) == FIRST
        browser.ask(f"location.hash = '#F1901M{link}'")
        browser.press("ArrowRight")
        until(browser, "location.hash", f"#{game.history[1].phase}")
    browser.open(page, "W1901A")
    assert browser.ask(TITLE) == "Winter 1901, adjustments"
    browser.ask("location.hash = '#S1901M'")
    until(browser, TITLE, FIRST)
    assert browser.complaints == []


def test_without_scripts_the_last_position_is_shown_in_color(browser, page, game):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    fills = browser.ask("[...document.querySelectorAll('.map .units > g')].map((unit) => getComputedStyle(unit).fill)")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert len(fills) == sum(map(len, game.units.values()))
    assert "rgb(0, 0, 0)" not in fills


def test_private_reasoning_is_behind_a_switch(browser, page):
    browser.open(page)
    browser.click("#tab-messages")
    assert count(browser, ".thought") == 0
    assert "They believe me." not in browser.ask("document.body.innerText")
    browser.ask("document.querySelectorAll('.filters input')[1].click()")
    assert browser.ask("document.querySelector('.thought p').textContent") == "They believe me."


@pytest.mark.parametrize("size", SCREENS)
def test_controls_orders_and_ranking_are_in_sight_without_scrolling(browser, folder, size):
    game = Game(rules=Rules(years=1, press=None))
    game.advance()
    game.replay(folder / "seen.html")
    browser.look(*size, mobile=size[0] < 500)
    browser.open(folder / "seen.html")
    assert browser.ask(HIDDEN) == []
    browser.ask("scrollTo(0, document.documentElement.scrollHeight)")
    assert set(browser.ask(HIDDEN)) & {"#slider", "#play", "#next"} == set()


@pytest.mark.slow
def test_hostile_texts_are_shown_and_do_nothing(browser, folder):
    game = Game(rules=Rules(years=1, message_rounds=1))
    for text in HOSTILE[:-1]:
        game.send("FRANCE", "GERMANY", text)
    game.submit("FRANCE", [HOSTILE[0], "A PAR \x00\x0b - <b>"], strict=False)
    game.advance()
    everywhere = Annotations(
        title=HOSTILE[0],
        players={power: HOSTILE[place % len(HOSTILE)] for place, power in enumerate(game.powers)},
        reasoning=[Reasoning("S1901M", 1, "FRANCE", text) for text in HOSTILE],
        events=[Event("S1901M", text[:50], text) for text in HOSTILE],
        measures={text[:50]: text[:500] for text in HOSTILE},
    )
    game.replay(folder / "hostile.html", everywhere)
    browser.look(1280, 800)
    browser.open(folder / "hostile.html")
    browser.click("#tab-messages")
    browser.ask("document.querySelectorAll('.filters input')[0].click()")
    shown = browser.ask("[...document.querySelectorAll('.message p')].map((one) => one.textContent)")
    assert set(shown) == set(HOSTILE)
    assert browser.ask("document.getElementById('title').textContent") == HOSTILE[0]
    for tab in ("orders", "events"):
        browser.click(f"#tab-{tab}")
    found = browser.ask("[window.hacked, document.images.length, document.links.length, document.scripts.length]")
    assert found == [None, 0, 0, 2]
    assert browser.ask("document.documentElement.scrollWidth") <= 1280
    assert browser.complaints == browser.requests == []


def test_the_policy_stops_what_would_get_in(browser, page):
    browser.open(page)
    browser.ask(INTRUDERS)
    browser.click("b[onclick]")
    assert browser.ask("window.hacked") is None
    with pytest.raises(BrowserError, match="fetch"):
        browser.ask("fetch('https://example.org')")
    assert any("Content Security Policy" in told for told in browser.complaints)


@pytest.mark.slow
@NEEDS_AXE
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser, page, dark):
    for width, height in SCREENS:
        browser.look(width, height, dark=dark, mobile=width < 500)
        browser.open(page)
        for tab in ("orders", "messages", "events"):
            browser.click(f"#tab-{tab}")
            assert findings(browser, AXE) == []


@pytest.mark.slow
def test_a_live_page_follows_the_game_and_stays_at_its_end(browser, folder, monkeypatch):
    """Also for somebody who has stepped back, and forward again, on the way."""
    shown = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or True)
    env = welfare_env.make(years=1, press=None, render_mode="human")
    env.reset()
    env.render()
    browser.open(Path(shown[0].removeprefix("file://")))
    browser.press("ArrowLeft")
    browser.press("ArrowRight")
    for phase in range(2, 5):
        env.unwrapped.game.advance()
        env.render()
        until(browser, COUNT, f"{phase} of {phase}")
    assert browser.ask(TITLE) == END
    assert browser.complaints == []
