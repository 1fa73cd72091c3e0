"""The command `play`: links and their renewal, continued games, budgets of language models, the terminal."""

import asyncio
import io
import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

pytest.importorskip("starlette")

from evaluation.cli.commands import app
from evaluation.web.seats import GameFolder
from evaluation.web.serving import MAX_BODY, Address
from tests.evaluation.web.conftest import quick
from welfare_env import Rules, load_board
from welfare_env.game.press import MAX_MESSAGE_LENGTH, recipients

BROWSER = "a browser's own number"
QUICK = ("--years", "1", "--message-rounds", "0", "--others", "hold")


def run(*given: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["play", *given], env={"COLUMNS": "300", "OPENAI_API_KEY": "none"})
    return found.exit_code, found.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """A folder of its own, and no compiling."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("welfare_env.engine.fast.ensure_compiled", lambda: None)
    return tmp_path


@pytest.fixture
def made(here: Path, monkeypatch) -> None:
    """Servers start, and end at once."""

    async def start_and_end(site) -> None:
        async with site.app.router.lifespan_context(site.app):
            pass

    def made(site):
        return SimpleNamespace(run=lambda sockets: asyncio.run(start_and_end(site)))

    monkeypatch.setattr("evaluation.web.serving.make_server", made)


def test_the_longest_legal_messages_fit() -> None:
    board, rules = load_board("standard"), Rules()
    longest = dict.fromkeys(recipients(board, rules, "FRANCE"), "\U0001f600" * MAX_MESSAGE_LENGTH)
    assert len(json.dumps({"messages": longest})) <= MAX_BODY


def test_one_person_gets_the_browser_and_several_get_links(made, monkeypatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, told = run("france", *QUICK)
    assert (code, re.search(r"FRANCE: (\S+)", told)[1]) == (0, opened[0])
    code, told = run("FRANCE", "ENGLAND", "--spectators", *QUICK, "--public-url", "https://play.test")
    links = re.findall(r"(\w+): https://play.test/g/\w+/\w+#[\w-]{43}\n", told)
    assert (code, links, len(opened)) == (0, ["ENGLAND", "FRANCE", "SPECTATOR"], 1)
    folder = re.search(r"welfare-env play (\S+)\n", told)[1]
    address = GameFolder(Path(folder)).address
    assert address.is_secure
    run(folder, "--host", "localhost")
    run(folder)
    assert GameFolder(Path(folder)).address == replace(address, host="localhost")


def test_a_start_that_fails_leaves_no_game(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, told = run("FRANCE", "ENGLAND", *QUICK, "--port", str(taken.getsockname()[1]))
    assert (code, "give another --port" in told) == (2, True)
    for wrong, words in (
        ("FRANCE --others import:nowhere.Mine", "nowhere"),
        ("FRANCE --minutes 1e9", "--minutes"),
        ("FRANCE ENGLAND --terminal", "--terminal is for one person"),
        ("FRANCE --others lm:openai/any --terminal", "--budget-tokens or --budget-dollars"),
        ("FRANCE --others hold --no-browser --budget-tokens 9", "no policy here uses one"),
    ):
        code, told = run(*wrong.split())
        assert (code, told.count("\n"), told.startswith("error: "), words in told) == (2, 1, True, True), told
    assert not list(here.glob("runs/play/*"))


def test_nothing_is_handed_out_before_it_can_work(made, here: Path) -> None:
    """A game that another process plays keeps its address and links; so does one whose result could not be stored."""
    folder = Path(re.search(r"welfare-env play (\S+)\n", run("FRANCE", "ENGLAND", *QUICK)[1])[1])
    seats = GameFolder(folder)
    before = seats.journal.entries()
    seats.lock()
    code, told = run(str(folder), "--host", "localhost")
    assert (code, "another process plays this game" in told, "#" in told) == (2, True, False)
    seats.release()
    for option, given in (("--store", str(here)), ("--store", "/dev/null")):
        code, told = run(str(folder), option, given)
        assert (code, "#" in told, given in told) == (2, False, True), told
    assert GameFolder(here / folder).journal.entries() == before
    assert len(list((here / "runs" / "play").iterdir())) == 1


def test_the_host_makes_another_link(tmp_path: Path) -> None:
    settings = quick("PLAYERA*human: + 2*hold", has_spectators=True)
    links = GameFolder.create(tmp_path / "games", settings, Address(public_url="https://play.example.org"))
    folder = links.folder
    code, told = run(str(folder), "--link", "playera")
    where, _, token = told.strip().partition("#")
    assert (code, where) == (0, f"https://play.example.org/g/{folder.name}/PLAYERA")
    assert links.redeem("PLAYERA", token, BROWSER) == 1
    token = run(str(folder), "--link", "spectator")[1].strip().partition("#")[2]
    assert links.redeem("SPECTATOR", token, BROWSER) == 0
    for wrong in ((str(folder), "PLAYERB"), (str(tmp_path / "none"), "PLAYERA"), (str(tmp_path), "PLAYERA")):
        assert run(wrong[0], "--link", wrong[1])[0] == 2
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "game.sqlite").exists()


def test_who_leaves_the_terminal_is_told_what_is_saved(here: Path, monkeypatch, capsys) -> None:
    """No error: the person wanted to leave."""
    terminal = io.StringIO("A PAR H\n")
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    with pytest.raises(SystemExit) as ended:
        app(["play", "FRANCE", "--terminal", *QUICK])
    told = capsys.readouterr()
    assert ended.value.code in (0, None)
    assert told.out.endswith(
        "FRANCE in S1901M: you left the game; the terminal saves only finished games, the browser all\n"
    )
    assert "error" not in told.err
