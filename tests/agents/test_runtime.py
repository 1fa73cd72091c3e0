"""What commands show: progress, tables, errors in the words of the command; and connecting to a Ray cluster."""

import re
import socket
import sys
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from agents.runtime import progress
from agents.runtime.command_options import in_options
from agents.runtime.progress import Meter, metered
from agents.runtime.ray_cluster import connect
from agents.runtime.tables import new_table, print_tables
from modal_env.console import plain_console

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_without_a_terminal_lines_come_at_steps(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", float("inf"))
    with metered("playing", 60, "games") as meter:
        meter.advance(11)
        assert capsys.readouterr() == ("", "")
        monkeypatch.setattr(progress, "EVERY", 0.0)
        meter.advance(1)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(r"^playing: 12 of 60 games, 0:\d\d:\d\d so far", err, re.M)


def test_the_time_left_is_that_of_the_pace() -> None:
    clock = [0.0]
    meter = Meter(is_watched=False)
    meter.bar.get_time = lambda: clock[0]
    meter.stage("playing", 100, "games")
    meter.advance(50)  # found in the store: no pace
    assert meter.line() == "playing: 50 of 100 games, 0:00:00 so far"
    for seconds in (10.0, 20.0):
        clock[0] = seconds
        meter.advance(5)
    assert meter.line() == "playing: 60 of 100 games, 0:00:20 so far, about 0:01:20 left"
    meter.stage("learning", 3, "iterations")
    clock[0] = 7300.0
    meter.reach(3, "return 1.0")
    assert meter.line() == "return 1.0: 3 of 3 iterations, 2:01:20 so far"


def test_texts_are_shown_as_they_are(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "lm:x/:good:free [bold]b[/] [link=x] 'a' 1"
    plain_console().print(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with metered("[]X(me) :good:", 3, "[red]") as meter:
        meter.advance(3)
    shown = ESCAPES.sub("", capsys.readouterr().err)
    assert "[]X(me) :good:" in shown
    assert "3/3 [red]" in shown


SPEC = "exploiter:nice=prosocial,attack=(posse:force=2,more=0),units=never,last_years=0,years=1,centers=4"


@pytest.mark.parametrize("width", ["60", ""])
def test_numbers_and_words_stay_whole(capsys, monkeypatch, width):
    """Though a table is wider than the terminal; in a file it is wide."""
    monkeypatch.setenv("COLUMNS", width)
    columns = ["|policy", *(f">gain in case {number}" for number in range(6))]
    rows = [(SPEC, *["-12.34 [-13.45, -11.23]"] * 6)]
    print_tables(new_table(f"The attacks of {SPEC}", "mean [95% bootstrap interval]; " * 4, columns, rows))
    text = capsys.readouterr().out
    assert text.count("-12.34") == text.count("-11.23]") == 6
    assert text.count("bootstrap") == 4
    first = [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")]
    assert "".join(first) == SPEC
    assert (max(map(len, text.splitlines())) > 100) == (not width)


TOLD = {
    "an option": ("give press='none' or games=3", "give --press none or --games 3"),
    "an empty value": ("press='': choose one", "--press '': choose one"),
    "a flag": ("private=True needs press='none'", "--private needs --press none"),
    "either value of a flag": ("give private=True or False", "give private=True or False"),
    "quoted": (
        "agent spec 'noisy:of=dove, games=3', at 'games=3'",
        "agent spec 'noisy:of=dove, games=3', at 'games=3'",
    ),
    "quoted twice": ('"it\'s, games=3" needs games=3', '"it\'s, games=3" needs --games 3'),
    "an apostrophe": ("the map's seats: games=3, the players' words", "the map's seats: --games 3, the players' words"),
    "a value of many words": ("games='1, games=2': give games=3", "games='1, games=2': give --games 3"),
}


@pytest.mark.parametrize(("text", "told"), TOLD.values(), ids=TOLD)
def test_assignments_become_options_but_the_users_own_text_stays(text: str, told: str) -> None:
    app = typer.Typer()

    @app.command()
    def command(
        games: Annotated[int, typer.Option()] = 1,
        press: Annotated[str, typer.Option()] = "full",
        private: Annotated[bool, typer.Option("--private")] = False,
    ) -> None:
        print(in_options(text))

    assert CliRunner().invoke(app, []).output == f"{told}\n"


def test_an_address_where_somebody_listens_is_given_to_ray(monkeypatch):
    ray, seen = pytest.importorskip("ray"), []
    monkeypatch.setattr(ray, "init", lambda **options: seen.append(options["address"]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for where in (address, "auto", None):
            connect(where, ValueError)
    with pytest.raises(ValueError, match=r"127\.0\.0\.1"):
        connect(address, ValueError)
    assert seen == [address, "auto", None]


def test_an_error_of_ray_is_ours(monkeypatch):
    ray = pytest.importorskip("ray")

    def refuse(**options):
        raise ray.exceptions.AuthenticationError("no authentication token was found")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ValueError, match="ray_address='auto'"):
        connect("auto", ValueError)
