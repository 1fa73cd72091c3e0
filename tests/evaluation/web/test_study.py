"""Studies: how files are read, who gets what, and whole studies with scripts for people."""

import csv
import http.client
import json
import os
import re
import shutil
import threading
from collections import Counter
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")

from evaluation.measures.metrics import measure
from evaluation.measures.rows import game_rows
from evaluation.play.store import GameStore
from evaluation.web.foundation.guard import FORM, JSON, MAX_BODY_WITHOUT_TEXT
from evaluation.web.foundation.journal import JournalError
from evaluation.web.foundation.keys import new_token
from evaluation.web.foundation.serving import Address, make_server, make_site
from evaluation.web.games.hosting import Host, Hosted
from evaluation.web.games.play_routes import PlayRoutes
from evaluation.web.games.settings import MOST_BYTES
from evaluation.web.games.table import Table
from evaluation.web.study_kit.assignment import slots
from evaluation.web.study_kit.command import _run, _stopping
from evaluation.web.study_kit.export import _decisions, export
from evaluation.web.study_kit.parser import StudyError, read_study
from evaluation.web.study_kit.participants import GAMES, StudyFolder, participant_id
from evaluation.web.study_kit.study import LONGEST_ANSWER, Payment
from evaluation.web.study_kit.study_routes import StudyRoutes
from tests.evaluation.web.conftest import running_site, until
from tools.browser import Browser, chromium
from welfare_env.errors import RecordError

AXE = os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js")  # npm install axe-core
SHOTS = os.environ.get("SCREENSHOTS", "")
SECRET = "I was a <b>pirate</b>, said Ada"
TEXT = """
title = "Peace <i>with</i> doves"
seed = 3
games = 2
map = "clique:3"
consent = "You may <b>stop</b> at any time."
instructions = "A point for each center more than you have units."
tries = 2

[rules]
years = 1
message_rounds = 1

[[conditions]]
name = "doves"
others = "dove"

[[conditions]]
name = "silent"
others = "random"
rules = { message_rounds = 0 }

[[before]]
name = "age"
question = "How old are you?"
kind = "number"

[[check]]
name = "points"
question = "What gives points?"
options = ["Centers without units", "Units"]
right = "Centers without units"

[practice]
others = "hold"

[[after]]
name = "trust"
question = "Did you trust them?"
kind = "scale"
options = ["not at all", "fully"]

[[after]]
name = "why"
question = "Why?"
kind = "text"

[payment]
currency = "EUR"
base = 1
per_point = 0.5
least = 1
most = 5
"""


def study(text: str = TEXT):
    return read_study(text, "study.toml")


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (changed("title =", "titles ="), 2, "did you mean 'title'"),
        (changed('others = "dove"', 'others = "dov"'), 16, "dove"),
        (changed('name = "silent"', 'name = "doves"'), 19, "already used by another condition"),
        (changed("rules = { message_rounds = 0 }", "rules = { rounds = 0 }"), 21, "unknown rule 'rounds'"),
        (changed("years = 1", "yeers = 1"), 10, "did you mean 'years'"),
        (changed('right = "Centers without units"', 'right = "Centers"'), 32, "not one of the options"),
        (changed("most = 5", "most = 0"), 53, "less than least"),
        (changed("per_point = 0.5", 'per_point = "a"'), 51, "give a number"),
        (changed("games = 2", "games = 0"), 4, "whole number from 1"),
        (changed("years = 1", 'years = 1\nvariant = "standard"'), 10, "welfare points"),
    ],
)
def test_errors_of_a_file_name_their_line(text: str, line: int, words: str) -> None:
    with pytest.raises(StudyError, match=re.escape(words)) as raised:
        study(text)
    assert f"line {line}: " in str(raised.value)


def test_the_longest_answers_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q{number}" for number in range(50)]
    asked = "".join(f'[[after]]\nname = "{name}"\nquestion = "?"\nkind = "text"\n' for name in names)
    answers = urlencode(dict.fromkeys(names, "\U0001f600" * LONGEST_ANSWER))
    made: list[Any] = []
    monkeypatch.setattr("evaluation.web.foundation.serving.run_site", lambda site, *given: made.append(site))
    monkeypatch.setattr("welfare_env.engine.precompile.ensure_compiled", lambda kernels: None)
    with closing(StudyFolder(tmp_path / "study", study(TEXT + asked))) as opened:
        _run(opened, Address(), None)
    assert len(answers) <= made[0].most_body <= len(answers) + MAX_BODY_WITHOUT_TEXT + 10 * LONGEST_ANSWER * MOST_BYTES


