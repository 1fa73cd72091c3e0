"""Several deviators: which there are, what is told of each, and the choice of the best."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents import HoldPolicy
from agents.specs import read_profile
from evaluation import EvaluationError, GameSpec, Setting, exploitability, measure
from evaluation.experiments import deviators as ours
from evaluation.experiments.deviators import default_deviator, portfolio, prompted_exploiter, read_deviators
from evaluation.experiments.stopping import further_games
from evaluation.measures.gains import exploitability_of
from evaluation.measures.intervals import Estimate
from welfare_env import Game, Rules, UnknownAgentError

QUICK = Rules(years=1, message_rounds=0)
SHORT = Rules(years=3, message_rounds=0)
COMMON: dict[str, Any] = {"coalitions": ["FRANCE", ("ITALY", "TURKEY")], "rules": SHORT, "map_name": "pure"}


def names(profile: str, **options: Any) -> list[str]:
    return [each.name for each in portfolio(read_profile(profile), profile, Setting(**options))]


@pytest.mark.slow
def test_the_best_of_several_is_told() -> None:
    several = ["hold", "prosocial", "dumbbot"]
    result = exploitability("random", 3, deviator=several, **COMMON)
    alone = {each: exploitability("random", 3, deviator=each, **COMMON) for each in several}
    assert list(result.attacks) == several
    assert {each: found.attacks for each, found in result.by_deviator.items()} == {
        each: found.attacks for each, found in alone.items()
    }
    assert result.gains == tuple(gain for found in alone.values() for gain in found.gains)
    tried = {(each.deviator, each.coalition): each.gain for each in result.screened}
    assert result.chosen == max(tried, key=tried.__getitem__)
    assert result.value == exploitability_of(result.best_gain.gain)
    for each, found in result.by_deviator.items():
        assert tried[found.chosen] == max(gain for (name, _), gain in tried.items() if name == each)


def test_the_portfolio() -> None:
    pytest.importorskip("torch")
    exploiter = "exploiter:nice=(dove),attack=dumbbot"
    assert names("dove") == [exploiter, "rl:best-response", "prosocial", "dumbbot"]
    assert names("prosocial")[1:] == ["rl:best-response", "dumbbot"]  # not itself
    assert names("3*prosocial + 4*hold")[-2:] == ["prosocial", "dumbbot"]
    assert "rl:best-response" not in names("dove", map_name="clique:4")  # another map than it was trained on


def test_the_portfolio_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "find_spec", lambda name: None)
    assert names("hold") == ["exploiter:nice=(hold),attack=dumbbot", "prosocial", "dumbbot"]


def test_language_models_are_prompted_to_exploit() -> None:
    model = "lm:scripted/stub,temperature=0.5,flavour=wd"
    assert "lm:scripted/stub,temperature=0.5,flavour=exploiter" in names(model)
    assert not any(name.startswith("lm:") for name in names("dove"))
    profile = read_profile(f"3*({model}) + 4*dove")
    (prompted,) = [each for each in portfolio(profile, "", Setting()) if each.name.startswith("lm:")]
    assert {policy.text for policy in prompted.attackers} == {
        prompted_exploiter(profile.policies[0]).text.replace("flavour=exploiter", "flavour=wd"),
        "dove",
    }
    assert set(prompted.policies) == {prompted_exploiter(profile.policies[0])}


def test_portfolio_in_a_list_and_the_same_deviator_twice(played: list[GameSpec]) -> None:
    result = exploitability(
        "hold",
        1,
        deviator=["portfolio", "dumbbot", "(dumbbot)", "dove"],
        coalitions=["PLAYERA"],
        rules=QUICK,
        map_name="clique:3",
    )
    assert list(result.attacks) == [default_deviator("hold"), "prosocial", "dumbbot", "dove"]
    assert len(played) == (1 + 4) + 5 * (1 + 4)  # measured, and for choosing


def test_deviators_of_one_name_are_told_apart() -> None:
    found = read_deviators([HoldPolicy(), HoldPolicy(), "hold"], read_profile("dove"), "dove", Setting())
    assert [each.name for each in found][1].endswith(" #2")
    assert len({each.name for each in found}) == 3


@pytest.mark.parametrize(
    ("deviator", "error", "words"),
    [
        ([], EvaluationError, "give 1 to 100 policies"),
        (["hold"] * 101, EvaluationError, "give 1 to 100 policies"),
        (["hold", "nobody"], UnknownAgentError, "nobody"),
        ({"hold"}, UnknownAgentError, "give a string"),
    ],
    ids=str,
)
def test_wrong_deviators_are_named_before_any_game(
    deviator: Any, error: type[Exception], words: str, played: list[GameSpec]
) -> None:
    with pytest.raises(error, match=words):
        exploitability("hold", 1, deviator=deviator, rules=QUICK)
    assert played == []


# A game that shows it


def test_the_witness_is_a_typical_game_of_the_best(tmp_path: Path) -> None:
    result = exploitability("random", 5, deviator=["hold", "dumbbot"], **COMMON)
    witness = result.witness
    assert (witness.deviator, witness.coalition) == (result.deviator, result.best)
    gains = result.value.per_game
    assert witness.gain == gains[witness.game]
    assert abs(witness.gain - sum(gains) / 5) == min(abs(gain - sum(gains) / 5) for gain in gains)
    assert measure(witness.record, witness.coalition) == result.deviating[result.best][witness.game]
    assert witness.record["welfare_env"]["seed"] == witness.seed
    result.save_witness(tmp_path / "game.json")
    game = Game.load(tmp_path / "game.json")
    assert game.welfare["FRANCE"] == witness.record["phases"][-1]["state"]["welfare"]["FRANCE"]
    assert result.to_dict()["witness"]["coalition"] == list(result.best)


def test_every_attack_has_its_witness() -> None:
    result = exploitability("random", 2, deviator=["hold", "dumbbot"], **COMMON)
    assert set(result.witnesses) == {(name, who) for name, played in result.attacks.items() for who in played}
    for (name, who), witness in result.witnesses.items():
        seats = witness.record["welfare_env"]["players"]
        assert {power for power, policy in seats.items() if policy == name} == set(who)
        assert result.by_deviator[name].witnesses[name, who] == witness


# As many games as it takes


@pytest.mark.slow
def test_a_wished_precision_is_reached_by_more_games(played: list[GameSpec]) -> None:
    common: dict[str, Any] = {"deviator": "dumbbot", "coalitions": ["FRANCE"], "rules": QUICK, "map_name": "pure"}
    first = exploitability("random", 10, **common)
    width = first.best_gain.gain.high - first.best_gain.gain.low
    played.clear()
    result = exploitability("random", 2, precision=0.8 * width, **common)
    count = len(result.baseline)
    assert result.best_gain.gain.high - result.best_gain.gain.low <= 0.8 * width
    assert 10 < count < 200
    assert len(played) == 2 * count  # none of them twice
    assert result == exploitability("random", count, **common)


def test_it_stops_at_the_most_games() -> None:
    common: dict[str, Any] = {"deviator": "dumbbot", "coalitions": ["FRANCE"], "rules": QUICK, "map_name": "pure"}
    assert len(exploitability("random", 3, precision=1e-9, max_games=12, **common).baseline) == 12
    assert len(exploitability("random", 3, precision=1e-9, max_games=4, **common).baseline) == 4
    assert len(exploitability("random", 12, precision=100.0, **common).baseline) == 12


@pytest.mark.parametrize(
    ("width", "games", "more"),
    [(0.2, 20, 0), (0.21, 20, 10), (0.26, 20, 14), (9.0, 20, 20), (9.0, 90, 10), (9.0, 100, 0)],
)
def test_how_many_games_are_added(width: float, games: int, more: int) -> None:
    assert further_games(Estimate(0.0, 0.0, width, games, ()), 0.2, 100) == more


@pytest.mark.parametrize(
    "wrong",
    [
        {"precision": 0},
        {"precision": float("nan")},
        {"precision": "0.2"},
        {"precision": 0.2, "max_games": 3, "games": 4},
        {"precision": 0.2, "games": 0},
    ],
    ids=str,
)
def test_wrong_precisions_are_named_before_any_game(wrong: dict[str, Any], played: list[GameSpec]) -> None:
    with pytest.raises(EvaluationError, match=r"precision|games"):
        exploitability("hold", rules=QUICK, **wrong)
    assert played == []


# Who has used what


def test_language_models_are_told_apart_by_part_and_model() -> None:
    rules = Rules(years=1, message_rounds=1)
    profile, prompted = "lm:scripted/stub", "lm:scripted/stub,flavour=exploiter"
    result = exploitability(
        profile, 2, deviator=[prompted, "hold"], selection_games=1, coalitions=["FRANCE"], rules=rules
    )
    assert result.usage is not None
    assert {part: list(models) for part, models in result.usage_by_part.items()} == {
        prompted: ["scripted/stub"],
        "profile": ["scripted/stub"],
    }
    parts = {part: models["scripted/stub"] for part, models in result.usage_by_part.items()}
    assert sum(used.calls for used in parts.values()) == result.usage.calls
    assert sum(used.input_tokens for used in parts.values()) == result.usage.input_tokens
    assert {part: used.games for part, used in parts.items()} == {prompted: 2 + 1, "profile": 3 * (2 + 1)}
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["language_models_by_part"]["profile"]["scripted/stub"]["calls"] == parts["profile"].calls
