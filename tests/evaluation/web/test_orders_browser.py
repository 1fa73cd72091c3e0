"""Every kind of order, by mouse, by keyboard alone and typed."""

import json

import pytest

pytest.importorskip("starlette")

from tests.evaluation.web.conftest import table_settings
from tests.evaluation.web.test_play_browser import ASKED, STEP, TOLD, Page, tab_to
from tools.browser import Browser, chromium
from welfare_env import Rules

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)"),
]
RULES = Rules(years=2, message_rounds=0, transfers=True, build_and_disband=True)
COURSE = {  # step -> the orders of France, and those of Germany, which dislodges Burgundy
    "S1901M": (["A PAR - BUR", "A MAR - SPA", "F BRE - MAO"], ["A MUN - RUH", "A BER - MUN"]),
    "F1901M": (["A BUR H", "A SPA - POR VIA", "F MAO C A SPA - POR"], ["A MUN - BUR", "A RUH S A MUN - BUR"]),
    "F1901R": (["A BUR R PAR"], []),
    "W1901A": (["F BRE B", "A POR D"], []),
    "S1902M": (["A PAR - PIC", "F BRE S A PAR - PIC", "F MAO S F BRE"], []),
    "F1902M": ([], []),
    "W1902A": (["WAIVE", "GIVE GERMANY"], []),
}
TYPED = {
    "A PAR - BUR": "army paris to burgundy",
    "F BRE S A PAR - PIC": "bre s par-pic",
    "A BUR R PAR": "a bur r par",
    "F BRE B": "build f bre",
    "WAIVE": "waive",
    "GIVE GERMANY": "give germany",
}
CHOOSE_ALL = """((all) => {
  const missed = [];
  for (const [unit, order, steps] of all) {
    const row = document.querySelector(`#units [data-unit="${CSS.escape(unit)}"]`);
    if (row.getAttribute('aria-expanded') === 'false') row.click();
    else { row.click(); document.querySelector(`#units [data-unit="${CSS.escape(unit)}"]`).click(); }
    for (const step of steps) {
      const found = [...document.querySelectorAll('#choices button[value]')].
        find((button) => button.value === step && !button.classList.contains('place'));
      if (found) found.click();
      else if (step !== 'B') missed.push([order, step]);  // what a center can only do is not asked
    }
    if (!document.getElementById('notice').textContent.startsWith(order + ':')) missed.push([order]);
    document.querySelector(`#units button[aria-label^="Take back"]`)?.click();
  }
  return missed;
})"""


def steps_of(order: str) -> list[str]:
    """What is chosen one after the other."""
    kind, place, how, *rest = order.split(" ")
    if how == "-":
        return ["VIA" if rest[-1] == "VIA" else "-", rest[0]]
    if how in "SC":
        return [how, rest[1], rest[3] if len(rest) > 2 else rest[1]]
    return [how, *rest] if how == "R" else ["B", f"{kind} {place}"] if how == "B" else [how]


def by_mouse(page: Page, order: str) -> None:
    if order == "WAIVE":
        return  # the button says so when there are no orders
    if order.startswith("GIVE"):
        page.click_on(f"#gifts button[value={order[5:]}]")
        return
    how, *places = steps_of(order)
    page.click_map(order.split(" ")[1])
    if how not in "-RB":
        page.click_on(f"#choices button[value='{how}']")
    elif how == "B":
        page.click_on(f"#choices button[value='{places[0]}']")
    for place in places if how != "B" else ():
        page.click_map(place)


def by_keyboard(page: Page, order: str) -> None:
    if order == "WAIVE":
        return
    if order.startswith("GIVE"):
        tab_to(
            page, f"document.activeElement.value === '{order[5:]}' && document.activeElement.closest('#gifts') !== null"
        )
        page.browser.press("Enter")
        return
    unit = order.split(" ")[1] if order.endswith(" B") else " ".join(order.split(" ")[:2])
    tab_to(page, f"document.activeElement.dataset.unit === '{unit}'")
    page.browser.press("Enter")
    for step in steps_of(order)[order.endswith(" B") :]:
        tab_to(page, f"document.activeElement.value === '{step}' && document.activeElement.className !== 'place'")
        page.browser.press("Enter")


