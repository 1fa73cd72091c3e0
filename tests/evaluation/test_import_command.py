"""`welfare-env import`: a game of the `diplomacy` package becomes one that `replay` reads."""

import json
from pathlib import Path

import pytest
from diplomacy.utils.export import to_saved_game_format
from typer.testing import CliRunner

from evaluation.cli.commands import app
from tests.playing import package_game


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """The first phases of a game in which all units hold, in the current folder."""
    monkeypatch.chdir(tmp_path)
    theirs = package_game()
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
    assert "is the input file" in done.output
    assert saved.read_bytes() == before


def test_it_replaces_only_the_same_game(saved, tmp_path):
    assert run("import", "game.json").exit_code == 0
    done = run("import", "game.json", "--until", "F1901M")
    assert "S1901M to S1901M, 1 phase\n" in done.output
    for other in ("{}", "not JSON", json.dumps({"welfare_env": {"imported": {"program": "diplomacy", "id": "other"}}})):
        (tmp_path / "game-imported.json").write_text(other, encoding="utf-8")
        refused = run("import", "game.json")
        assert refused.exit_code == 2
        assert "exists and is not this game: give another name with --out" in refused.output
        assert (tmp_path / "game-imported.json").read_text(encoding="utf-8") == other


def test_errors_name_options_that_work(saved, tmp_path):
    game = json.loads(saved.read_text(encoding="utf-8"))
    Path("two.json").write_text(f"{json.dumps(game)}\n{json.dumps(game)}", encoding="utf-8")
    assert "give --game 1 to 2" in run("import", "two.json").output
    for number, told in ((1, "FRANCE A BUR in the file"), (2, "--until F1901M")):
        wrong = json.loads(json.dumps(game))
        wrong["phases"][number]["state"]["units"]["FRANCE"][0] = "A BUR"
        Path("wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        assert told in run("import", "wrong.json").output
    assert "S1901M to S1901M" in run("import", "wrong.json", "--until", "F1901M").output


def test_the_replay_shows_the_models_and_what_they_thought(saved, tmp_path):
    """One model among others is no deviator, as a policy of ours would be."""
    game = json.loads(saved.read_text(encoding="utf-8"))
    agents = {power: {"model_id": "a-model"} for power in game["phases"][0]["state"]["units"]}
    agents["FRANCE"] = {"model_id": "another", "full_private_diary": ["I trust nobody."]}
    game["phases"][0]["state_agents"] = agents
    saved.write_text(json.dumps(game), encoding="utf-8")
    assert "FRANCE: another" in run("import", "game.json").output
    assert run("replay", "game-imported.json", "-o", "game.html").exit_code == 0
    page = (tmp_path / "game.html").read_text(encoding="utf-8")
    assert ["I trust nobody." in page, '"player":"another"' in page, '"deviates":true' in page] == [True, True, False]
