"""The command `welfare-env`: what it prints where, its help, its errors and exit codes."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import evaluation
import welfare_env
from agents.runtime import progress
from evaluation import GameSpec
from evaluation.cli import attacks
from evaluation.cli.commands import app
from evaluation.cli.options import read_coalitions, usable_cores
from tests.evaluation.conftest import call, table_rows
from welfare_env import Rules

CODE = Path(evaluation.__file__).parents[1]
QUICK = ("--years", "1", "--message-rounds", "0", "--map", "pure", "--workers", "1")
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Tables and JSON


def cells(estimate: dict[str, Any], digits: int) -> str:
    games = estimate["per_game"]
    if len(set(games)) == 1:
        return f"{games[0]:.{digits}f} [identical]"
    if len(games) >= 5:
        return f"{estimate['value']:.{digits}f} [{estimate['low']:.{digits}f}, {estimate['high']:.{digits}f}]"
    return f"{estimate['value']:.{digits}f} ({min(games):.{digits}f} to {max(games):.{digits}f}, n={len(games)})"


def test_self_play_prints_the_same_numbers_as_table_and_as_json() -> None:
    command = ("self-play", "random", "dove", "--games", "3", "--years", "2", "--message-rounds", "0", "--workers", "1")
    table, plain = call(*command), json.loads(call(*command, "--json", "--csv", "rows.csv"))
    assert len(Path("rows.csv").read_text().splitlines()) == 1 + 2 * 3 * 7
    assert "\x1b" not in table  # no colors where nobody looks
    assert [result["policy"] for result in plain] == ["random", "dove"]
    assert "Differences from the first" in table
    assert table_rows(table)[:2] == [
        [
            result["policy"],
            cells(result["root_nash_welfare"], 3),
            *(cells(result[name], 2) for name in ("proficiency", "stolen_centers", "conflicts")),
        ]
        for result in plain
    ]
    assert "Self-play: welfare rules, standard map, years: 2, no press, games: 3" in table
    assert Path("runs/evaluation.sqlite").is_file()


def test_a_single_policy_is_told_power_by_power() -> None:
    first, *powers = table_rows(call("self-play", "prosocial", "--games", "1", *QUICK, "--map", "standard"))
    assert first == ["prosocial", "4.843", "1.00", "0.00", "0.00"]
    assert dict(powers) == dict.fromkeys(POWERS, "5.00") | {"ITALY": "4.00"}


def test_the_standard_variant_is_told_in_scores() -> None:
    command = ("self-play", "hold", "--variant", "standard", "--games", "1", *QUICK)
    shown = call(*command)
    first, *powers = table_rows(shown)
    assert first == ["hold", "0.143", "1.00", "0.00", "0.00"]
    assert "score (sum-of-squares)" in shown
    assert dict(powers) == dict.fromkeys(POWERS, f"{1 / 7:.2f}")
    assert json.loads(call(*command, "--json"))[0]["root_nash_welfare"]["value"] is None


def test_json_is_that_of_the_library() -> None:
    words = ("--press", "tokens", "--message-rounds", "2", "--years", "1", "--map", "pure", "--workers", "1")
    plain = json.loads(call("self-play", "random", "--games", "2", "--seed", "5", *words, "--json"))
    rules = Rules(years=1, press="tokens", message_rounds=2)
    assert plain == [evaluation.self_play("random", 2, seed=5, rules=rules, map_name="pure").to_dict()]
    rules = Rules(years=1, message_rounds=0)
    deviators = ("--deviator", "dumbbot", "--deviator", "hold")
    options = (*deviators, "--coalitions", "FRANCE,ITALY", "--games", "2", "--seed", "5", "--selection-games", "1")
    plain = json.loads(call("exploitability", "random", *options, *QUICK, "--json"))
    attack: dict[str, Any] = {"deviator": ("dumbbot", "hold"), "coalitions": ["FRANCE", "ITALY"], "selection_games": 1}
    library = evaluation.exploitability("random", 2, seed=5, rules=rules, map_name="pure", **attack)
    assert plain == library.to_dict()


def test_brackets_in_cells_are_shown_as_they_are() -> None:
    result = evaluation.exploitability("hold", 1, coalitions=["FRANCE"], rules=Rules(years=1, message_rounds=0))
    attack = ("[b]dove[/b]", result.best)
    told = str(replace(result, profile="[i]hold[/i]", attacks={attack[0]: result.deviating}, chosen=attack))
    assert all(part in told for part in ("[i]hold[/i]", "Deviator [b]dove[/b]"))


@pytest.mark.slow
def test_a_small_demo(monkeypatch: pytest.MonkeyPatch, played: list[GameSpec]) -> None:
    monkeypatch.setattr(attacks, "DEMO_GAMES", 1)
    monkeypatch.setattr(attacks, "DEMO_SELECTION_GAMES", 1)
    monkeypatch.setattr(attacks, "DEMO_POLICIES", ("hold", "prosocial"))
    monkeypatch.setattr(attacks, "DEMO_PROFILES", ("prosocial",))
    shown = call("demo", "--workers", "1")
    measured = 2 + 5 + 5 + 5  # the exploited profile's self-play is there already
    assert len(played) == measured + 2 + 3 * (5 + 4)  # for choosing: self-play, and two rounds of each
    rows = table_rows(shown)
    assert [row[:2] for row in rows] == [
        ["hold", "0.000"],
        ["prosocial", "4.843"],
        ["prosocial", "singles"],
        ["prosocial", "singles"],
        ["prosocial", "pairs"],
    ]
    assert all(float(row[3]) > 1 for row in rows[2:])
    assert shown.splitlines()[-1].endswith(f"to open in a browser: {Path('runs', 'demo.html')}")
    assert "F1904M" in Path("runs", "demo.html").read_text("utf-8")
    assert rows[3][2] == attacks.LEARNED
    assert float(rows[3][3]) > float(rows[2][3])
    assert call("demo", "--workers", "1") == shown
    plain = json.loads(call("demo", "--workers", "1", "--json"))
    assert [result["policy"] for result in plain["self_play"]] == ["hold", "prosocial"]
    assert [[result["profile"], f"{result['exploitability']['value']:.2f}"] for result in plain["exploitability"]] == [
        [row[0], row[3]] for row in rows[2:]
    ]
    assert len(played) == measured + 29


# Errors


WRONG = [
    ("self-play nobody", "unknown agent; known are best-reply, campaign, deterrent"),
    ("self-play program:FairBot", "Programs play in `welfare-env modal play` and `modal tournament`"),
    ("self-play hold --years 1001", "--years 1001"),
    ("self-play hold --press radio", "--press radio"),
    ("self-play dove --seats left", "--seats left: choose one of 'rotated', 'fixed', 'drawn'"),
    ("self-play hold --budget-tokens 5", "a budget is only for language models"),
    ("self-play lm:scripted/stub --budget-dollars 0", "max_dollars 0.0: give a limit above 0"),
    ("self-play lm:openai/nobody --budget-dollars 1", "no price is known"),
    ("self-play lm:x/:good:[red]", ":good:[red]"),
    ("exploitability hold --coalitions FRANCE+SPAIN", "unknown power 'SPAIN'"),
    ("exploitability hold --coalitions singels", "did you mean 'singles'?"),
    ("exploitability hold --coordinated --deviator dumbbot", "dumbbot: it does not play a coalition"),
    ("train welfare --workers 4 --games 2", "--workers 4: give at most 2, one per game"),
    (f"self-play hold --store {'y' * 5000}", "choose another path"),
    ("self-play hold --store folder", "folder, not a file"),
    ("experiment file/results.json --plot png", "file, not a folder"),
    ("train resume file", "file, not a folder"),
]


@pytest.mark.parametrize(("command", "words"), WRONG, ids=[command[:60] for command, _ in WRONG])
def test_errors_end_in_one_readable_line(
    here: Path, command: str, words: str, played: list[GameSpec], lasting_lines
) -> None:
    (here / "folder").mkdir()
    (here / "file").write_text("text")
    *costs, line = lasting_lines(call(*command.split(), code=2))  # what a game of a language model costs is said before
    assert played == []
    assert all(cost.startswith("scripted/stub: a game with itself") for cost in costs)
    assert line.startswith("error: ")
    assert words in line


@pytest.mark.parametrize(("arguments", "meant"), [(["self-paly"], "self-play"), (["train", "welfar"], "welfare")])
def test_a_near_miss_of_a_command(arguments: list[str], meant: str) -> None:
    assert f"Did you mean '{meant}'" in call(*arguments, code=2)


UNGUARDED = """
import evaluation
from welfare_env import Rules

