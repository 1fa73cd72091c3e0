"""Several deviators: which there are, what is told of each, and the choice of the best."""

from pathlib import Path
from typing import Any

import pytest

import agents
from agents.specs import read_profile
from evaluation import GameSpec, Setting, exploitability, measure
from evaluation.experiments.deviators import (
    LEARNED,
    default_deviator,
    portfolio,
    portfolio_notes,
    prompted_exploiter,
    read_deviators,
)
from evaluation.measures.gains import exploitability_of
from welfare_env import Game, Rules

QUICK = Rules(years=1, message_rounds=0)
SHORT = Rules(years=3, message_rounds=0)
COMMON: dict[str, Any] = {"coalitions": ["PLAYERA", ("PLAYERB", "PLAYERC")], "rules": SHORT, "map_name": "clique:3"}


def names(profile: str, **options: Any) -> list[str]:
    return [each.name for each in portfolio(read_profile(profile), profile, Setting(**options))]


@pytest.mark.slow
def test_the_best_of_several_is_told() -> None:
    several = ["hold", "prosocial", "dumbbot"]
    result = exploitability("random", 3, deviator=several, **COMMON)
    alone = {each: exploitability("random", 3, deviator=each, **COMMON) for each in several}
    assert list(result.attacks) == several
    assert result.attacks == {each: played for found in alone.values() for each, played in found.attacks.items()}
    assert result.gains == tuple(gain for found in alone.values() for gain in found.gains)
    tried = {(each.deviator, each.coalition): each.gain for each in result.screened}
    assert result.chosen == max(tried, key=tried.__getitem__)
    assert result.value == exploitability_of(result.best_gain.gain)


def test_the_portfolio() -> None:
    pytest.importorskip("torch")
    exploiter = "exploiter:nice=(dove),attack=dumbbot"
    assert names("dove") == [exploiter, "rl:best-response", "prosocial", "dumbbot"]
    assert names("prosocial")[1:] == ["rl:best-response", "dumbbot"]  # not itself
    assert names("3*prosocial + 4*hold")[-2:] == ["prosocial", "dumbbot"]
    assert "rl:best-response" not in names("dove", map_name="clique:4")  # another map than it was trained on


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


def test_deviators_of_one_name_are_told_apart():
    found = read_deviators([agents.HoldPolicy(), agents.HoldPolicy()], read_profile("dove"), "dove", Setting())
    assert len({each.name for each in found}) == 2


def test_only_who_asks_for_the_portfolio_is_told_what_it_lacks():
    small = Setting(map_name="clique:3")  # the shipped networks play the standard map
    assert portfolio_notes("dumbbot", small) == portfolio_notes(["dumbbot", agents.HoldPolicy()], small) == ()
    assert len(portfolio_notes(["dumbbot", "portfolio"], small)) == len(LEARNED)


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
    result.witness.save(tmp_path / "game.json")
    game = Game.load(tmp_path / "game.json")
    assert game.welfare == witness.record["phases"][-1]["state"]["welfare"]
    assert result.to_dict()["witness"]["coalition"] == list(result.best)


def test_every_attack_has_its_witness() -> None:
    result = exploitability("random", 2, deviator=["hold", "dumbbot"], **COMMON)
    assert set(result.witnesses) == {(name, who) for name, played in result.attacks.items() for who in played}
    for (name, who), witness in result.witnesses.items():
        seats = witness.record["welfare_env"]["players"]
        assert {power for power, policy in seats.items() if policy == name} == set(who)


# Who has used what


def test_usage_is_told_by_part():
    toy: dict[str, Any] = {"coalitions": ["PLAYERA"], "rules": QUICK, "map_name": "clique:3"}
    found = exploitability("lm:scripted/stub", 1, deviator="hold", **toy)
    assert found.usage_by_part["profile"]["scripted/stub"].calls == found.usage.calls
