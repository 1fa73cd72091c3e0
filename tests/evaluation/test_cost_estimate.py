"""Before the first game: what a run costs, which models cannot be asked, and that policies are made once."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.lm.models.remote import REMOTE
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubServer
from agents.specs.spec import Spec
from evaluation import GameSpec
from evaluation.cli.commands import app
from evaluation.experiments.cost_estimate import estimate
from evaluation.experiments.exploitability import measure_exploitability
from evaluation.experiments.self_play import measure_self_play
from evaluation.play import runner
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Begun, Runner
from tests.evaluation.conftest import call
from welfare_env import Rules
from welfare_env.extras import install_extra

# Profile, rules and games; A and B are two models with prices.
PROFILES: list[tuple[str, dict[str, Any], int]] = [
    ("2*(A,summariser=none,schema=form) + 1*random", {"years": 1, "press": None}, 3),
    ("PLAYERA*(A,add=journal) + 2*(exploiter:nice=(B),attack=dumbbot)", {"years": 2, "message_rounds": 2}, 2),
]


@pytest.mark.parametrize(("profile", "rules", "games"), PROFILES)
def test_it_is_what_a_run_uses(profile: str, rules: dict[str, Any], games: int) -> None:
    """Calls, tokens and dollars within 15%, of the profile that plays, not of each model with itself."""
    price = {"input": 1, "cached": 0.1, "output": 4}
    Path("prices.json").write_text(json.dumps({"one": price, "two": price}))
    models = SharedModels()
    with StubServer() as server:
        asked = {"A": f"lm:openai/one,base_url={server.url}/v1", "B": f"lm:anthropic/two,base_url={server.url}"}
        spec = re.sub(r"\b[AB]\b", lambda model: asked[model[0]] + ",prices=prices.json", profile)
        setting = Setting(rules=Rules(**rules), map_name="clique:3", simultaneous=True)
        begun = Begun(measure_self_play(spec, games, setting))
        found = estimate(begun.games, games, models)
        assert server.stats["requests"] == 0
        (result,) = begun.results(Runner(models=models))
        used = result.usage
        assert used is not None
    assert sum(each.calls for each in found) == pytest.approx(used.calls, rel=0.15)
    assert sum(each.input_tokens for each in found) == pytest.approx(used.input_tokens, rel=0.15)
    assert sum(each.output_tokens for each in found) == pytest.approx(used.output_tokens, rel=0.15)
    assert sum(each.dollars or 0.0 for each in found) == pytest.approx(used.dollars, rel=0.15)


def test_attacks_count_with_the_models_in_them() -> None:
    models = SharedModels()
    setting = Setting(rules=Rules(years=1, message_rounds=1), simultaneous=True)
    games = Begun(measure_exploitability("dove", 2, setting, deviator="lm:scripted/stub")).games
    (found,) = estimate(games, len(games), models)
    asking = sum(game.asks_language_models for game in games)
    assert 4 * asking <= found.calls <= 7 * asking  # of one seat: three phases, two summaries, perhaps retreats
    assert estimate([game for game in games if not game.asks_language_models], 5, models) == []


def test_a_command_says_it_before_the_first_game() -> None:
    options = ["--years", "1", "--message-rounds", "1", "--games", "2", "--simultaneous"]
    said = CliRunner().invoke(app, ["self-play", "lm:scripted/stub", *options])
    assert said.exit_code == 0
    assert "before the first of up to 2 games" in said.output
    assert "rehearsal" in said.output


# Policies are made once

TOY = ["--map", "clique:3", "--years", "2", "--message-rounds", "0"]
EXPERIMENT = """
title = "Plans"
measure = ["self-play", "exploitability", "red-team"]
profiles = ["dove", "prosocial"]
games = 1
map_name = "clique:3"
budget = "quick"
[rules]
years = 2
message_rounds = 0
"""


class FirstGameError(Exception):
    pass


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "dove", "hold", *TOY],
        ["exploitability", "dove", "--deviator", "pact:years=1", "--coordinated", "--coalitions", "all-pairs", *TOY],
        ["cross-play", "dove", "hold", "--background", "prosocial", *TOY],
        ["experiment", "FILE"],
    ],
    ids=lambda command: command[0],
)
def test_policies_are_made_once_before_the_first_game(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("FILE.toml").write_text(EXPERIMENT)
    made: Counter[Spec] = Counter()
    making: list[Spec] = []
    make = Spec.make

    def counted(spec: Spec, models: object = None) -> object:
        made[spec] += not making  # parts of a policy are made with it
        making.append(spec)
        try:
            return make(spec, models)  # type: ignore[arg-type]
        finally:
            making.pop()

    def stop(*args: object) -> None:
        raise FirstGameError

    monkeypatch.setattr(Spec, "make", counted)
    monkeypatch.setattr(runner, "play_game", stop)
    command = [each.replace("FILE", "FILE.toml") for each in command]
    run = CliRunner().invoke(app, [*command, "--workers", "1", "--store", "games.sqlite"])
    assert isinstance(run.exception, FirstGameError), run.output
    assert {count for spec, count in made.items() if spec.is_named} - {0} == {1}, made.most_common(3)


# A language model that cannot be asked: the commands say so before its costs

OPTIONS = ("--games", "1", "--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1")
SDKS = {name: REMOTE[name] for name in ("openai", "anthropic")}


@pytest.fixture(autouse=True)
def _folder_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in SDKS.values():
        monkeypatch.delenv(kind.key_variable, raising=False)
        monkeypatch.delenv(kind.url_variable, raising=False)


@pytest.fixture(params=SDKS)
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model whose SDK is not installed."""
    monkeypatch.setenv(SDKS[request.param].key_variable, "key")
    monkeypatch.setitem(sys.modules, request.param, None)
    return f"{request.param}/any"


def test_a_missing_extra_comes_before_the_costs(missing: str, played: list[GameSpec]) -> None:
    for command in (
        ("self-play", f"lm:{missing}", *OPTIONS),
        ("exploitability", "hold", "--deviator", f"lm:{missing}", *OPTIONS),
        ("experiment", "self-play", "--profile", f"lm:{missing}", "--games", "1"),
        ("play", "FRANCE", "--others", f"lm:{missing}", "--terminal", "--budget-tokens", "9"),
    ):
        told = call(*command, code=2)
        assert played == []
        (line,) = [line for line in told.splitlines() if "no price is known" not in line]
        assert line.startswith(f"error: {missing}: ")
        assert line.endswith(f"; it needs {install_extra('lm')}")


def test_so_does_a_missing_key(played: list[GameSpec]) -> None:
    told = call("self-play", "2*hold + 1*lm:openai/any", *OPTIONS, code=2)
    assert played == []
    assert "before the first" not in told
    assert "error: openai/any: the environment variable OPENAI_API_KEY holds no key" in told


@pytest.mark.slow
def test_stored_games_are_used_without_the_extra(monkeypatch: pytest.MonkeyPatch, played: list[GameSpec]) -> None:
    """Their names are those of a real provider, their replies a stub's."""
    monkeypatch.setitem(sys.modules, "openai", None)
    stored = "lm:scripted/pacifist"
    call("self-play", stored, *OPTIONS, "--lm-cache", "elsewhere.sqlite")
    count = len(played)
    told = call("self-play", stored, "lm:openai/any", *OPTIONS, code=2)
    assert len(played) - count == 1
    assert "; it needs the extra lm" in told
    assert "Until then, only stored games and cached replies are used" in told
    assert "before the first" not in told