options = {"map_name": "clique:3", "rules": Rules(years=1, press=None), "workers": 2}
"""
CALL = "print(evaluation.self_play('random', 3, **options).root_nash_welfare.n)"


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path: Path, lasting_lines) -> None:
    outcomes = []
    for script in (CALL, f"if __name__ == '__main__':\n    {CALL}"):
        (tmp_path / "script.py").write_text(UNGUARDED + script)
        outcomes.append(python("script.py", text=True))
    unguarded, guarded = outcomes
    assert unguarded.returncode == 1
    assert unguarded.stderr.count("Traceback") == 1
    assert "WorkerError: workers: each worker imports this script" in unguarded.stderr
    assert 'if __name__ == "__main__":' in unguarded.stderr
    assert len(lasting_lines(unguarded.stderr)) < 30
    assert (guarded.returncode, guarded.stdout, lasting_lines(guarded.stderr)) == (0, "3\n", [])


def test_coalitions_in_any_case():
    powers = welfare_env.load_board().powers
    assert read_coalitions("france,Germany + TURKEY", powers) == [["FRANCE"], ["GERMANY", "TURKEY"]]


def test_a_process_starts_as_many_workers_as_it_may_use_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert usable_cores() == 3


def test_games_that_were_stored_are_counted() -> None:
    def told(*words: str) -> str:
        board = ("--map", "clique:2", "--years", "1", "--message-rounds", "0", "--workers", "1")
        return CliRunner().invoke(app, [*words, *board, "--store", "games.sqlite"]).stderr

    assert "already stored" not in told("self-play", "hold", "--games", "2")
    assert "2 of 3 games were already stored" in told("self-play", "hold", "--games", "3")
    attack = told("exploitability", "hold", "--deviator", "dove", "--coalitions", "all-singles", "--games", "3")
    assert re.search(r"\b3 of \d\d games were already stored", attack)


def python(*arguments: str, text: bool = False, **variables: str) -> subprocess.CompletedProcess[Any]:
    """Python in the present folder."""
    environment = os.environ | {"PYTHONPATH": str(CODE)} | variables
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=text)


def test_help_loads_none_of_the_heavy_packages() -> None:
    unwanted = {"torch", "ray", "matplotlib", "scipy", "numba"}
    code = (
        "import sys\nfrom evaluation.cli.commands import app\n"
        "app(['--help'], prog_name='welfare-env', standalone_mode=False)\n"
        f"print('loaded', *sorted({unwanted!r} & sys.modules.keys()))"
    )
    done = python("-c", code)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"loaded"), done.stderr


@pytest.mark.slow
def test_players_of_ones_own_are_found_in_the_present_folder(tmp_path: Path) -> None:
    player = "from agents import HoldPolicy\n\n\nclass Mine(HoldPolicy):\n    pass\n"
    (tmp_path / "mine.py").write_text(player)
    (tmp_path / "typer.py").write_text("raise SystemExit('the folder hides what is installed')\n")
    code = "from evaluation.cli.main import main; main()"
    done = python("-c", code, "self-play", "import:mine.Mine", *SMALL, PYTHONSAFEPATH="1", COLUMNS="200")
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


@pytest.mark.slow
def test_progress_is_never_on_standard_output(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that prints JSON, in one folder, with lines of progress as often as may be."""
    monkeypatch.setattr(progress, "EVERY", 0)
    (here / "file.toml").write_text('title = "t"\nprofiles = ["dove"]\ngames = 1\nrules = {years = 1, press = "none"}')
    for number, arguments in enumerate(RESULTS):
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, (arguments, done.stderr)
        json.loads(done.stdout)
        assert number >= 5 or "playing: " in done.stderr


@pytest.mark.slow
def test_any_locale_prints_every_formula() -> None:
    code = "import sys; from modal_env.console import print_anything; print_anything(); print('\\u25a1 \\xe9 \\udcff')"
    told = []
    for encoding in ("", "latin-1"):
        done = python("-c", code, PYTHONUTF8="0", LC_ALL="C", PYTHONIOENCODING=encoding)
        told.append(done.stdout.strip())
    assert told == ["□ é \\udcff".encode(), b"\\u25a1 \xe9 \\udcff"]
