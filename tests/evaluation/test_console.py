"""The command `welfare-env`: one flat list, groups that are loaded when they are called, and exit codes."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import welfare_env
from agents.runtime import progress
from agents.specs import usages
from evaluation.cli.commands import app
from modal_env.cli.commands import app as modal_app
from training.cli.commands import app as train_app

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "self-play",
    "exploitability",
    "red-team",
    "cross-play",
    "compare",
    "experiment",
    "exact",
    "theorems",
    "games",
    "replay",
    "transcript",
    "messages",
    "import",
    "play",
    "check-model",
    "warm-up",
    "demo",
    "store",
    "train",
    "modal",
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            app(list(arguments), prog_name="welfare-env")
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, re.sub(r"[│\s]+", " ", captured.err)

    return call


def test_help_lists_all_commands(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert re.findall(r"^│ ([a-z][a-z-]*) ", out, re.MULTILINE) == list(COMMANDS)
    assert "--version" in out
    assert "--install-completion" in out
    assert f"Policies: {', '.join(usages())} (put a nested SPEC" in " ".join(out.replace("│", " ").split())


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of a group's commands, those of its groups included."""
    yield path
    for name in group.list_commands(None) if hasattr(group, "list_commands") else ():
        yield from commands(group.get_command(None, name), (*path, name))


