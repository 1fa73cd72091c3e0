"""Games over HTTP: links, attacks, what is lost and what is not."""

import json
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from evaluation.play.store import GameStore
from evaluation.web.hosting import Host
from evaluation.web.journal import Journal
from evaluation.web.seats import GameFolder, cookie_name, cookie_value
from evaluation.web.serving import Address
from evaluation.web.settings import SeatedGameError
from evaluation.web.table import SeatedGame
from tests.evaluation.conftest import PATIENCE, until
from tests.evaluation.web.conftest import begin, quick
from welfare_env import Game

TWO = "PLAYERA*human: + PLAYERB*human: + PLAYERC*random"
HOSTILE = "</script><script>window.hacked = 1</script>\u202eright to left\x1b[2J\x07<img src=x onerror=alert(1)>'; DROP"


def test_a_game_of_two_is_saved_once_though_the_server_is_killed_while_it_saves(serving, tmp_path):
    server = serving(TWO)
    server.host.store = tmp_path / "games.sqlite"
    players = [server.player("PLAYERA").enter(), server.player("PLAYERB")]
    assert players[0].state()["step"] == "lobby"
    assert "game" not in players[0].state()
    players[1].enter()
    step = ""
    while (step := players[0].until_asked(step)["step"]) != "end":
        for player in players:
            assert player.answer(step, messages={}, orders=[])[0] == 200
    saved = server.host.seats.folder / "game.json"
    until(saved.exists)
    record = saved.read_bytes()
    assert Game.load(saved).record()["phases"] == server.table.record()["phases"]
    saved.unlink()  # it was in the store, and not yet in its folder
    server.host._save()
    assert saved.read_bytes() == record
    with GameStore(server.host.store) as store:
        (key,) = store.keys()
        kept = store.record(key)
    assert kept["phases"] == server.table.record()["phases"]
    assert kept["welfare_env"]["players"] == {"PLAYERA": "human", "PLAYERB": "human", "PLAYERC": "random"}


def damage(path, text, number=1) -> str:
    """Replace an entry of a journal; returns it."""
    with closing(sqlite3.connect(path)) as connection:
        ((before,),) = connection.execute("SELECT entry FROM entries WHERE number = ?", (number,)).fetchall()
        connection.execute("UPDATE entries SET entry = ? WHERE number = ?", (text, number))
        connection.commit()
    return str(before)


@pytest.mark.parametrize(
    ("number", "text", "told"),
    [
        (1, "not JSON", "entry 1 is damaged"),
        (1, '{"settings": {"rules": {}, "unknown": 1}, "secret": ""}', "damaged"),
        (3, '{"kind": "enter", "seat": "PLAYERA", "time": "now"}', "entry 3 is damaged"),
        (3, '{"kind": "step", "step": "S1901M 1", "time": 1, "failed": {}, "actions": {}}', "entry 3 is damaged"),
    ],
)
def test_a_damaged_game_is_told_by_its_entry_and_opens_when_it_is_restored(tmp_path, number, text, told):
    folder = GameFolder.create(tmp_path, quick(TWO), Address()).folder
    path = folder / "game.sqlite"
    Journal(path).append({"kind": "enter", "seat": "PLAYERA", "time": 1})
    whole = damage(path, text, number)
    for _ in range(2):
        with pytest.raises(SeatedGameError, match=rf"game\.sqlite: {told}"):
            Host(GameFolder(folder))
    damage(path, whole, number)
    Host(GameFolder(folder)).close()
    path.write_bytes(b"x" * 5000)
    with pytest.raises(SeatedGameError, match=r"game\.sqlite: .*restore the file from a backup"):
        GameFolder(folder)


def test_policies_that_think_for_long_keep_nobody_waiting(serving, monkeypatch):
    over, thought = threading.Event(), []

    def think(table):
        thought.append(over.wait(PATIENCE))
        return {}

    monkeypatch.setattr(SeatedGame, "think", think)
    try:
        server = serving(TWO, begun=True)
        player = server.player("PLAYERA").enter()
        assert player.answer(player.until_asked()["step"], messages={})[0] == 200
        assert thought == []
    finally:
        over.set()


