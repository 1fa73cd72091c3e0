"""What is said of a game's cost before it starts."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import agents
from agents.lm.checking import questions_of_a_game
from agents.lm.models import OpenAIModel
from agents.lm.models.prices import Price
from agents.lm.player.policy import LMPolicy, make_player
from agents.lm.player.projection import Projection
from evaluation.cli.commands import app
from evaluation.measures.lm_usage import projection_table
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game
from welfare_env import Rules, load_board


@pytest.mark.parametrize("message_rounds", [0, 1])
def test_a_game_uses_at_least_as_much(message_rounds: int) -> None:
    rules = Rules(years=1, message_rounds=message_rounds)
    found = Projection.of(make_player("scripted/stub"), rules)
    number, usage = found.questions, found.usage
    spec = agents.specs.read("lm:scripted/stub")
    seats = tuple((power, spec) for power in load_board("standard").powers)
    record = play_game(GameSpec(seats, 0, rules, "standard", "fast", simultaneous=True))
    entries = [entry for found in record["welfare_env"]["language_models"].values() for entry in found]
    asked = sum(entry["calls"] for entry in entries)
    assert number == questions_of_a_game(rules)
    assert 0.75 * number <= asked <= 1.25 * number  # retreats; nobody sums up the last phase; not all can build
    assert usage.output_tokens == 0


def test_dollars_are_those_of_the_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    one = Projection.of(priced(2.0), Rules(years=1)).usage
    assert one.dollars == pytest.approx(2.0 * one.input_tokens / 1e6)
    twice = Projection.of(priced(2.0), Rules(years=1)).times(2)
    assert twice.usage.dollars == pytest.approx(2 * one.dollars)
    assert twice.usage.input_tokens == 2 * one.input_tokens
    assert Projection.of(make_player("scripted/stub"), Rules(years=1)).times(2).usage.dollars is None


def test_the_table_has_each_game_and_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them cost at most as many of the dearest."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    games = [Projection.of(priced(2.0), Rules(years=years)) for years in (1, 3)]
    cells = [list(column.cells) for column in projection_table(games, 40).columns]
    assert [str(cell) for cell in cells[0]] == [
        "a game of openai/any with itself",
        "a game of openai/any with itself",
        "up to 40 such games",
    ]
    assert [str(cell) for cell in cells[1]] == ["1", "3", "3"]
    assert str(cells[3][-1]) == f"{40 * games[1].usage.input_tokens:,}"
    assert str(cells[4][0]) == f"${games[0].usage.dollars:.2f}"


def priced(dollars: float) -> LMPolicy:
    return LMPolicy(OpenAIModel("any", prices={"any": Price(dollars, 9.0)}))


def test_longer_games_cost_more() -> None:
    player = make_player("scripted/stub")
    tokens = [Projection.of(player, Rules(years=years)).usage.input_tokens for years in (1, 10)]
    assert tokens[1] > 9 * tokens[0]


EXPERIMENT = """
title = "One"
profiles = ["lm:scripted/stub"]
games = 1
simultaneous = true
[rules]
years = 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["self-play", "experiment"])
def test_commands_say_it_before_the_first_game(command: str, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    played = ["lm:scripted/stub", "--years", "1", "--games", "1", "--simultaneous"]
    given = played if command == "self-play" else [str(file), "--out", f"{tmp_path}/out"]
    kept = ["--store", f"{tmp_path}/s.sqlite", "--lm-cache", f"{tmp_path}/r.sqlite"]
    done = CliRunner().invoke(app, [command, *given, *kept])
    assert done.exit_code == 0, done.output
    said = done.stderr.index("a game of scripted/stub with itself")
    assert said < done.stderr.index("spent in this run")
    assert "up to 1 such games" in done.stderr