def by_typing(page: Page, order: str) -> None:
    tab_to(page, "document.activeElement.id === 'typed'")
    page.browser.call("Input.insertText", text=TYPED.get(order, order.lower()))
    page.browser.press("Enter")
    page.until(f"({TOLD}).startsWith({json.dumps(order + ':')})")
    assert order != "WAIVE" or page.ask("document.querySelector('#units code').textContent") == "WAIVE"


@pytest.fixture
def page(serving):
    hosted = serving(table_settings("FRANCE*human: + GERMANY*human: + 5*hold", RULES), begun=True)
    with Browser() as browser:
        browser.look(1280, 900)
        opened = Page(browser, hosted.link("FRANCE"))
        opened.hosted, opened.other = hosted, hosted.player("GERMANY").enter()
        yield opened


def at(page: Page) -> str:
    return page.hosted.table.step.split()[0]


def go_on(page: Page, step: str, how: str) -> None:
    """Germany answers if it is asked, and France submits."""
    if page.hosted.table.is_asked("GERMANY"):
        given = {"step": page.hosted.table.step, "orders": COURSE[step][1]}
        assert page.other.answer(**given)[0] == 200
    page.submit(how)


@pytest.mark.parametrize("how", [by_mouse, by_keyboard, by_typing])
def test_every_kind_of_order(page, how):
    for step, (orders, _) in COURSE.items():
        page.until(f"({STEP}) && {ASKED}")
        assert at(page) == step
        for order in orders:
            how(page, order)
            if order != "WAIVE":
                assert page.ask(TOLD).startswith(f"{order}:"), order
        go_on(page, step, "mouse" if how is by_mouse else "keyboard")
    game = page.hosted.table.game
    given = {phase.phase: set(phase.orders.get("FRANCE", ())) for phase in game.history}
    assert {step: orders - {"WAIVE"} for step, orders in given.items()} == {
        step: set(orders) - {"WAIVE"} for step, (orders, _) in COURSE.items()
    }
    assert game.welfare["GERMANY"] > 0
    assert page.browser.complaints == []


def test_every_legal_order_can_be_chosen_and_points_are_given_as_often_as_there_are_points(page):
    for step, (orders, _) in COURSE.items():
        page.until(f"({STEP}) && {ASKED}")
        legal = page.hosted.table.view("FRANCE").legal_orders
        every = [(unit, order, steps_of(order)) for unit, found in legal.items() for order in found]
        assert page.ask(f"{CHOOSE_ALL}({json.dumps(every)})") == [], step
        if step == "W1902A":
            break
        for order in orders:
            by_typing(page, order)
        if step == "W1901A":  # one unit is built, and one disbands; a second build is refused, and not kept
            page.browser.call("Input.insertText", text="A MAR B")
            page.browser.press("Enter")
            page.until(f"!({TOLD}).startsWith('A POR D')")
            page.click_map("POR")
            said = page.ask("document.getElementById('sum').textContent")
            assert said.startswith("With your draft: 4 centers \N{MINUS SIGN} 3 units = +1 this Winter.")
        go_on(page, step, "keyboard")
    assert page.hosted.table.view("FRANCE").welfare["FRANCE"] == 1
    by_mouse(page, "GIVE ITALY")
    by_mouse(page, "GIVE GERMANY")
    assert page.ask(TOLD) == "You have given all your points."
    page.click_on("#units button[aria-label='Take back GIVE ITALY']")
    by_mouse(page, "GIVE GERMANY")
    go_on(page, "W1902A", "mouse")
    assert page.hosted.table.game.history[-1].orders["FRANCE"] == ("GIVE GERMANY",)
