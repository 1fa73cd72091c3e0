"""Watching running commands: what is shown of status files and stores, and that what is watched notices nothing."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("starlette")

import evaluation
from agents.runtime.status import born
from evaluation.cli.commands import app
from evaluation.play.store import GameStore, StoreError
from evaluation.web.foundation.serving import Address, make_server, make_site
from evaluation.web.watching.results import Line, Watched, Watcher
from evaluation.web.watching.runs import read_run, read_runs
from evaluation.web.watching.terminal import tables
from evaluation.web.watching.watch_routes import WatchRoutes
from tests.evaluation.web.conftest import running_site, until
from tools.browser import Browser, chromium
from welfare_env import Rules

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202egnp.exe [red]"
TEXT = "document.body?.innerText ?? ''"  # between two pages there is none
AXE = os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js")
COMMAND = ["self-play", "dove", "2*dove + 1*random", "--map", "clique:3", "--games", "12", "--workers", "2"]


def facts(**own: Any) -> dict[str, Any]:
    """What a command of this process would write."""
    now = time.time()
    return {
        "version": 1,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "command": "welfare-env self-play dove",
        "started": now - 60,
        "updated": now,
        "ended": None,
        "outcome": "",
        "progress": [{"what": "playing", "done": 12, "total": 60, "unit": "games"}],
        "store": "",
        "folder": "",
        "spent": {},
    } | own


def write(folder: Path, name: str = "one", **own: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(facts(**own)))
    return path


def gone() -> int:
    """The number of a process that was killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.kill()
    return process.pid


def stored(path: Path, games: int = 2) -> str:
    with GameStore(path) as store:
        evaluation.self_play(
            "dove", games=games, rules=Rules(years=1, message_rounds=0), map_name="clique:3", store=store
        )
        return store.keys()[-1]


@pytest.mark.parametrize(
    ("own", "state"),
    [
        ({}, "running"),
        ({"updated": time.time() - 3600}, "silent"),
        ({"outcome": "finished"}, "finished"),
        ({"outcome": "failed"}, "failed"),
        ({"born": "1"}, "killed"),
        ({"host": "elsewhere"}, "running"),
        ({"host": "elsewhere", "updated": time.time() - 3600}, "silent"),
    ],
)
def test_the_state_of_a_run(tmp_path: Path, own: dict[str, Any], state: str) -> None:
    run = read_run(write(tmp_path, **own))
    assert run is not None
    assert run.state == state


def test_a_killed_run_is_shown_as_killed(tmp_path: Path) -> None:
    write(tmp_path, pid=gone(), born="")
    (run,) = read_runs(tmp_path)
    assert run.state == "killed"
    assert run.ended is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        "null",
        json.dumps(facts(version=2)),
        json.dumps(facts(pid="1")),
        json.dumps(facts(pid=-1)),
        json.dumps(facts(command=["x"])),
        json.dumps(facts(started=float("nan"))),
        json.dumps(facts(progress=[{"what": "x"}])),
        json.dumps(facts(progress=[{"what": "x", "done": True, "total": 1, "unit": ""}])),
        json.dumps(facts(spent=[])),
        json.dumps(facts(updated=10**400)),
        json.dumps(facts(started=-(10**400))),
        json.dumps(facts(progress=[{"what": "x", "done": 10**400, "total": 1, "unit": ""}])),
        json.dumps(facts(store=3)),
        json.dumps(facts(command="x" * 2**17)),
    ],
)
def test_a_corrupt_status_file_is_left_out(tmp_path: Path, text: str) -> None:
    write(tmp_path, "whole")
    (tmp_path / "corrupt.json").write_text(text)
    (tmp_path / "folder.json").mkdir()
    assert [run.name for run in read_runs(tmp_path)] == ["whole"]
    os.mkfifo(tmp_path / "pipe.json")
    assert [run.name for run in read_runs(tmp_path)] == ["whole"]


def test_numbers_that_no_run_spends_are_left_out(tmp_path: Path) -> None:
    run = read_run(write(tmp_path, spent={"tokens": 10**400, "dollars": float("inf"), "max_tokens": 7}))
    assert run is not None
    assert run.spent == {"max_tokens": 7}


def test_tables_fill_from_the_store_since_the_run_began(tmp_path: Path) -> None:
    before = stored(tmp_path / "games.sqlite", 1)
    began = time.time()
    write(tmp_path / "status", started=began, store=str(tmp_path / "games.sqlite"))
    watcher = Watcher(tmp_path / "status")
    assert watcher.look()[0].lines == ()
    last = stored(tmp_path / "games.sqlite", 3)
    (each,) = watcher.look()
    (line,) = each.lines
    assert (line.players, line.games, line.measured, each.stored) == ("dove", 2, 2, 2)
    assert line.root_nash_welfare == 2.0
    assert each.games[0].key == last
    assert watcher.record(last) is not None
    assert watcher.record(before) is None