def test_all_errors_are_listed_at_once() -> None:
    with pytest.raises(StudyError) as raised:
        study('titles = "x"')
    assert str(raised.value).count("line 1: ") == 5


def test_assignment_is_balanced_at_any_time_and_seeded() -> None:
    plan = study(changed("games = 2", "games = 60"))
    found = slots(plan)
    assert found == slots(plan)
    assert found != slots(study(changed("games = 2", "games = 60").replace("seed = 3", "seed = 4")))
    for count in range(1, len(found) + 1):
        conditions = Counter(slot.condition for slot in found[:count])
        assert max(conditions[0], conditions[1]) - min(conditions[0], conditions[1]) <= 1
    seats = Counter((slot.condition, slot.seat) for slot in found)
    assert set(seats.values()) == {20}
    assert len({slot.seed for slot in found}) == len(found)


@pytest.mark.parametrize(("points", "amount"), [(0, "1.00"), (1, "1.50"), (2.25, "2.13"), (100, "5.00")])
def test_payment_is_linear_within_limits(points: float, amount: str) -> None:
    payment = Payment("EUR", Decimal(1), Decimal("0.5"), Decimal(1), Decimal(5))
    assert str(payment.amount(points)) == amount


@contextmanager
def served(folder: Path, plan):
    """A running study: its folder and port."""
    with closing(StudyFolder(folder, plan)) as opened:
        host = Host(folder / GAMES, opened.store)
        routes = [*StudyRoutes(opened, host, opened.name).routes, *PlayRoutes(host).routes]
        address = Address()
        site = make_site(routes, address, lambda app: _stopping(host), (JSON, FORM))
        with running_site(make_server(site, address), address) as port:
            yield opened, port


