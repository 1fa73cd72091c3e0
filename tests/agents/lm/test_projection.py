"""What is said of a game's cost before it starts."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import agents
from agents.lm.checking import questions_of_a_game
from agents.lm.models import OpenAIModel
from agents.lm.models.prices import Price
from agents.lm.player import LMPolicy, make_player
from agents.lm.projection import least_usage, projected
from evaluation.cli.app import app
from evaluation.play.games import GameSpec, play_game
from welfare_env import Rules, load_board


@pytest.mark.parametrize("message_rounds", [0, 1])
def test_a_game_uses_at_least_as_much(message_rounds: int) -> None:
    rules = Rules(years=1, message_rounds=message_rounds)
    number, usage = least_usage(make_player("scripted/stub"), rules)
    spec = agents.specs.read("lm:scripted/stub")
    seats = tuple((power, spec) for power in load_board("standard").powers)
    record = play_game(GameSpec(seats, 0, rules, "standard", "fast", simultaneous=True))
    entries = [entry for found in record["welfare_env"]["language_models"].values() for entry in found]
    asked = sum(entry["calls"] for entry in entries)
    assert number == questions_of_a_game(rules)
    assert 0.75 * number <= asked <= number  # nobody sums up the last phase, and not all have something to build
    assert usage.output_tokens == 0


def test_dollars_are_those_of_the_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    one = least_usage(priced(2.0), Rules(years=1))[1]
    assert one.dollars == pytest.approx(2.0 * one.input_tokens / 1e6)
    assert "$" in projected(priced(2.0), Rules(years=1))
    assert "no price is known" in projected(make_player("scripted/stub"), Rules(years=1))


def priced(dollars: float) -> LMPolicy:
    return LMPolicy(OpenAIModel("any", prices={"any": Price(dollars, 9.0)}))


def test_longer_games_cost_more() -> None:
    player = make_player("scripted/stub")
    tokens = [least_usage(player, Rules(years=years))[1].input_tokens for years in (1, 10)]
    assert tokens[1] > 9 * tokens[0]


@pytest.mark.slow
def test_a_command_says_it_before_the_first_game(tmp_path: Path) -> None:
    command = ["self-play", "lm:scripted/stub", "--years", "1", "--games", "1", "--simultaneous"]
    done = CliRunner().invoke(app, [*command, "--store", f"{tmp_path}/s.sqlite", "--lm-cache", f"{tmp_path}/r.sqlite"])
    assert done.exit_code == 0, done.output
    said = done.stderr.index("scripted/stub: a game with itself, of 1 years")
    assert said < done.stderr.index("spent in this run")
