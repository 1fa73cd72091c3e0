"""A person in a real browser: every kind of order by mouse and by keyboard, a game on a phone, and what goes wrong."""

import json

import pytest

pytest.importorskip("starlette")

from benchmarks.replay import findings
from tests.browsers import AXE, IN_A_BROWSER, NEEDS_AXE
from tests.evaluation.conftest import until
from tests.evaluation.web.conftest import table_settings
from tools.browser import Browser
from welfare_env import Rules

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]
GOAL = "document.getElementById('goal').textContent"
PHASE = "document.getElementById('phase').textContent"
TOLD = "document.getElementById('notice').textContent"
TROUBLE = "document.getElementById('trouble').textContent"
IS_THERE = "document.getElementById('table')?.hidden === false"
ASKED = "document.getElementById('submit')?.hidden === false && !document.getElementById('submit').disabled"
SEEN = """(({{top, bottom}}) => top >= 0 && bottom <= innerHeight)(
document.querySelector('{0}').getBoundingClientRect())"""
INSIDE = """(() => {{
const area = document.getElementById('p-{0}'), box = area.getBoundingClientRect();
for (let part = 2; part < 40; part += 1) for (let i = 1; i < part; i += 1) for (let j = 1; j < part; j += 1) {{
  const x = box.left + (box.width * i) / part, y = box.top + (box.height * j) / part;
  const first = document.elementsFromPoint(x, y).find((node) => node.id.startsWith('p-'));
  if (first === area && document.elementFromPoint(x, y).closest('#map > svg')) return [x, y];
}}
throw new Error('{0} cannot be clicked') }})()"""
CHOOSE_ALL = """((all) => {
  const missed = [];
  for (const [unit, order, steps] of all) {
    const row = () => document.querySelector(`#units [data-unit="${CSS.escape(unit)}"]`);
    if (row().getAttribute('aria-expanded') === 'true') row().click();
    row().click();
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


class Page:
    """The page of a seat, and what a person does with it."""

    def __init__(self, browser: Browser, link: str) -> None:
        self.browser, self.ask = browser, browser.ask
        browser.open(link)
        self.until(f"{IS_THERE} && {ASKED}")

    def until(self, script) -> None:
        try:
            until(lambda: self.ask(script))
        except AssertionError as error:
            raise AssertionError(script, self.ask(GOAL), self.ask(TOLD)) from error

    def mouse(self, x, y) -> None:
        """A click of a real mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector) -> None:
        found = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{found}.scrollIntoView({{block: 'center'}})")
        self.mouse(
            *self.ask(f"(({{x, y, width: w, height: h}}) => [x + w / 2, y + h / 2])({found}.getBoundingClientRect())")
        )

    def click_map(self, province) -> None:
        """Click a point of the map where the province, and nothing else of it, is."""
        self.mouse(*self.ask(INSIDE.format(province)))

    def press(self, wanted) -> None:
        """Tab until the element with the focus is the wanted one, as a person does, and press Enter."""
        for _ in range(200):
            if self.ask(f"((at) => {wanted})(document.activeElement)"):
                return self.browser.press("Enter")
            self.browser.press("Tab")
        raise AssertionError(wanted)

    def type(self, text) -> None:
        self.browser.call("Input.insertText", text=text)

    def submit(self, by_keyboard=False) -> None:
        before = f"{self.ask(PHASE)} {self.ask(GOAL)}"
        if by_keyboard:
            self.press("at.id === 'submit'")
        else:
            self.click_on("#submit")
        self.until(f"{PHASE} + ' ' + {GOAL} !== {json.dumps(before)} && ({ASKED} || {GOAL} === 'The game is over.')")


@pytest.fixture
def browser():
    with Browser() as opened:
        opened.look(1280, 900)
        yield opened


def settings(people="FRANCE*human:", others="6*hold", years=1, message_rounds=1, **own):
    return table_settings(f"{people} + {others}", Rules(years=years, message_rounds=message_rounds), **own)


