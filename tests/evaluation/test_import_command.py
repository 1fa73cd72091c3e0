"""`welfare-env import`: a game of the `diplomacy` package becomes one that `replay` reads."""

import contextlib
import io
import json

import diplomacy
import pytest
from diplomacy.utils.export import to_saved_game_format
from typer.testing import CliRunner

from evaluation.cli.commands import app


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """The first phases of a game in which all units hold, in the current folder."""
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = diplomacy.Game()
    while theirs.get_current_phase() != "S1902M":
        theirs.process()
    path = tmp_path / "game.json"
    path.write_text(json.dumps(to_saved_game_format(theirs)), encoding="utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(app, [*arguments])


def test_it_writes_a_game_that_replay_reads(saved, tmp_path):
    done = run("import", "game.json")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == "diplomacy: standard map, standard rules, S1901M to F1901M, 2 phases"
    assert run("replay", "game-imported.json", "-o", "game.html").exit_code == 0
    assert (tmp_path / "game.html").read_text(encoding="utf-8").startswith("<!doctype html")


def test_it_does_not_replace_the_file_that_it_reads(saved):
    before = saved.read_bytes()
    done = run("import", "game.json", "--out", "./game.json")
    assert done.exit_code == 2
    assert "is the file that is read" in done.output
    assert saved.read_bytes() == before


def test_errors_are_one_line(saved):
    done = run("import", "game.json", "--until", "F1999M")
    assert done.exit_code == 2
    assert "'game.json': phase 'F1999M': the file has S1901M to S1902M" in done.output
