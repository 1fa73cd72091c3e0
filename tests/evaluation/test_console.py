"""The command `welfare-env`: one flat list, groups that are loaded when they are called, and exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import welfare_env
from agents.runtime import progress
from evaluation.cli.commands import app
from tests.evaluation.conftest import call

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of a group's commands, those of its groups included."""
    yield path
    for name in group.list_commands(None) if hasattr(group, "list_commands") else ():
        yield from commands(group.get_command(None, name), (*path, name))


def test_the_help_of_every_command_fits_a_narrow_terminal() -> None:
    """Nothing is cut off: the names of commands, and the lines that are."""
    narrow = {"COLUMNS": "80"}
    told = [
        (words, CliRunner().invoke(app, [*words, "--help"], env=narrow).output) for words in commands(get_command(app))
    ]
    assert len(told) > 30
    assert [(words, line) for words, out in told for line in out.splitlines() if "…" in line] == []


def test_games_that_were_stored_are_counted() -> None:
    def told(*words: str) -> str:
        board = ("--map", "clique:2", "--years", "1", "--message-rounds", "0", "--workers", "1")
        return CliRunner().invoke(app, [*words, *board, "--store", "games.sqlite"]).stderr

    assert "already stored" not in told("self-play", "hold", "--games", "2")
    assert "2 of 3 games were already stored" in told("self-play", "hold", "--games", "3")
    attack = told("exploitability", "hold", "--deviator", "dove", "--coalitions", "all-singles", "--games", "3")
    assert re.search(r"\b3 of \d\d games were already stored", attack)  # not its own, looked up twice


def test_version() -> None:
    assert call("--version") == f"welfare-env {welfare_env.__version__}\n"


@pytest.mark.parametrize(("arguments", "meant"), [(["self-paly"], "self-play"), (["train", "welfar"], "welfare")])
def test_a_near_miss_of_a_command(arguments: list[str], meant: str) -> None:
    assert f"Did you mean '{meant}'" in call(*arguments, code=2)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("self-play hold --store folder", "folder, not a file"),
        ("experiment folder", "folder, not a file"),
        ("self-play hold --store file/games.sqlite", "file, not a folder"),
        ("experiment file/results.json --plot png", "file, not a folder"),
        ("train resume file", "file, not a folder"),
    ],
)
def test_a_file_in_place_of_a_folder_and_a_folder_in_place_of_a_file(here: Path, command: str, words: str) -> None:
    (here / "folder").mkdir()
    (here / "file").write_text("text")
    assert words in call(*command.split(), code=2)


def _python(folder: Path, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, env=environment, capture_output=True)


def test_help_loads_none_of_the_heavy_packages(tmp_path: Path) -> None:
    unwanted = {"torch", "ray", "matplotlib", "scipy", "numba"}
    code = (
        "import sys\nfrom evaluation.cli.commands import app\n"
        "app(['--help'], prog_name='welfare-env', standalone_mode=False)\n"
        f"print('loaded', *sorted({unwanted!r} & sys.modules.keys()))"
    )
    done = _python(tmp_path, code)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"loaded"), done.stderr


@pytest.mark.slow
def test_players_of_ones_own_are_found_in_the_present_folder(tmp_path: Path) -> None:
    player = "from agents import HoldPolicy\n\n\nclass Mine(HoldPolicy):\n    pass\n"
    (tmp_path / "mine.py").write_text(player)
    (tmp_path / "typer.py").write_text("raise SystemExit('the folder hides what is installed')\n")
    code = "from evaluation.cli.main import main; main()"
    done = _python(tmp_path, code, "self-play", "import:mine.Mine", *SMALL, PYTHONSAFEPATH="1", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert b"import:mine.Mine" in done.stdout


# Standard output holds the result and nothing else

SMALL = ("--games", "1", "--years", "1", "--message-rounds", "0", "--map", "clique:2", "--workers", "1")
RESULTS: list[tuple[str, ...]] = [  # five play games
    ("self-play", "dove", *SMALL),
    ("exploitability", "dove", "--coalitions", "PLAYERA", *SMALL),
    ("cross-play", "dove", "hold", "--seats", "drawn", *SMALL),
    ("red-team", "hold", "--budget", "quick", *SMALL),
    ("experiment", "file.toml", "--workers", "1"),
    ("theorems", "--map", "clique:3", "--years", "1"),
    ("games",),
    ("messages",),
    ("store", "export", "copy.sqlite"),
    ("store", "merge", "copy.sqlite", "--store", "merged.sqlite"),
]
FILE = """
title = "t"
question = "q"
measure = "self-play"
games = 1
profiles = ["dove"]

[rules]
years = 1
message_rounds = 0
"""


@pytest.mark.slow
def test_progress_is_never_on_standard_output(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that prints JSON, in one folder, with lines of progress as often as may be."""
    monkeypatch.setattr(progress, "EVERY", 0)
    (here / "file.toml").write_text(FILE)
    for number, arguments in enumerate(RESULTS):
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, (arguments, done.stderr)
        json.loads(done.stdout)
        assert number >= 5 or "playing: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["self-play", "dove", "--seats", "left"], "--seats left: choose one of 'rotated', 'fixed', 'drawn'"),
        (["cross-play", "dove", "random", "--games", "3"], "or --seats drawn"),
        (["train", "welfare", "--workers", "4", "--games", "2"], "--workers 4: give at most 2, one per game"),
        (["self-play", "exploiter:nice=x"], "exploiter:nice=x"),
    ],
)
def test_errors_name_the_options_of_the_command(arguments: list[str], told: str) -> None:
    assert told in call(*arguments, code=2)


@pytest.mark.slow
def test_any_locale_prints_every_formula(tmp_path: Path) -> None:
    code = "import sys; from modal_env.console import print_anything; print_anything(); print('\\u25a1 \\xe9 \\udcff')"
    told = []
    for encoding in ("", "latin-1"):
        done = _python(tmp_path, code, PYTHONUTF8="0", LC_ALL="C", PYTHONIOENCODING=encoding)
        told.append(done.stdout.strip())
    assert told == ["□ é \\udcff".encode(), b"\\u25a1 \xe9 \\udcff"]
