"""What commands show of long work, on a terminal and without one."""

from __future__ import annotations

import re
import sys

import pytest

from agents.runtime import progress
from agents.runtime.progress import Meter, metered
from modal_env.console import plain_console

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_without_a_terminal_lines_come_at_steps(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", float("inf"))
    with metered("playing", 60, "games") as meter:
        meter.advance(11)
        monkeypatch.setattr(progress, "EVERY", 0.0)
        meter.advance(1)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(r"^playing: 12 of 60 games, 0:\d\d:\d\d so far", err, re.M)


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", float("inf"))
    with metered("playing", 60, "games") as meter:
        meter.advance(60)
    assert capsys.readouterr() == ("", "")


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