def test_the_help_of_every_command_fits_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut off: the names of commands, and the lines that are."""
    monkeypatch.setenv("COLUMNS", "80")
    told = [(words, run(*words, "--help")[1]) for words in commands(get_command(app))]
    assert len(told) > 30
    assert [(words, line) for words, out in told for line in out.splitlines() if "…" in line] == []


def test_games_that_were_stored_are_counted(run: Run, tmp_path: Path) -> None:
    game = ("self-play", "hold", "--map", "clique:2", "--years", "1", "--message-rounds", "0", "--workers", "1")
    game += ("--store", str(tmp_path / "games.sqlite"))
    assert "already stored" not in run(*game, "--games", "2")[2]
    assert "2 of 3 games were already stored" in run(*game, "--games", "3")[2]
    attack = ("exploitability", "hold", "--deviator", "dove", "--coalitions", "all-singles", *game[2:], "--games", "3")
    assert re.search(r"\b3 of \d\d games were already stored", run(*attack)[2])  # not its own, looked up twice


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"welfare-env {welfare_env.__version__}\n", "")


@pytest.mark.parametrize(("group", "app"), [("train", train_app), ("modal", modal_app)])
def test_a_group_shows_the_commands_and_the_help_of_its_package(run: Run, group: str, app: object) -> None:
    code, out, _ = run(group, "--help")
    assert code == 0
    assert f"Usage: welfare-env {group} [OPTIONS] COMMAND" in out
    assert app.info.help.split(".")[0][:60] in out  # type: ignore[attr-defined]
    for registered in app.registered_commands:  # type: ignore[attr-defined]
        assert f"│ {registered.name or registered.callback.__name__} " in out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["self-paly"], "self-play"),
        (["train", "welfar"], "welfare"),
    ],
)
def test_a_near_miss_of_a_command(run: Run, arguments: list[str], meant: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert f"Did you mean '{meant}'" in err


FOLDER, FILE = "it is a folder, not a file", "is a file, not a folder"
MISPLACED = [
    (("self-play", "hold", "--store", "folder"), FOLDER),
    (("experiment", "folder"), FOLDER),
    (("self-play", "hold", "--store", "file/games.sqlite"), FILE),
    (("experiment", "file/results.json", "--plot", "png"), FILE),
    (("train", "resume", "file"), FILE),
]


@pytest.mark.parametrize(("command", "words"), MISPLACED, ids=[" ".join(command) for command, _ in MISPLACED])
def test_a_file_in_place_of_a_folder_and_a_folder_in_place_of_a_file(
    run: Run, tmp_path: Path, command: tuple[str, ...], words: str
) -> None:
    for folder in ("folder", "folder.png"):
        (tmp_path / folder).mkdir()
    (tmp_path / "file").write_text("text")
    code, _, err = run(*command)
    assert code == 2
    assert words in err


def _python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


def test_help_loads_none_of_the_heavy_packages(tmp_path: Path) -> None:
    unwanted = {"torch", "ray", "matplotlib", "scipy", "numba"}
    code = (
        "import sys\nfrom evaluation.cli.commands import app\n"
        "app(['--help'], prog_name='welfare-env', standalone_mode=False)\n"
        f"print('loaded', *sorted({unwanted!r} & sys.modules.keys()))"
    )
    done = _python(code, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "loaded"), done.stderr


@pytest.mark.slow
def test_training_without_torch_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom evaluation.cli.commands import app\n"
        "app(['train', 'welfare', '--iterations', '1'], prog_name='welfare-env')"
    )
    done = _python(code, tmp_path)
    assert done.returncode == 2
    assert "needs the extra train: in the clone, pip install -c constraints.txt -e '.[train]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_console_script_leads_here() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert table["scripts"] == {"welfare-env": "evaluation.cli.main:main"}


@pytest.mark.slow
def test_players_of_ones_own_are_found_in_the_present_folder(tmp_path: Path) -> None:
    player = "from agents import HoldPolicy\n\n\nclass Mine(HoldPolicy):\n    pass\n"
    (tmp_path / "mine.py").write_text(player)
    (tmp_path / "typer.py").write_text("raise SystemExit('the folder hides what is installed')\n")
    code = "from evaluation.cli.main import main; main()"
    arguments = ["--map", "clique:3", "--years", "1", "--games", "1", "--message-rounds", "0", "--workers", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", code, "self-play", "import:mine.Mine", *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "import:mine.Mine" in done.stdout


# Standard output holds the result and nothing else

SMALL = ("--games", "1", "--years", "1", "--message-rounds", "0", "--map", "clique:2", "--workers", "1")
RESULTS: dict[str, tuple[str, ...]] = {
    "self-play": ("self-play", "dove", *SMALL, "--json"),
    "exploitability": ("exploitability", "dove", "--coalitions", "PLAYERA", *SMALL, "--json"),
    "cross-play": ("cross-play", "dove", "hold", "--seats", "drawn", *SMALL, "--json"),
    "red-team": ("red-team", "hold", "--budget", "quick", *SMALL, "--json"),
    "experiment": ("experiment", "file.toml", "--workers", "1", "--json"),
    "theorems": ("theorems", "--map", "clique:3", "--years", "1", "--json"),
    "games": ("games", "--json"),
    "messages": ("messages", "--json"),
    "store export": ("store", "export", "copy.sqlite", "--json"),
    "store merge": ("store", "merge", "copy.sqlite", "--store", "merged.sqlite", "--json"),
}
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
def test_progress_is_never_on_standard_output(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that prints JSON, in one folder, with lines of progress as often as may be."""
    monkeypatch.setattr(progress, "EVERY", 0)
    (tmp_path / "file.toml").write_text(FILE)
    for name, arguments in RESULTS.items():
        code, out, err = run(*arguments)
        assert code == 0, (name, err)
        json.loads(out)
        if name in ("self-play", "exploitability", "cross-play", "red-team", "experiment"):
            assert "playing: " in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["self-play", "dove", "--seats", "left"], "--seats left: choose one of 'rotated', 'fixed', 'drawn'"),
        (["cross-play", "dove", "random", "--games", "3"], "or --seats drawn"),
        (["train", "welfare", "--workers", "4", "--games", "2"], "--workers 4: give at most 2, one per game"),
        (["self-play", "exploiter:nice=x"], "exploiter:nice=x"),
    ],
)
def test_errors_name_the_options_of_the_command(run: Run, arguments: list[str], told: str) -> None:
    code, _, error = run(*arguments)
    assert code == 2
    assert told in error


@pytest.mark.slow
def test_any_locale_prints_every_formula(tmp_path: Path) -> None:
    code = "import sys; from modal_env.console import print_anything; print_anything(); print('\\u25a1 \\xe9 \\udcff')"
    told = []
    for encoding in ("", "latin-1"):
        environment = os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": encoding}
        environment |= {"PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        told.append(done.stdout.strip())
    assert told == ["□ é \\udcff".encode(), b"\\u25a1 \xe9 \\udcff"]