def fails_at_the_end(table, actions) -> None:
    """A step that is played, but cannot be written."""
    table._played(actions)
    raise OSError(28, "No space left on device")


def test_a_full_disk_confirms_nothing_and_the_game_goes_on(serving, monkeypatch):
    monkeypatch.setattr("evaluation.web.hosting.AGAIN", 0.1)
    server = serving(TWO, begun=True)
    first, second = server.player("PLAYERA").enter(), server.player("PLAYERB").enter()
    again = server.player("PLAYERA")
    step = first.until_asked()["step"]

    @contextmanager
    def full(layout, path: Path) -> Iterator[None]:
        raise SeatedGameError(f"{path}: database or disk is full")
        yield

    with monkeypatch.context() as disk:
        disk.setattr("evaluation.web.journal.FileLayout.guard", full)
        for status, told in (
            first.answer(step, messages={"PLAYERB": "hello"}),
            again.ask("/enter", {"token": again.token, "browser": again.browser}),
        ):
            assert (status, told["code"]) == (500, "failed")
            assert str(server.host.seats.folder) not in told["error"]
        assert first.state()["answer"] is None
    assert first.answer(step, messages={"PLAYERB": "hello"}) == (200, {"new": True})
    before = server.table
    with monkeypatch.context() as disk:
        disk.setattr(SeatedGame, "advance", fails_at_the_end)
        assert second.answer(step, messages={})[0] == 200
        until(lambda: server.table is not before)
    assert second.until_asked(step)["game"]["phases"][-1]["messages"][0][3] == "hello"


def test_others_seats_and_tokens_are_refused(serving):
    server = serving(TWO, begun=True, has_spectators=True)
    first, second = server.player("PLAYERA").enter(), server.player("PLAYERB")
    assert second.ask("/state")[0] == 404  # no cookie yet
    for seat in ("PLAYERB", "PLAYERC", "SPECTATOR", "NOBODY", "..", "%2e%2e"):
        assert first.ask("/state", seat=seat)[0] == 404
        assert first.ask("/answer", {"step": "S1901M 1", "number": "1", "messages": {}}, seat=seat)[0] == 404
        assert first.ask("/enter", {"token": first.token, "browser": first.browser}, seat=seat)[0] == 404
    for token in ("", None, 3, [first.token], first.token[:-1], first.token.lower(), {"token": first.token}):
        assert second.ask("/enter", {"token": token, "browser": second.browser})[0] == 404
    name = next(iter(first.cookies))
    second.cookies = {cookie_name("PLAYERB"): first.cookies[name]}
    assert second.ask("/state")[0] == 404
    secret = server.host.secret("PLAYERB")
    for value in (second.token, secret, "", "\xe9", cookie_value(secret) + "x"):  # what a cookie follows from is none
        second.cookies = {cookie_name("PLAYERB"): value}
        assert second.ask("/state")[0] == 404
    assert second.ask(f"/state?token={second.token}")[0] == 404
    looks, also = server.player("SPECTATOR").enter(), server.player("SPECTATOR")
    also.token = looks.token  # a spectator's link is for many
    assert looks.state()["seat"] == also.enter().state()["seat"] == "SPECTATOR"
    assert looks.ask("/link", {})[0] == 409
    assert looks.ask("/answer", {"step": "S1901M 1", "number": "1", "messages": {}})[0] == 409


@pytest.mark.parametrize("public_url", ["", "https://play.test"])
def test_scripts_and_other_sites_do_not_get_the_cookie(serving, public_url):
    server = serving(TWO, begun=True, public_url=public_url)
    player = server.player("PLAYERA").enter()
    parts = set(player.set_cookie.lower().split("; "))
    assert {"httponly", "samesite=strict", "max-age=7776000", f"path=/g/{server.game}"} <= parts
    assert ("secure" in parts) == bool(public_url)
    assert player.token not in player.set_cookie


