"""Commands that play games take several lengths and numbers of message rounds: one table with a row per condition."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evaluation
from evaluation.cli.commands import app
from evaluation.experiments.red_team import BUDGETS, AttackBudget
from welfare_env import Rules

GAMES = ["--map", "clique:3", "--games", "3", "--workers", "1"]  # 3: balanced seats
COMMANDS = {
    "self-play": ["self-play", "dove"],
    "exploitability": ["exploitability", "dove"],
    "red-team": ["red-team", "dove", "--budget", "quick"],
    "cross-play": ["cross-play", "dove", "hold"],
}


SLOW = ("red-team", "cross-play")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in COMMANDS]
)
def test_every_command_sweeps_what_its_help_offers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BUDGETS, "quick", AttackBudget(selection_games=1, sizes=(1,), most=1))
    run = CliRunner()
    rounds = "0" if name == "red-team" else "0,1"  # of many attacks
    swept = [*COMMANDS[name], *GAMES, "--years", "1,2", "--message-rounds", rounds]
    shown = run.invoke(app, [*swept, "--csv", "games.csv"])
    assert shown.exit_code == 0, shown.output
    table = shown.stdout.partition("└")[0]  # below it may be the differences
    wanted = [(y, r) if "," in rounds else (y,) for y in "12" for r in rounds.split(",")]
    rows = [line.split("│")[1 : 1 + len(wanted[0])] for line in table.splitlines() if line.startswith("│")]
    conditions = [tuple(cell.strip() for cell in row) for row in rows if row[0].strip()]
    assert conditions == [each for each in wanted for _ in range(2 if name == "cross-play" else 1)]
    with open("games.csv", newline="") as file:
        assert {(row["years"], row["message_rounds"]) for row in csv.DictReader(file)} == {
            (years, each) for years in "12" for each in rounds.split(",")
        }
    told = json.loads(run.invoke(app, [*swept, "--json"]).stdout)
    alone = json.loads(
        run.invoke(app, [*COMMANDS[name], *GAMES, "--years", "2", "--message-rounds", rounds[-1], "--json"]).stdout
    )
    assert told[-1] == (alone[0] if name == "self-play" else alone)


@pytest.mark.slow
def test_the_row_of_a_condition_is_what_it_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = (
        CliRunner().invoke(app, ["exploitability", "dove", *GAMES, "--years", "1,2", "--message-rounds", "0"]).stdout
    )
    for years in (1, 2):
        rules = Rules(years=years, message_rounds=0)
        value = evaluation.exploitability("dove", 3, rules=rules, map_name="clique:3").value.value
        (row,) = (line for line in shown.partition("└")[0].splitlines() if line.startswith(f"│     {years} │"))
        assert f" {value:.2f} " in row


@pytest.mark.parametrize(
    ("name", "option"),
    [("exploitability", "--witness"), ("red-team", "--witness"), ("cross-play", "--html")],
)
def test_what_is_of_one_condition_is_refused_before_the_first_game(
    name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, [*COMMANDS[name], *GAMES, "--years", "1,2", option, "file"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert f"{option} is a" in told.stderr
    assert "of one condition, but there are 2" in " ".join(told.stderr.split())
