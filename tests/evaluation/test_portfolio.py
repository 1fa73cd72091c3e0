"""Several deviators: which there are, what is told of each, and the choice of the best."""

import json
from typing import Any

import pytest

from agents import HoldPolicy
from agents.specs import read_profile
from evaluation import EvaluationError, GameSpec, Setting, exploitability
from evaluation.experiments import deviators as ours
from evaluation.experiments.deviators import default_deviator, portfolio, prompted_exploiter, read_deviators
from welfare_env import Rules, UnknownAgentError

QUICK = Rules(years=1, message_rounds=0)
SHORT = Rules(years=3, message_rounds=0)
COMMON: dict[str, Any] = {"coalitions": ["FRANCE", ("ITALY", "TURKEY")], "rules": SHORT, "map_name": "pure"}


def names(profile: str, **options: Any) -> list[str]:
    return [each.name for each in portfolio(read_profile(profile), profile, Setting(**options))]


def test_the_best_of_several_is_told() -> None:
    several = ["hold", "prosocial", "dumbbot"]
    result = exploitability("random", 3, deviator=several, **COMMON)
    alone = {each: exploitability("random", 3, deviator=each, **COMMON) for each in several}
    assert list(result.attacks) == several
    assert result.by_deviator == alone
    best = max(several, key=lambda each: alone[each].value.value)
    assert (result.deviator, result.best, result.deviating) == (best, alone[best].best, alone[best].deviating)
    assert result.value.value == alone[best].value.value
    assert result.value.per_game == alone[best].value.per_game
    assert result.corrected.low <= result.corrected.value <= result.value.value


def test_several_deviators_as_json() -> None:
    several = ("hold", "prosocial")
    result = exploitability("random", 2, deviator=several, **COMMON)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["deviators"] == list(several)
    assert plain["corrected"]["value"] == result.corrected.value
    rows = [
        row for each in several for row in exploitability("random", 2, deviator=each, **COMMON).to_dict()["coalitions"]
    ]
    assert plain["coalitions"] == rows
    assert [row["deviator"] for row in rows] == ["hold", "hold", "prosocial", "prosocial"]


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
    assert len(played) == 1 + 4


def test_deviators_of_one_name_are_told_apart() -> None:
    found = read_deviators([HoldPolicy(), HoldPolicy(), "hold"], read_profile("dove"), "dove", Setting())
    assert [each.name for each in found][1].endswith(" #2")
    assert len({each.name for each in found}) == 3


@pytest.mark.parametrize(
    ("deviator", "error", "words"),
    [
        ([], EvaluationError, "one policy at least"),
        (["hold"] * 101, EvaluationError, "100 at most"),
        (["hold", "nobody"], UnknownAgentError, "nobody"),
        (["hold", 7], UnknownAgentError, "7"),
        ("portfolios", UnknownAgentError, "portfolio"),
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