TWO = settings("FRANCE*human: + ENGLAND*human:", "5*hold")
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
    "F BRE S A PAR - PIC": "bre s par-pic",
    "A POR D": "disband a por",
    "WAIVE": "waive",
    "GIVE GERMANY": "give germany",
}


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
        return page.click_on(f"#gifts button[value={order[5:]}]")
    how, *places = steps_of(order)
    page.click_map(order.split(" ")[1])
    if how not in "-R":
        page.click_on(f"#choices button[value='{places.pop() if how == 'B' else how}']")
    for place in places:
        page.click_map(place)


def by_keyboard(page: Page, order: str) -> None:
    """By choices alone, or typed."""
    if order in TYPED:
        return typed(page, TYPED[order])
    unit = order.split(" ")[1] if order.endswith(" B") else " ".join(order.split(" ")[:2])
    page.press(f"at.dataset.unit === '{unit}'")
    for step in steps_of(order)[order.endswith(" B") :]:
        page.press(f"at.value === '{step}' && at.className !== 'place'")
    assert page.ask("document.activeElement.dataset.unit") == unit


def typed(page: Page, text: str) -> None:
    before = page.ask(TOLD)
    page.press("at.id === 'typed'")
    page.type(text)
    page.browser.press("Enter")
    page.until(f"{TOLD} !== {json.dumps(before)}")


@pytest.mark.parametrize("how", [by_mouse, by_keyboard])
def test_every_kind_of_order(browser, serving, how):
    rules = Rules(years=2, message_rounds=0, transfers=True, build_and_disband=True)
    hosted = serving(table_settings("FRANCE*human: + GERMANY*human: + 5*hold", rules), begun=True)
    page, other = Page(browser, hosted.link("FRANCE")), hosted.player("GERMANY").enter()
    for phase, (orders, others) in COURSE.items():
        step, legal = hosted.table.step, hosted.table.view("FRANCE").legal_orders
        assert step == f"{phase} orders"
        if how is by_mouse:
            every = [(unit, order, steps_of(order)) for unit, found in legal.items() for order in found]
            assert page.ask(f"{CHOOSE_ALL}({json.dumps(every)})") == [], step
        for order in orders:
            how(page, order)
            assert page.ask(TOLD).startswith(f"{order}:") or order == "WAIVE", order
        if how is by_mouse and phase == "W1901A":  # one unit is built, and one disbands: a second build is refused
            typed(page, "A MAR B")
            page.click_map("POR")
            said = page.ask("document.getElementById('sum').textContent")
            assert said.startswith("With your draft: 4 centers \N{MINUS SIGN} 3 units = +1 this Winter.")
        if how is by_mouse and phase == "W1902A":  # France has one point, and has given it
            by_mouse(page, "GIVE ITALY")
            assert page.ask(TOLD) == "You have given all your points."
            page.click_on("#units button[aria-label='Take back GIVE GERMANY']")
            by_mouse(page, "GIVE GERMANY")
        if hosted.table.is_asked("GERMANY"):
            assert other.answer(step, orders=others)[0] == 200
        page.submit(how is by_keyboard)
    game = hosted.table.game
    given = {each.phase: {*each.orders.get("FRANCE", ())} - {"WAIVE"} for each in game.history}
    assert given == {phase: {*orders} - {"WAIVE"} for phase, (orders, _) in COURSE.items()}
    assert game.welfare["GERMANY"] > 0
    assert [each for each in browser.complaints if "status of 422" not in each] == []


