"""The commands that host games: budgets of language models, and links that the host makes."""

import io
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("starlette")

from evaluation.cli.commands import app
from evaluation.web.foundation.guard import MAX_BODY_WITHOUT_TEXT
from evaluation.web.games.hosting import Host
from evaluation.web.games.links import LinkRefused, Links
from evaluation.web.games.settings import load_settings
from welfare_env import WelfareEnvError, load_board
from welfare_env.game.press import MAX_MESSAGE_LENGTH, recipients

GAME = """
profile = "FRANCE*human: + 6*{others}"
late = "{late}"
"""
BROWSER = "a browser's own number"


def run(*given: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, given, env={"COLUMNS": "300", "OPENAI_API_KEY": "none"})
    return found.exit_code, found.output


@pytest.mark.parametrize(
    ("lines", "blamed"),
    [
        ("[rules]\nyeers = 3", r"'yeers' \(did you mean 'years'\?\)"),
        ("map = 5", "^map 5"),
        ("late = 3", "^late 3"),
        ("seed = 'x'", "seed"),
        ("[deadlines]\nmessages = -1", r"\[deadlines\] messages"),
        ("begins = 'now'", "did you mean 'begin'"),
    ],
)
def test_an_error_of_a_file_names_its_entry(tmp_path: Path, lines: str, blamed: str) -> None:
    (tmp_path / "game.toml").write_text(f'profile = "FRANCE*human: + 6*hold"\n{lines}\n')
    with pytest.raises(WelfareEnvError, match=blamed):
        load_settings(tmp_path / "game.toml")


def test_the_longest_legal_messages_fit(tmp_path: Path, monkeypatch, quick_settings) -> None:
    settings = quick_settings("FRANCE*human: + 6*hold", map_name="standard")
    board, rules = load_board(settings.map_name), settings.rules
    longest = dict.fromkeys(recipients(board, rules, "FRANCE"), "\U0001f600" * MAX_MESSAGE_LENGTH)
    assert len(json.dumps({"messages": longest})) <= settings.most_text + MAX_BODY_WITHOUT_TEXT
    assert quick_settings("PLAYERA*human: + 2*hold", rules=type(rules)(years=1, message_rounds=0)).most_text == 0
    made = []
    monkeypatch.setattr("evaluation.web.foundation.serving.run_site", lambda site, *given: made.append(site))
    monkeypatch.setattr("welfare_env.engine.fast.ensure_compiled", lambda: None)
    (tmp_path / "game.toml").write_text('profile = "FRANCE*human: + 6*hold"\n')
    given = ("--folder", str(tmp_path / "games"), "--store", str(tmp_path / "store"))
    assert run("serve", str(tmp_path / "game.toml"), *given)[0] == 0
    assert made[0].most_body == settings.most_text + MAX_BODY_WITHOUT_TEXT


def test_a_start_that_fails_leaves_no_game(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("welfare_env.engine.fast.ensure_compiled", lambda: None)
    (tmp_path / "game.toml").write_text('profile = "FRANCE*human: + 6*hold"\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = ("--port", port, "--folder", str(tmp_path / "games"), "--store", str(tmp_path / "store"))
        for command in (("serve", str(tmp_path / "game.toml")), ("play", "FRANCE", "--others", "hold", "--no-browser")):
            code, told = run(*command, *given)
            assert (code, "give another --port" in told) == (2, True)
    assert not list((tmp_path / "games").iterdir())


@pytest.mark.parametrize(("others", "late"), [("lm:openai/any", "hold"), ("hold", "lm:openai/any")])
def test_games_with_people_and_language_models_need_a_budget(tmp_path: Path, others: str, late: str) -> None:
    file = tmp_path / "game.toml"
    file.write_text(GAME.format(others=others, late=late))
    code, told = run("serve", str(file), "--folder", str(tmp_path / "games"))
    assert (code, "--budget-tokens or --budget-dollars" in told) == (2, True)
    assert not (tmp_path / "games").exists()


def test_play_needs_a_budget_for_language_models_and_for_nobody_else(tmp_path: Path) -> None:
    code, told = run("play", "FRANCE", "--others", "lm:openai/any", "--terminal")
    assert (code, "--budget-tokens or --budget-dollars" in told) == (2, True)
    code, told = run("play", "FRANCE", "--others", "hold", "--budget-tokens", "9", "--terminal")
    assert (code, "no policy here uses one" in told) == (2, True)


def test_the_host_makes_another_link(tmp_path: Path, quick_settings) -> None:
    host = Host(tmp_path / "games")
    name = host.create(quick_settings("PLAYERA*human: + 2*hold", spectators="public"))
    folder = tmp_path / "games" / name
    code, told = run("invite", str(folder), "playera")
    assert (code, "never served" in told, "/g/" in told) == (2, True, False)
    host.links(name).serve("https://play.example.org")
    code, told = run("invite", str(folder), "playera")
    where, _, token = told.strip().partition("#")
    assert (code, where) == (0, f"https://play.example.org/g/{name}/PLAYERA")
    links = Links(folder)
    assert links.redeem("PLAYERA", token, BROWSER) == 0
    assert token not in "".join(path.read_text() for path in folder.iterdir())
    alone = run("invite", str(folder), "PLAYERA", "--alone")[1].strip().partition("#")[2]
    assert links.redeem("PLAYERA", alone, BROWSER) == 1
    with pytest.raises(LinkRefused, match="the host has replaced this link"):
        links.redeem("PLAYERA", token, BROWSER)
    assert run("invite", str(folder), "spectator")[0] == 0
    code, told = run("invite", str(folder), "spectator", "--alone")
    assert (code, "only for powers" in told) == (2, True)
    for wrong in ((str(folder), "PLAYERB"), (str(tmp_path / "none"), "PLAYERA"), (str(tmp_path), "PLAYERA")):
        assert run("invite", *wrong)[0] != 0
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "links.jsonl").exists()
    assert json.loads((folder / "links.jsonl").read_text().splitlines()[0])["kind"] == "served"


@pytest.mark.parametrize("typed", ["quit\n", "A PAR H\n"], ids=["quit", "Ctrl-D"])
def test_who_leaves_the_terminal_is_told_what_is_saved(typed: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """No error: the person wanted to leave."""
    terminal = io.StringIO(typed)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        app(["play", "FRANCE", "--terminal", "--years", "1", "--message-rounds", "0", "--others", "hold"])
    told = capsys.readouterr()
    assert ended.value.code in (0, None)
    assert told.out.endswith(
        "FRANCE in S1901M: you left the game; the terminal saves only finished games, the browser all\n"
    )
    assert "error" not in told.err