def test_a_store_is_read_without_a_trace(tmp_path: Path) -> None:
    key = stored(tmp_path / "games.sqlite")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with GameStore(tmp_path / "games.sqlite", is_read_only=True) as store:
        assert store.keys()[-1] == key
        with pytest.raises(StoreError):
            store.put({"a": 1}, {})
    with pytest.raises(StoreError), GameStore(tmp_path / "none.sqlite", is_read_only=True) as store:
        store.count()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_store_that_is_being_written_is_read_up_to_date(tmp_path: Path) -> None:
    stored(tmp_path / "games.sqlite", 1)
    with GameStore(tmp_path / "games.sqlite") as writer:
        writer.put({"a": 1}, {"b": 2})  # in the log beside the file
        with GameStore(tmp_path / "games.sqlite", is_read_only=True) as reader:
            assert reader.count() == 2
            writer.put({"a": 2}, {"b": 2})  # while it is open
            assert reader.count() == 3


def test_a_damaged_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "games.sqlite").write_bytes(b"SQLite format 3\0" + bytes(5000))
    write(tmp_path / "status", store=str(tmp_path / "games.sqlite"))
    watcher = Watcher(tmp_path / "status")
    assert watcher.look()[0].trouble == ""  # it may be being made
    assert "games.sqlite" in watcher.look()[0].trouble