class Person:
    """A participant who is a script."""

    def __init__(self, port: int, name: str) -> None:
        self.port, self.place, self.visit = port, f"/study/{name}", new_token()
        self.cookies: dict[str, str] = {}

    def ask(self, path: str, body: Any = None, kind: str = FORM, **headers: str) -> tuple[int, str, str]:
        """Status, text, and where it leads."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            own |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": kind}
            body = urlencode(body) if kind == FORM else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, body, own | headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if cookie := answer.getheader("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        connection.close()
        return answer.status, text, answer.getheader("location") or ""

    def send(self, step: str, **given: str) -> tuple[int, str, str]:
        given = {"visit": self.visit, **given} if step == "consent" else given
        return self.ask(self.place, {"step": step, **given})

    def page(self) -> str:
        status, text, _ = self.ask(self.place)
        assert status == 200
        return text

    def play(self, step: str, **given: str) -> None:
        """A whole game: a message to all, and no orders."""
        status, _, seat = self.send(step, **given)
        assert status == 303
        for number in range(500):
            state = json.loads(self.ask(f"{seat}/state")[1])
            if state["step"] == "end":
                assert state["onward"] == self.place
                return
            view = state.get("view", {})
            if view.get("is_asked") and not state["answer"]:
                says = view["asked"] == "messages"
                own = {"messages": {"GLOBAL": SECRET}} if says else {"orders": []}
                self.ask(f"{seat}/answer", {"step": state["step"], "number": str(number), **own}, JSON)
        raise AssertionError("the game does not end")

    def take_part(self, nickname: str) -> str:
        """The whole study. Returns the last page."""
        assert self.send("consent", nickname=nickname, agreed="yes")[0] == 303
        assert self.send("before", age="33")[0] == 303
        assert self.send("instructions", points="Centers without units")[0] == 303
        self.play("practice", go="play")
        assert self.send("practice", go="on")[0] == 303
        self.play("play")
        assert "Did you trust them?" in self.page()
        assert self.send("after", trust="6", why=SECRET)[0] == 303
        return self.page()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_participant_goes_through_a_study(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        assert "You may &lt;b&gt;stop&lt;/b&gt; at any time." in person.page()
        assert person.send("consent", nickname="Ada")[0] == 422
        assert not opened.people, "nobody has agreed"
        last = person.take_part("Ada <x>")
        (known,) = opened.people.values()
        assert "Thank you, Ada &lt;x&gt;" in last
        assert known.last("done")["code"] in last
        assert f"get {opened.amount(known)}" in last
        assert person.send("play")[2] == person.place, "a step that is over is not taken again"
        with GameStore(opened.store) as store:
            assert store.count() == 1, "practice does not count"


def test_a_consent_whose_answer_is_lost_makes_one_participant(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        person.visit = person.page().partition('name="visit" value="')[2].partition('"')[0]
        for _ in range(2):
            person.cookies = {}
            assert person.send("consent", nickname="Ada", agreed="yes")[0] == 303
        assert [each.id for each in opened.people.values()] == [participant_id(person.visit)]
        assert "How old are you?" in person.page()
        assert Person(port, opened.name).send("consent", nickname="Eve", agreed="yes", visit="x")[0] == 422
        assert len(opened.people) == 1


def test_no_game_begins_when_the_budget_is_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        person.send("consent", nickname="Ada", agreed="yes")
        person.send("before", age="33")
        person.send("instructions", points="Centers without units")
        monkeypatch.setattr(StudyRoutes, "_is_spent", True)
        status, text, _ = person.send("practice", go="play")
        assert (status, "come back later" in text) == (503, True)
        monkeypatch.undo()
        assert person.send("practice", go="play")[0] == 303


def test_a_comprehension_check_that_is_failed_ends_the_study(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        person.send("consent", nickname="Ada", agreed="yes")
        assert "whole number" in person.send("before", age="old")[1]
        person.send("before", age="33")
        assert person.send("instructions")[0] == 422
        person.send("instructions", points="Units")
        assert "you can try once more" in person.page()
        person.send("instructions", points="Units")
        assert "the study ends here" in person.page()
        assert person.send("play")[0] == 303
        assert opened.free_slot() == opened.slots[0], "a slot was used up"


def test_forms_of_other_sites_are_refused(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        for origin in ("https://evil.example", "null"):
            assert person.ask(person.place, {"step": "consent"}, Origin=origin)[0] == 403
        assert person.ask(person.place, {f"f{number}": "" for number in range(301)})[0] == 400
        assert person.ask("/study/other")[0] == 404
        assert not opened.people


def test_a_study_that_is_opened_again_goes_on_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port):
        person = Person(port, opened.name)
        person.send("consent", nickname="Ada", agreed="yes")
        person.send("before", age="33")
    with served(tmp_path / "study", study()) as (opened, port):
        person.port = port
        assert "What gives points?" in person.page()
    with pytest.raises(StudyError, match="was changed since"):
        StudyFolder(tmp_path / "study", study(changed("seed = 3", "seed = 4")))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("study.jsonl", "{}"),
        ("study.jsonl", '{"kind": "study", "text": 3, "name": "x"}'),
        (f"participants/{'a' * 16}/journal.jsonl", "{}"),
        (f"participants/{'a' * 16}/journal.jsonl", '{"kind": "come", "time": "now"}'),
        (f"participants/{'a' * 16}/journal.jsonl", '{"kind": "slot", "time": 1, "number": "x"}'),
        (
            f"participants/{'a' * 16}/journal.jsonl",
            '{"kind": "slot", "time": 1, "number": 10000, "condition": "x", "seat": "x", "game": "x"}',
        ),
        (f"participants/{'a' * 16}/journal.jsonl", '{"kind": "play", "time": 1, "points": 1e400, "key": ""}'),
    ],
)
def test_a_damaged_study_is_told_and_opens_once_it_is_restored(tmp_path: Path, file: str, text: str) -> None:
    StudyFolder(tmp_path, study()).close()
    path = tmp_path / file
    whole = path.read_text() if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n")
    for given in (study(), None):
        with pytest.raises(JournalError, match=rf"{path.name}: (line 1: damaged: no valid|slot 10000)"):
            StudyFolder(tmp_path, given)
    path.write_text(whole)
    StudyFolder(tmp_path).close()


def test_a_study_whose_text_is_invalid_keeps_no_lock(tmp_path: Path) -> None:
    StudyFolder(tmp_path, study()).close()
    whole = (tmp_path / "study.jsonl").read_text()
    (tmp_path / "study.jsonl").write_text('{"kind": "study", "text": "x", "name": "x"}\n')
    for _ in range(2):
        with pytest.raises(StudyError, match=r"study\.jsonl"):
            StudyFolder(tmp_path)
    (tmp_path / "study.jsonl").write_text(whole)
    StudyFolder(tmp_path).close()


def gone(folder: Path) -> StudyFolder:
    """A study in which somebody finished the game, and never came back."""
    opened = StudyFolder(folder, study())
    person, slot, host = opened.come(new_token()), opened.slots[0], Host(folder / GAMES, opened.store)
    person.add("consent", nickname="=HYPERLINK()")
    person.add("before", answers={"age": "33"})
    settings = opened.study.table(opened.study.conditions[slot.condition], slot.seat, slot.seed, "/study/x")
    name = host.create(settings)
    condition = opened.study.conditions[slot.condition].name
    person.add("slot", number=slot.number, condition=condition, seat=slot.seat, game=name)
    table = Table(settings, folder / GAMES / name)
    table.begin()
    while not table.is_done:
        table.advance(table.think())
    host._save_finished(Hosted(name, table, host.secrets(name), host.links(name)))
    table.stop()
    return opened


def test_a_game_counts_whose_participant_never_comes_back(tmp_path: Path) -> None:
    with closing(gone(tmp_path / "study")) as opened:
        (person,) = opened.people.values()
        ended = person.last("before")["time"] + 90
        os.utime(opened.folder / GAMES / person.game("play") / "game.json", (ended, ended))
        export(opened, tmp_path / "out", True)
        (row,) = rows_of(tmp_path / "out" / "participants.csv")
        assert row["points"]
        assert row["nickname"] == "'=HYPERLINK()", "no formula"
        assert {each["key"] for each in rows_of(tmp_path / "out" / "games.csv")} == {row["key"]}
        assert person.last("play")["time"] == pytest.approx(ended, abs=0.01)


def test_who_never_came_back_is_forgotten_in_a_second_try_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(gone(tmp_path / "study")) as opened:
        (who,) = opened.people
        remove = shutil.rmtree

        def killed(path: Path) -> None:
            if path.name == who:
                raise OSError("killed here")
            remove(path)

        monkeypatch.setattr(shutil, "rmtree", killed)
        with pytest.raises(OSError, match="killed here"):
            opened.forget(who)
        monkeypatch.undo()
        with GameStore(opened.store) as store:
            assert store.count() == 0
        assert opened.forget(who) == (who, [f"participants/{who}"])
        assert not any((tmp_path / "study" / GAMES).iterdir())
        assert opened.free_slot() == opened.slots[0]


def test_a_decisions_time_counts_from_the_beginning_of_its_step(tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = [
        {"kind": "begin", "time": 100.0},
        {"kind": "answer", "step": "S1901M orders", "orders": [], "time": 103.0},
        {"kind": "step", "step": "S1901M orders", "late": [], "time": 110.0},
        {"kind": "answer", "step": "F1901M orders", "orders": [], "time": 111.5},
    ]
    game = tmp_path / GAMES / "game"
    game.mkdir(parents=True)
    (game / "journal.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    slot = {"slot": {"condition": "doves", "seat": "PLAYERA"}}
    person: Any = SimpleNamespace(id="1", last=lambda kind: slot.get(kind, {}), game=lambda step: "game")
    study: Any = SimpleNamespace(folder=tmp_path)
    assert [row["seconds"] for row in _decisions(study, person, False)] == [3.0, 1.5]


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(welfare_env={}),
        lambda record: record.update(phases=[{}]),
        lambda record: record["phases"][-1]["state"].update(welfare=[]),
        lambda record: record["phases"][-1]["state"]["welfare"].update(
            dict.fromkeys(("PLAYERA", "PLAYERB", "PLAYERC"), 10**400)
        ),
    ],
)
def test_a_saved_game_that_is_damaged_is_told(tmp_path: Path, change: Any) -> None:
    with closing(gone(tmp_path / "study")) as opened:
        (path,) = (tmp_path / "study").glob("games/*/game.json")
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))
        with pytest.raises(RecordError, match=r"game\.json"):
            opened.settle()


@pytest.mark.slow
def test_a_participant_is_forgotten_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    with served(folder, study()) as (opened, port):
        Person(port, opened.name).take_part("Zebedee")
        Person(port, opened.name).take_part("Barnabas")
    with closing(StudyFolder(folder)) as opened:
        (who,) = [each.id for each in opened.people.values() if each.last("consent")["nickname"] == "Zebedee"]
        first = opened.people[who].slot
        key, secret = opened.people[who].last("play")["key"], SECRET.encode()
        with pytest.raises(StudyError, match="matches 0 IDs"):
            opened.forget("nobody")
        opened.forget(who[:6])
        assert opened.free_slot().number == first, "the slot is free again"
        assert b"Zebedee" not in bytes_of(folder)
        assert key.encode() not in bytes_of(folder)
        assert secret in bytes_of(folder), "the other one is still there"
        export(opened, tmp_path / "out", True)
        assert {row["nickname"] for row in rows_of(tmp_path / "out" / "participants.csv")} == {"Barnabas"}


@pytest.mark.slow
def test_a_study_of_two_conditions_and_ten_games_each(tmp_path: Path) -> None:
    plan = study(changed("games = 2", "games = 10"))
    with served(tmp_path / "study", plan) as (opened, port):
        people = [Person(port, opened.name) for _ in range(20)]
        waiting = list(enumerate(people))

        def sit() -> None:
            while waiting:
                number, person = waiting.pop()
                person.take_part(f"person {number}")

        hands = [threading.Thread(target=sit) for _ in range(4)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        assert "enough participants" in Person(port, opened.name).page()
        played = Counter((each.last("slot")["condition"], each.last("slot")["seat"]) for each in opened.people.values())
        assert sum(count for (name, _), count in played.items() if name == "doves") == 10
        assert max(played.values()) - min(played.values()) <= 1
        paths = {path.name: path for path in export(opened, tmp_path / "out", True)}
        plain = export(opened, tmp_path / "plain", False)
        store_rows = []
        with GameStore(opened.store) as store:
            assert store.count() == 20
            records = {key: store.record(key) for key in (game.key for game in store.games())}
        table = rows_of(paths["games.csv"])
        for key in dict.fromkeys(row["key"] for row in table):
            profile = next(row["profile"] for row in table if row["key"] == key)
            store_rows += game_rows([measure(records[key])], profile)
        assert len(table) == 60
        own = {"condition", "participant", "is_person", "failed"}
        shown = [{name: value for name, value in row.items() if name not in own} for row in table]
        as_text = [{name: "" if value != value else str(value) for name, value in row.items()} for row in store_rows]
        assert [{name: value for name, value in row.items() if value} for row in shown] == [
            {name: value for name, value in row.items() if value} for row in as_text
        ]
        decisions = rows_of(paths["decisions.csv"])
        assert all(float(row["seconds"]) >= 0 and row["late"] == "False" for row in decisions)
        orders = Counter(row["key"] for row in decisions if row["decision"] == "orders")
        assert set(orders) == set(records)
        points = {row["key"]: float(row["points"]) for row in rows_of(paths["participants.csv"])}
        welfare = {row["key"]: float(row["welfare"]) for row in table if row["is_person"] == "True"}
        assert points == welfare
        words = b"".join(path.read_bytes() for path in plain)
        assert b"pirate" not in words
        assert b"person 1" not in words
        assert b"pirate" in paths["decisions.csv"].read_bytes()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)")
def test_the_pages_work_in_a_browser_without_scripts(tmp_path: Path) -> None:
    with served(tmp_path / "study", study()) as (opened, port), Browser() as browser:
        browser.look(390, 844)

        def click(script: str, then: str) -> None:
            browser.ask(f"{script};document.querySelector('button.main').click()")
            until(lambda: then in browser.ask("document.body?.innerText || ''"))
            assert browser.ask("document.scripts.length") == 0
            if Path(AXE).exists():
                browser.call("Page.setBypassCSP", enabled=True)
                browser.ask(Path(AXE).read_text() + ";0")
                assert browser.ask("axe.run().then((found) => found.violations.map((one) => one.id))") == []

        browser.open(f"http://127.0.0.1:{port}/study/{opened.name}")
        ticked = "document.querySelector('[name=agreed]').checked = true"
        click(f"{ticked};document.querySelector('[name=nickname]').value = 'Ada'", "How old are you?")
        click("document.querySelector('[name=age]').value = 'x'", "Please enter a whole number")
        click("document.querySelector('[name=age]').value = '33'", "What gives points?")
        click("document.querySelector('[value=Units]').checked = true", "Not all answers are correct")
        if SHOTS:
            browser.picture(Path(SHOTS) / "study.png")
        click("document.querySelector('[value^=Centers]').checked = true", "To the practice game")
        browser.ask("document.querySelector('button.main').click()")
        until(lambda: "/g/" in browser.ask("location.pathname"))
        until(lambda: browser.ask("document.getElementById('table')?.hidden") is False)
        assert all("422" in complaint for complaint in browser.complaints), "only forms that were not filled in"