def test_a_link_is_traded_once_and_again_by_the_same_browser_alone(serving):
    server = serving(TWO, begun=True)
    first, thief = server.player("PLAYERA"), server.player("PLAYERA")
    thief.token = first.token
    first.enter()
    status, told = thief.ask("/enter", {"token": first.token, "browser": thief.browser})
    assert (status, told["code"], thief.cookies) == (404, "used", {})
    for wrong in (None, 3, "", "x" * 15, "x" * 65):
        assert thief.ask("/enter", {"token": first.token, "browser": wrong})[0] == 404
    first.cookies = {}  # the answer was lost
    first.enter()
    assert first.state()["seat"] == "PLAYERA"
    assert [entry["kind"] for entry in server.host.seats.journal.entries()].count("use") == 1


def test_a_person_comes_back_on_another_device(serving):
    server = serving(TWO, begun=True)
    first, again = server.player("PLAYERA").enter(), server.player("PLAYERA")
    step = first.until_asked()["step"]
    assert first.answer(step, messages={"PLAYERB": "here"})[0] == 200
    status, made = first.ask("/link", {})
    assert status == 200
    path, _, again.token = made["link"].partition("#")
    assert path == f"/g/{server.game}/PLAYERA"
    assert again.enter().state()["answer"] == {"messages": {"PLAYERB": "here"}}
    assert first.state()["answer"] == again.state()["answer"]  # both devices have the seat
    assert server.player("PLAYERA").ask("/link", {})[0] == 404  # who has no seat makes no links
    assert server.player("PLAYERA").ask("/enter", {"token": again.token, "browser": first.browser})[0] == 404


def test_a_link_of_the_host_can_take_the_seat_from_a_thief_for_good(serving):
    server = serving(TWO, begun=True)
    thief, other = server.player("PLAYERA").enter(), server.player("PLAYERB").enter()
    owner, later = server.player("PLAYERA", take_over=True), server.player("PLAYERB")
    assert thief.ask("/state")[0] == 200  # until it is used
    owner.enter()
    for _ in range(2):
        assert [each.ask("/state")[0] for each in (thief, owner, other)] == [404, 200, 200]
        assert thief.ask("/enter", {"token": thief.token, "browser": thief.browser})[1]["code"] == "old"
        assert owner.enter().state()["seat"] == "PLAYERA"
        server.stop()
        server = serving(game=server.host.seats.folder, port=server.port)
    later.enter()  # by a link from before
    server.player("PLAYERA").enter()  # and by one made later


def test_answers_are_for_one_step_and_final(serving):
    server = serving(TWO, begun=True)
    first, second = server.player("PLAYERA").enter(), server.player("PLAYERB").enter()
    step = first.until_asked()["step"]
    status, told = first.answer("S1901M orders", orders=[])
    assert (status, told["code"], "the game is at 'S1901M 1'" in told["error"]) == (409, "late", True)
    once = {"messages": {"PLAYERB": "once", "PLAYERC": "  "}}
    assert first.answer(step, "a", **once) == (200, {"new": True})
    assert first.answer(step, "a", **once) == (200, {"new": False})
    assert first.state()["answer"] == {"messages": {"PLAYERB": "once"}}
    for number in "ab":
        assert first.answer(step, number, messages={"PLAYERB": "twice"})[1]["code"] == "answered"
    assert second.answer(step, "a", messages={})[0] == 200
    second.until_asked(step)
    assert first.answer(step, "a", **once) == (200, {"new": False})  # late, and known
    assert second.answer(step, "c", messages={})[1]["code"] == "late"
    assert second.answer("F1901M orders", "c", orders=[])[1]["code"] == "late"
    assert [message.text for message in server.table.game.messages if message.sender == "PLAYERA"] == ["once"]
    for orders, fault in ((["A HBX H"], "A HBX belongs to PLAYERB"), (["A HAX H", "A HAX - CAX"], "already ordered")):
        status, told = first.answer("S1901M orders", "d", orders=orders)
        assert (status, told["code"], fault in told["error"]) == (422, "illegal", True)
    assert first.ask("/check", {"orders": ["hax to cax"]}) == (200, {"orders": ["A HAX - CAX"]})
    assert first.state()["answer"] is None
    assert first.answer("S1901M orders", "a", orders=["army hax to cax"]) == (200, {"new": True})
    assert first.state()["answer"] == {"orders": ["A HAX - CAX"]}


