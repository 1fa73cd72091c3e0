"""The command line: what it prints where, its help and its errors."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console

import evaluation
import welfare_env
from evaluation import GameSpec
from evaluation.cli import attacks
from evaluation.cli import commands as command_line
from evaluation.cli.options import read_coalitions
from evaluation.tables.attack_tables import coalition_tables, exploitability_table
from welfare_env import Rules
from welfare_env.game.record import load_record

CODE = Path(evaluation.__file__).parents[1]
QUICK = ("--years", "1", "--message-rounds", "0", "--map", "pure", "--workers", "1")
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def rows(self) -> list[list[str]]:
        """The cells of every table row."""
        return [[cell.strip() for cell in line.split("│")[1:-1]] for line in self.out.splitlines() if line[:1] == "│"]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")  # rich folds help and errors by it

    def run(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            command_line.app(list(arguments))
        return Outcome(ended.value.code or 0, *capsys.readouterr())

    return run


# Tables and JSON


def cells(estimate: dict[str, Any], digits: int) -> str:
    games = estimate["per_game"]
    if len(set(games)) == 1:
        return f"{games[0]:.{digits}f} [identical]"
    if len(games) >= 5:
        return f"{estimate['value']:.{digits}f} [{estimate['low']:.{digits}f}, {estimate['high']:.{digits}f}]"
    return f"{estimate['value']:.{digits}f} ({min(games):.{digits}f} to {max(games):.{digits}f}, n={len(games)})"


def test_self_play_prints_the_same_numbers_as_table_and_as_json(
    cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # all columns in one table
    command = ("self-play", "random", "dove", "--games", "3", "--years", "2", "--message-rounds", "0")
    table, plain = cli(*command, "--workers", "1"), cli(*command, "--workers", "1", "--json")
    assert (table.code, plain.code) == (0, 0)
    assert re.fullmatch(r"(\d+) of \1 games were already stored\n", plain.err)
    assert "\x1b" not in table.out  # no colors where nobody looks
    assert [result["policy"] for result in plain.json] == ["random", "dove"]
    assert "Differences from the first" in table.out
    assert table.rows()[:2] == [
        [
            result["policy"],
            cells(result["root_nash_welfare"], 3),
            *(cells(result[name], 2) for name in ("proficiency", "stolen_centers", "conflicts")),
        ]
        for result in plain.json
    ]
    before, _, after = table.out.partition("┏")
    assert " ".join(before.split()) == "Self-play: welfare rules, standard map, years: 2, no press, games: 3"
    assert "mean [95% interval]; fewer than 5 games: (least to greatest)" in " ".join(after.split())
    assert Path("runs/evaluation.sqlite").is_file()


def test_a_single_policy_is_told_power_by_power(cli: Callable[..., Outcome]) -> None:
    outcome = cli("self-play", "prosocial", "--games", "2", "--years", "1", "--message-rounds", "0", "--workers", "1")
    assert ["prosocial", "4.843 [identical]", "1.00 [identical]", *["0.00 [identical]"] * 2] in outcome.rows()
    assert "Differences" not in outcome.out
    shares = {row[0]: row[1] for row in outcome.rows() if row[0] in POWERS}
    assert shares == dict.fromkeys(POWERS, "5.00 [identical]") | {"ITALY": "4.00 [identical]"}


def test_the_standard_variant_is_told_in_scores(cli: Callable[..., Outcome]) -> None:
    command = ("self-play", "hold", "--variant", "standard", "--games", "1", *QUICK)
    table = cli(*command)
    assert table.rows()[0] == ["hold", "0.143", "1.00", "0.00", "0.00"]
    assert "score (sum-of-squares)" in table.out
    assert dict(table.rows()[1:]) == dict.fromkeys(POWERS, f"{1 / 7:.2f}")
    assert cli(*command, "--json").json[0]["root_nash_welfare"]["value"] is None


def test_json_is_that_of_the_library(cli: Callable[..., Outcome]) -> None:
    words = ("--press", "tokens", "--message-rounds", "2", "--years", "1", "--map", "pure", "--workers", "1")
    plain = cli("self-play", "random", "--games", "2", "--seed", "5", *words, "--json").json
    rules = Rules(years=1, press="tokens", message_rounds=2)
    assert plain == [evaluation.self_play("random", 2, seed=5, rules=rules, map_name="pure").to_dict()]
    rules = Rules(years=1, message_rounds=0)
    deviators = ("--deviator", "dumbbot", "--deviator", "hold")
    options = (*deviators, "--coalitions", "FRANCE,ITALY", "--games", "2", "--seed", "5", "--selection-games", "1")
    plain = cli("exploitability", "random", *options, *QUICK, "--json").json
    attack: dict[str, Any] = {"deviator": ("dumbbot", "hold"), "coalitions": ["FRANCE", "ITALY"], "selection_games": 1}
    library = evaluation.exploitability("random", 2, seed=5, rules=rules, map_name="pure", **attack)
    assert plain == library.to_dict()


def test_a_witness(cli: Callable[..., Outcome], tmp_path: Path) -> None:
    options = ("--deviator", "dumbbot", "--coalitions", "FRANCE", *QUICK)
    plain = cli("exploitability", "random", *options, "--witness", str(tmp_path / "game.json"), "--json").json
    assert load_record(tmp_path / "game.json")["welfare_env"]["seed"] == plain["witness"]["seed"]


def test_brackets_in_cells_are_shown_as_they_are() -> None:
    result = evaluation.exploitability("hold", 1, coalitions=["FRANCE"], rules=Rules(years=1, message_rounds=0))
    attack = ("[b]dove[/b]", result.best)
    told = replace(result, profile="[i]hold[/i]", attacks={attack[0]: result.deviating}, chosen=attack)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(exploitability_table([told], ["[s]singles"]), *coalition_tables(told))
    text = console.export_text()
    assert all(part in text for part in ("[i]hold[/i]", "Deviator [b]dove[/b]", "[s]singles"))


@pytest.mark.slow
def test_a_small_demo(cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, played: list[GameSpec]) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # no name is folded
    monkeypatch.setattr(attacks, "DEMO_GAMES", 1)
    monkeypatch.setattr(attacks, "DEMO_SELECTION_GAMES", 1)
    monkeypatch.setattr(attacks, "DEMO_POLICIES", ("hold", "prosocial"))
    monkeypatch.setattr(attacks, "DEMO_PROFILES", ("prosocial",))
    outcome = cli("demo", "--workers", "1")
    assert outcome.code == 0
    measured = 2 + 5 + 5 + 5  # the exploited profile's self-play is there already
    assert len(played) == measured + 2 + 3 * (5 + 4)  # for choosing: self-play, and two rounds of each
    rows = outcome.rows()
    assert [row[:2] for row in rows] == [
        ["hold", "0.000"],
        ["prosocial", "4.843"],
        ["prosocial", "singles"],
        ["prosocial", "singles"],
        ["prosocial", "pairs"],
    ]
    assert all(float(row[3]) > 1 for row in rows[2:])
    assert outcome.out.splitlines()[-1].endswith(f"to open in a browser: {Path('runs', 'demo.html')}")
    assert "F1904M" in Path("runs", "demo.html").read_text("utf-8")
    assert rows[3][2] == attacks.LEARNED
    assert float(rows[3][3]) > float(rows[2][3])
    assert cli("demo", "--workers", "1").out == outcome.out
    plain = cli("demo", "--workers", "1", "--json").json
    assert [result["policy"] for result in plain["self_play"]] == ["hold", "prosocial"]
    assert [[result["profile"], f"{result['exploitability']['value']:.2f}"] for result in plain["exploitability"]] == [
        [row[0], row[3]] for row in rows[2:]
    ]
    assert len(played) == measured + 29


# Errors


WRONG = [
    (("self-play", "nobody"), "unknown agent; known are best-reply, campaign, deterrent"),
    (("self-play", "hold", "--map", "nowhere"), "unknown map 'nowhere'"),
    (("self-play", "program:FairBot"), "Programs play in `welfare-env modal play` and `modal tournament`"),
    (("self-play", "hold", "--years", "1001"), "--years 1001"),
    (("self-play", "hold", "--press", "radio"), "--press radio"),
    (("self-play", "hold", "--budget-tokens", "5"), "a budget is only for language models"),
    (("self-play", "lm:scripted/stub", "--budget-dollars", "0"), "max_dollars 0.0: give a limit above 0"),
    (("self-play", "lm:openai/nobody", "--budget-dollars", "1"), "no price is known"),
    (("exploitability", "hold", "--coalitions", "FRANCE+SPAIN"), "unknown power 'SPAIN'"),
    (("exploitability", "hold", "--coalitions", "singels"), "did you mean 'singles'?"),
    (("self-play", "lm:x/:good:[red]"), ":good:[red]"),
    (("exploitability", "hold", "--coordinated", "--deviator", "dumbbot"), "dumbbot: it does not play a coalition"),
    (("self-play", "hold", "--store", "y" * 5000), "choose another path"),
]


@pytest.mark.parametrize(("command", "words"), WRONG, ids=[" ".join(command) for command, _ in WRONG])
def test_errors_end_in_one_readable_line(
    cli: Callable[..., Outcome], command: tuple[str, ...], words: str, played: list[GameSpec], lasting_lines
) -> None:
    outcome = cli(*command, "--workers", "1")
    assert (outcome.code, outcome.out, played) == (2, "", [])
    *costs, line = lasting_lines(outcome.err)  # what a game of a language model costs is said before
    assert all(cost.startswith("scripted/stub: a game with itself") for cost in costs)
    assert line.startswith("error: ")
    assert words in line


UNGUARDED = """
import evaluation
from welfare_env import Rules

options = {"map_name": "clique:3", "rules": Rules(years=1, press=None), "workers": 2}
"""
CALL = "print(evaluation.self_play('random', 3, **options).root_nash_welfare.n)"


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path: Path, lasting_lines) -> None:
    environment = os.environ | {"PYTHONPATH": str(CODE)}
    outcomes = []
    for call in (CALL, f"if __name__ == '__main__':\n    {CALL}"):
        (tmp_path / "script.py").write_text(UNGUARDED + call)
        command = [sys.executable, str(tmp_path / "script.py")]
        outcomes.append(subprocess.run(command, capture_output=True, text=True, env=environment))
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