def test_a_game_on_a_phone(browser, serving):
    hosted = serving(settings(years=2, message_rounds=2))
    browser.look(390, 844, mobile=True)
    page = Page(browser, hosted.link("FRANCE"))
    assert "#" not in page.ask("location.href")
    page.click_on("#text")
    page.type("Peace?")
    page.submit()
    page.submit()
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    page.ask("scrollTo(0, 0)")
    for selector in ("#map", "#submit"):  # without scrolling
        assert page.ask(SEEN.format(selector))
    for place, where in (("PAR", "BUR"), ("MAR", "SPA"), ("BRE", "MAO")):
        page.click_map(place)
        assert page.ask(SEEN.format("#choosing"))
        page.click_map(where)
        assert page.ask("scrollY") == 0
    page.submit()
    first = hosted.table.game.history[0]
    assert {order[-3:] for order in first.orders["FRANCE"]} == {"BUR", "SPA", "MAO"}
    assert [message.text for message in first.messages] == ["Peace?"]
    while page.ask(GOAL) != "The game is over.":
        page.submit()
    assert page.ask("document.querySelectorAll('#talk .message').length") == 1
    assert browser.complaints == []
    assert all(asked.startswith(f"http://127.0.0.1:{hosted.port}/") for asked in browser.requests)


@NEEDS_AXE
@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 900, True), (390, 844, False)])
def test_nothing_keeps_people_from_using_it(browser, serving, width, height, dark):
    browser.look(width, height, dark=dark)
    page = Page(browser, serving(settings()).link("FRANCE"))
    for _ in range(6):  # of Spring, Fall and Winter the messages, and the orders with a unit that is chosen; the end
        page.ask("document.querySelector('#ordering:not([hidden]) #units button')?.click()")
        assert findings(browser, AXE) == []
        if page.ask(GOAL) != "The game is over.":
            page.submit()
    assert page.ask(GOAL) == "The game is over."


def test_hostile_messages_are_shown_as_text(browser, serving):
    hostile = "<img src=x onerror='window.hacked = 1'>\u202e<script>window.hacked = 1</script>"
    hosted = serving(TWO, begun=True)
    hosted.player("ENGLAND").enter().answer("S1901M 1", messages={"FRANCE": hostile})
    page = Page(browser, hosted.link("FRANCE"))
    page.submit()
    assert page.ask("document.querySelector('#talk .message p').textContent") == hostile
    assert page.ask("[window.hacked, document.querySelectorAll('#talk img, #talk script').length]") == [None, 0]


def answer_elsewhere(hosted) -> None:
    """The person answers on another device."""
    step = hosted.table.step
    given = {"orders": []} if step.endswith("orders") else {"messages": {}}
    assert hosted.player("FRANCE").enter().answer(step, **given) == (200, {"new": True})
    until(lambda: hosted.table.step != step)