MALFORMED = [
    {},
    {"messages": {"PLAYERB": 3}},
    {"orders": []},
    *({"messages": {}, "number": wrong} for wrong in ("", "x" * 65)),
]
FORBIDDEN = [{"PLAYERA": "me"}, {"NOBODY": "x"}, {"PLAYERB": "x" * 4001}, {"PLAYERB": "\ud800"}]


def test_malformed_and_forbidden_answers(serving):
    server = serving(TWO, begun=True)
    first = server.player("PLAYERA").enter()
    step = first.until_asked()["step"]
    for path in ("/answer", "/check", "/enter", "/link"):
        assert first.ask(path, b"{")[0] == 400, path
    for given in MALFORMED:
        assert first.ask("/answer", {"step": step, "number": "1"} | given)[1]["code"] == "malformed"
    for messages in FORBIDDEN:
        assert first.answer(step, messages=messages)[1]["code"] == "illegal"
    assert first.state()["answer"] is None
    for since in ("-1", "99999", "1e5", "\u0663".encode().hex(), "9" * 50):
        assert first.ask(f"/state?since={since}")[0] == 200


def test_paths_lead_nowhere(serving):
    player = serving(TWO, begun=True).player("PLAYERA").enter()
    for path in ("/../../settings.json", "/%2e%2e%2f", "/%00", "/../../../static/../keys.py", "x" * 5000):
        assert player.ask(path)[0] == 404
    for path in ("/static/play.html", "/static/%2e%2e%2fplay.html", "/static/../keys.py", "//etc/passwd"):
        with closing(player.connect()) as connection:
            connection.request("GET", path)
            assert connection.getresponse().status == 404, path


def test_the_secrets_are_nowhere_but_in_their_file(serving, capfd):
    server = serving(TWO, begun=True)
    first = server.player("PLAYERA").enter()
    for file in server.host.seats.folder.iterdir():
        assert first.token.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0
    assert first.token not in json.dumps(first.state())
    secrets = [first.token, first.cookies[cookie_name("PLAYERA")], server.host.seats.secret]
    assert not any(secret in part for secret in secrets for part in capfd.readouterr())


def test_messages_stay_text_and_do_not_go_out_to_others(serving):
    server = serving("PLAYERA*human: + PLAYERB*human: + PLAYERC*human:", begun=True, has_spectators=True)
    players = [server.player(seat).enter() for seat in ("PLAYERA", "PLAYERB", "PLAYERC")]
    step = players[0].until_asked()["step"]
    players[0].answer(step, messages={"PLAYERB": f"between us\n{HOSTILE}", "GLOBAL": "for all"})
    for player in players[1:]:
        player.answer(step, messages={})
    players[0].until_asked(step)
    looks = server.player("SPECTATOR").enter()
    told = [each.state()["game"]["phases"][-1]["messages"] for each in (*players, looks)]
    assert (
        told[0] == told[1] == [[1, "PLAYERA", "PLAYERB", f"between us\n{HOSTILE}"], [1, "PLAYERA", "GLOBAL", "for all"]]
    )
    assert told[2] == told[3] == [[1, "PLAYERA", "GLOBAL", "for all"]]
    assert "between us" not in json.dumps([players[2].state(), looks.state()])
    status, page = players[1].ask("")
    assert (status, "between us" in page) == (200, False)  # messages come as JSON alone


def test_a_step_has_some_time_after_a_restart(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now)  # steps may follow each other within a millisecond
    host = Host(GameFolder.create(tmp_path, quick(TWO, minutes=0.002), Address()))
    assert host.left is None
    begin(host.table)
    assert 0 < host.left < 1
    host.close()
    again = Host(host.seats)
    assert again.left > 10, "the step had begun before; the page shows that time, too"
    again.table.advance(again.table.think())
    assert again.left < 1
    again.close()


@pytest.mark.slow
def test_a_server_that_is_killed_loses_nothing_that_was_confirmed(tmp_path):
    """kill -9 of the command at random moments; `python -m benchmarks.web --kills 50` does it more often."""
    from benchmarks.web import free_port, killed_games, server

    report = killed_games(tmp_path, quick(TWO), kills=3, seed=0)
    assert (report.lost, report.doubled, report.kills) == (0, 0, 3)
    with server(next(tmp_path.glob("*/game.json")).parent, free_port()) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
