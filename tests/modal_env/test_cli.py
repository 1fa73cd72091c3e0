"""The command line: what it prints, what it draws, and how it refuses."""

import re

import pytest
from typer.testing import CliRunner

import modal_env
from modal_env.cli.commands import app
from tests.processes import python
from tests.processes import run as fresh

RUNNER = CliRunner(env={"COLUMNS": "200"})  # whatever the terminal of whoever tests


def run(*arguments):
    """What a command prints; it must succeed."""
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(text):
    """The cells of all tables' rows."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]


def test_play_shows_the_worlds():
    shown = run("play", "FB", "prudentbot", "--worlds", "4")
    assert [row for row in rows(shown) if row[0].isdecimal()] == [[str(world), "C", "C"] for world in range(4)]
    assert "FairBot cooperates and PrudentBot cooperates; nothing changes from world 1 on" in shown
    assert ["PrudentBot", "□(X(me) ∧ (X(DefectBot) → □⊥))", "2", "7"] in rows(shown)


def test_the_trace_shows_every_box_as_the_rule_has_it():
    """[]p is T at a world if p was true at all worlds before; here by hand for PrudentBot against CooperateBot."""
    shown = {row[0]: row[1:] for row in rows(run("play", "PB", "CB", "--trace", "--worlds", "4")) if row[-1] in "CDTF"}
    assert shown == {
        "PrudentBot against CooperateBot": list("CCDD"),
        "□⊥": list("TFFF"),
        "□(X(me) ∧ (X(DefectBot) → □⊥))": list("TTFF"),
        "CooperateBot against PrudentBot": list("CCCC"),
        "CooperateBot against DefectBot": list("CCCC"),
    }


def moves(text):
    """The rows of a square table: name -> its moves or payoffs."""
    found = re.findall(r"^\d+ (\S+)  +(\S.*)$", text, re.MULTILINE)
    return {name: cells.split() for name, cells in found}


def test_tournament_of_the_post():
    shown = run("tournament", "--worlds")
    assert moves(shown.partition("Worlds")[0])["FairBot"] == ["C", "D", "C", "C"]
    assert list(moves(shown)) == [agent.name for agent in modal_env.POST]
    assert run("equilibria", "--game", "CC=2,CD=0,DC=3,DD=1") == run("equilibria")


def test_equilibria_of_the_post():
    shown = rows(run("equilibria"))
    assert ["CooperateBot 1/10, FairBot 17/20, PrudentBot 1/20", "the same", "19/10"] in [row[1:] for row in shown]
    assert sum(row[2] == "the same" for row in shown if len(row) == 4) == 3


def test_equilibria_at_every_epsilon():
    shown = run("equilibria", "--ranges", "--symmetric")
    mix = "CooperateBot eps, FairBot 1 - 3*eps/2, PrudentBot eps/2"
    assert ["0 <= eps <= 1/3", mix, "the same", "2 - eps"] in rows(shown)
    assert "change at eps = 0, 1/4, 1/3, 1/2" in shown


def test_replicator_and_its_picture(tmp_path):
    picture = tmp_path / "picture.svg"
    shown = run("evolve", "--time", "300", "--plot", str(picture))
    assert "<svg" in picture.read_text()
    trajectory = modal_env.replicator(modal_env.ProgramGame(modal_env.POST, "1/10"), [0.25] * 4, 300)
    assert [row[0] for row in rows(shown)] == [stay.agent for stay in trajectory.stays]


def test_growth():
    shown = run("evolve", "--model", "growth", "--start", "FB=3,PB=2", "--steps", "100")
    assert "100 added" in shown
    assert "and so on for ever" in run("evolve", "--model", "growth", "--start", "DB=3")


def test_basins():
    shown = rows(run("evolve", "--model", "basins", "--starts", "500", "--seed", "3"))
    found = modal_env.basins(modal_env.ProgramGame(modal_env.POST, "1/10"), 500, 3)
    assert [row[:2] for row in shown] == [[row["end"], str(row["starts"])] for row in found.rows()]


def test_replies_puts_the_best_first():
    shown = [
        row for row in rows(run("replies", "CB", "DB", "FB", "PB", "--mix", "DB=1", "--depth", "1")) if len(row) == 7
    ]
    assert shown[0][4:] == ["1", "0", "DefectBot, ⊥"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["play", "FB", "[]X(Nobot)"], "did you mean"),
        (["tournament", "A=true", "A=false"], "two agents are called 'A'"),
        (["play", "coin=true", "FB"], "a keyword of formulas"),
        (["play", "FairBot=[]~X(me)", "FB"], "the library has an agent called FairBot, []X(me): choose another name"),
        (["equilibria", "--ranges", "FB", "Fair=[]X(me)"], "given twice, as 'FairBot' and 'Fair'"),
        (["equilibria", "--ranges", "--epsilon", "1/10"], "--ranges is for all"),
        (["evolve", "--start", "FB=1/2,FB=1/2"], "NAME=NUMBER"),
        (["evolve", "--plot", "picture.gif"], ".svg"),
        (["evolve", "--time", "0"], "above 0"),
        (["evolve", "--steps", "5", "--seed", "1"], "--seed goes with --model basins, not with replicator"),
        (["evolve", "--steps", "5"], "--steps goes with --model growth"),
        (["evolve", "--model", "growth", "--time", "5"], "--time goes with --model replicator, not with growth"),
        (["evolve", "--model", "basins", "--start", "FB=1"], "--start goes with --model replicator or growth"),
        (["evolve", "--model", "growth", "--start", "FB=1.5"], "give integers from 0"),
    ],
    ids=" ".join,
)
def test_errors_teach_and_exit_with_2(arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_name_defined_once_can_be_used_again():
    wary = "Wary=[](X(me) & X(FB))"
    once = run("play", wary, "Wary")
    assert once == run("play", wary, wary) == run("play", "Wary", wary)
    assert "Wary cooperates and Wary cooperates" in once
    assert [row[0] for row in rows(once) if "□" in row[1]] == ["Wary"]
    assert "FairBot cooperates" in run("play", "FairBot=[]X(me)", "FB")  # the library's own definition
    assert rows(run("replies", wary, "--call", "Wary", "--depth", "1"))


def test_as_a_module_and_with_its_packages_as_attributes():
    shown, warned = fresh("-m", "modal_env", "play", "FB", "DB")
    assert ("FairBot defects and DefectBot defects" in shown, warned) == (True, "")
    packages = "m.best_replies.CALLS, m.dynamics, m.envs, m.games, m.logic, m.library, m.errors"
    assert "DefectBot" in python(f"import modal_env as m; print({packages})")