def test_a_draft_is_kept_and_belongs_to_its_step(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.ask("document.getElementById('text').focus()")
    page.type("half a thought")
    page = Page(browser, hosted.link("FRANCE").partition("#")[0])
    assert page.ask("document.getElementById('text').value") == "half a thought"
    answer_elsewhere(hosted)
    answer_elsewhere(hosted)
    page.until(f"{PHASE} === 'Fall 1901, movement' && {ASKED}")
    assert page.ask("document.getElementById('text').value") == ""


def test_a_page_recovers_by_itself_when_the_server_is_away(browser, serving):
    """The page says what was missed; what was sent meanwhile is told to be, and can be sent again."""
    first = serving(TWO, begun=True)
    own = {"game": first.host.seats.folder, "port": first.port}
    page, other = Page(browser, first.link("FRANCE")), first.player("ENGLAND").enter()
    page.click_on("#submit")
    page.until(f"{GOAL}.startsWith('Sent.')")
    first.stop()
    page.until(f"{TROUBLE}.startsWith('The connection is lost.')")
    second = serving(**own)
    assert other.answer("S1901M 1", messages={"FRANCE": "still there?"})[0] == 200
    page.until(f"{ASKED} && {GOAL}.startsWith('Choose a unit') && {TROUBLE} === ''")
    assert page.ask("document.querySelector('#talk .message p').textContent") == "still there?"
    second.stop()
    page.click_on("#submit")
    page.until(f"{TOLD}.includes('cannot be reached')")
    serving(**own)
    page.click_on("#submit")
    page.until(f"{GOAL}.startsWith('Sent.')")
    assert other.answer("S1901M orders", orders=[])[0] == 200
    page.until(f"{PHASE} === 'Fall 1901, movement'")


LOSES_FIRST_ENTER = """{ const real = fetch; let isLost = false; window.fetch = async (path, given) => {
  const answer = await real(path, given);
  if (isLost || !path.endsWith('/enter')) return answer;
  isLost = true;
  return new Response('', { status: 503 }); } }"""


def test_a_link_whose_answer_is_lost_locks_nobody_out(browser, serving):
    hosted = serving(settings())
    link = hosted.link("FRANCE")
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=LOSES_FIRST_ENTER)
    page = Page(browser, link)
    assert sum(asked.endswith("/enter") for asked in browser.requests) == 2
    assert "#" not in page.ask("location.href")
    with Browser() as other:
        other.open(link)
        until(lambda: "already used" in other.ask(TROUBLE))
        assert "#" not in other.ask("location.href")
        other.ask(f"location.href = '{hosted.link('FRANCE')}'")  # another link, in the same tab
        until(lambda: other.ask(IS_THERE))
        Page(other, link)  # it has the seat already
    browser.call("Network.clearBrowserCookies")  # as if the tab had been closed before the answer came
    Page(browser, link)


def test_a_person_goes_on_on_another_device(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.click_on("#device summary")
    page.click_on("#device-make")
    page.until("document.getElementById('device-link').value.includes('#')")
    with Browser() as phone:
        phone.look(390, 844, mobile=True)
        Page(phone, page.ask("document.getElementById('device-link').value")).submit()
        page.until(f"{ASKED} && {GOAL}.startsWith('Choose a unit')")


def test_the_time_that_is_left_is_the_servers(browser, serving):
    hosted = serving(settings(minutes=10))
    slow = "const now = Date.now; window.ahead = -3600000; Date.now = () => now() + window.ahead"
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=f"{{ {slow} }}")
    page = Page(browser, hosted.link("FRANCE"))

    def too_much() -> float:
        """Seconds more than the server gives."""
        minutes, seconds = page.ask("document.getElementById('clock').textContent").split()[0].split(":")
        return 60 * int(minutes) + int(seconds) - hosted.host.left

    assert abs(too_much()) < 10
    page.ask("window.fetch = () => new Promise(() => {}); 0")  # the page hears no more of the server

    def is_ahead() -> bool:
        page.ask("window.ahead += 30000")  # each time anew: an answer may still have been on its way
        return too_much() < -20

    until(is_ahead)


HALF_OPEN = """{ const real = fetch, own = AbortSignal.timeout.bind(AbortSignal); let count = 0;
AbortSignal.timeout = (wait) => own(wait / 15);
window.fetch = (path, given) => count++ ? real(path, given) : new Promise((_, fail) =>
  given.signal?.addEventListener('abort', () => fail(given.signal.reason))) }"""


def test_a_page_hears_of_changes_though_its_connection_was_half_open(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.ask(HALF_OPEN)  # the next question is never answered
    answer_elsewhere(hosted)
    page.until(f"{GOAL}.startsWith('Choose a unit')")


def test_a_page_that_was_put_aside_asks_at_once(browser, serving):
    hosted = serving(settings())
    page = Page(browser, hosted.link("FRANCE"))
    page.ask("for (let each = setInterval(() => {}, 1e6); each > 0; each -= 1) clearInterval(each)")
    for event in ("pageshow", "online", "visibilitychange"):
        before = page.ask(GOAL)
        answer_elsewhere(hosted)
        page.ask(f"dispatchEvent(new Event('{event}'))")
        page.until(f"{GOAL} !== {json.dumps(before)}")