def test_the_terminal_shows_texts_as_they_are(tmp_path: Path) -> None:
    stage = {"what": HOSTILE, "done": 1, "total": 2, "unit": HOSTILE}
    write(tmp_path, command=HOSTILE, progress=[stage], spent={"tokens": 1200, "dollars": 0.5, "max_dollars": 2})
    shown = CliRunner().invoke(app, ["watch", "--folder", str(tmp_path)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.output
    assert "\u202e" not in shown.output
    assert "[red]" in shown.output
    assert "1,200 tokens, $0.50 of $2.00" in shown.output


def test_the_terminal_shows_the_last_conditions_of_a_run(tmp_path: Path) -> None:
    write(tmp_path)
    lines = tuple(Line(f"dove {at}", "", 1, 1, 0.0, 0.0, 0.0) for at in range(23))
    (run,) = read_runs(tmp_path)
    _, games = tables([Watched(run, lines)])
    assert [str(cell) for cell in games.columns[1].cells] == [f"dove {at}" for at in range(3, 23)]
    assert "earlier conditions not shown: 3;" in str(games.caption)
    _, few = tables([Watched(run, lines[:20])])
    assert (few.row_count, few.caption) == (20, None)


def test_without_runs_it_says_so(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["watch", "--once", "--folder", str(tmp_path / "none")])
    assert (shown.exit_code, shown.output) == (0, "No long command is running, and none has ended in the last day.\n")


class Reader:
    """Asks for the page of runs."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""

    def ask(self, path: str, body: Any = None) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json", "Cookie": self.cookie}
        connection.request("GET" if body is None else "POST", f"/watch{path}", body and json.dumps(body), own)
        answer = connection.getresponse()
        text = answer.read().decode()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        self.cookie = headers.get("set-cookie", self.cookie).partition(";")[0]
        return answer.status, text, headers


def watching(folder: Path, token: str = "secret"):
    routes, address = WatchRoutes(Watcher(folder), token), Address()
    return running_site(make_server(make_site(routes.routes, address, routes.looking), address), address)


def test_the_page_is_for_who_has_the_link(tmp_path: Path) -> None:
    key = stored(tmp_path / "games.sqlite")
    write(tmp_path / "status", started=0, store=str(tmp_path / "games.sqlite"), command=HOSTILE)
    with watching(tmp_path / "status") as port:
        reader = Reader(port)
        status, text, headers = reader.ask("")
        assert (status, "<script>" in text) == (200, False)
        assert "default-src 'none'" in headers["content-security-policy"]
        for path in ("/state", "/events", f"/replay/{key}"):
            assert reader.ask(path)[0] == 404
        assert reader.ask("/enter", {"token": "wrong"})[0] == 404
        assert reader.ask("/enter", {"token": "secret"})[0] == 200
        (run,) = json.loads(reader.ask("/state")[1])["runs"]
        assert (run["stored"], run["games"][0]["key"]) == (2, key)
        status, _, headers = reader.ask(f"/replay/{key}")
        assert status == 200
        assert "sha256-" in headers["content-security-policy"]
        assert reader.ask(f"/replay/{'0' * 64}")[0] == 404
        assert reader.ask("/replay/..%2F..%2Fetc")[0] == 404


@pytest.mark.slow
def test_a_run_that_is_watched_gives_the_same_results_and_files(tmp_path: Path) -> None:
    def play(folder: Path) -> tuple[str, list[Any], set[str]]:
        folder.mkdir()
        code = "from evaluation.cli.main import main; main()"
        run = subprocess.run(
            [sys.executable, "-c", code, *COMMAND], cwd=folder, capture_output=True, text=True, timeout=600
        )
        assert run.returncode == 0, run.stderr
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if "status" not in path.parts}
        with GameStore(folder / "runs" / "evaluation.sqlite") as store:
            games = sorted((game.key, json.dumps(store.record(game.key))) for game in store.games())
        return run.stdout, games, files

    alone = play(tmp_path / "alone")
    watcher, looks, is_over = Watcher(tmp_path / "seen" / "runs" / "status"), [], threading.Event()

    def look_on() -> None:
        while not is_over.wait(0.01):
            looks.extend(watcher.look())

    eyes = threading.Thread(target=look_on)
    eyes.start()
    seen = play(tmp_path / "seen")
    is_over.set()
    eyes.join()
    assert seen == alone
    assert {each.trouble for each in looks} == {""}
    assert "running" in {each.run.state for each in looks}
    assert max(each.stored for each in looks) > 0
    (last,) = watcher.look(measures_all=True)
    assert (last.run.state, last.stored) == ("finished", 24)


SMALL = ["--map", "clique:3", "--years", "1"]
LONG = {
    "red-team": ["red-team", "dove", *SMALL, "--message-rounds", "0", "--budget", "quick", "--games", "2"],
    "league": [
        "train",
        "welfare",
        *SMALL,
        "--iterations",
        "2",
        "--games",
        "4",
        "--league-every",
        "1",
        "--out",
        "runs/a",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_red_team_and_a_league_are_followed(tmp_path: Path, name: str) -> None:
    if name == "league":
        pytest.importorskip("ray")
        pytest.importorskip("torch")
    code = "from evaluation.cli.main import main; main()"
    command = [sys.executable, "-c", code, *LONG[name], "--workers", "1"]
    watcher, looks = Watcher(tmp_path / "runs" / "status"), []
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        while run.poll() is None:
            looks.extend(watcher.look())
            time.sleep(0.1)
        assert run.stderr is not None
        assert run.returncode == 0, run.stderr.read().decode()[-2000:]
    (last,) = watcher.look(measures_all=True)
    assert (last.run.state, {each.trouble for each in looks}) == ("finished", {""})
    assert "running" in {each.run.state for each in looks}
    done = [stage.done for each in looks for stage in each.run.stages]
    assert max(done) > min(done), "it was seen to go on"
    assert last.stored > 0 if name == "red-team" else last.run.folder.endswith("a")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)")
def test_the_page_follows_a_run(tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    stored(path)
    write(tmp_path / "status", started=0, store=str(path), command=HOSTILE)
    with watching(tmp_path / "status") as port, Browser() as browser:
        browser.look(1280, 900)
        browser.open(f"http://127.0.0.1:{port}/watch", "secret")

        def shows(text: str) -> None:
            until(lambda: text in browser.ask(TEXT))

        shows("12 of 60 games")
        shows("<img src=x onerror=alert(1)>")
        assert browser.ask("document.querySelectorAll('img').length") == 0
        assert "secret" not in browser.ask("location.href")
        write(tmp_path / "status", started=0, store=str(path), progress=[{**facts()["progress"][0], "done": 13}])
        shows("13 of 60 games")
        stored(path, 3)
        shows("The last 3 of 3 games")
        if Path(AXE).exists():
            browser.ask(Path(AXE).read_text() + ";0")
            assert browser.ask("axe.run().then((found) => found.violations.map((one) => one.id))") == []
        if shots := os.environ.get("SCREENSHOTS"):
            browser.ask("document.querySelector('details').open = true")
            browser.picture(Path(shots) / "watch.png")
        assert browser.complaints == []
        browser.ask("document.querySelector('a[href]').click()")
        until(lambda: re.search("clique|years", browser.ask(TEXT)) is not None)
        assert "/watch/replay/" in browser.ask("location.href")
