"""What results say besides their numbers: unbalanced seats, deviators that are missing, legends of tables."""

from pathlib import Path

import pytest

import evaluation
from agents import ScriptedPolicy
from evaluation.experiment_files.description import parse_experiment
from evaluation.experiments import deviators
from evaluation.report.page import report_page
from evaluation.tables.cross_play_tables import player_table
from tests.evaluation.conftest import call
from welfare_env import Rules

TOY = {"map_name": "clique:3", "rules": Rules(years=1, message_rounds=0)}
UNEQUAL = "policies do not play all seats equally often"
MIXED = 'title = "T"\nprofiles = ["4*dove + 3*hold"]\ngames = 1\n[rules]\npress = "none"\nyears = 1\n'


@pytest.mark.parametrize(
    ("profile", "number", "seats", "is_unequal"),
    [
        ("2*dove + 1*hold", 2, "rotated", True),
        ("2*dove + 1*hold", 3, "rotated", False),
        ("2*dove + 1*hold", 2, "drawn", False),
        ("PLAYERA*dove + 1*dove + 1*hold", 1, "rotated", True),
    ],
)
def test_seats_that_are_not_balanced(profile: object, number: int, seats: str, is_unequal: bool) -> None:
    result = evaluation.self_play(profile, number, seats=seats, **TOY)
    assert any(UNEQUAL in note for note in result.notes) is is_unequal
    assert result.to_dict()["notes"] == list(result.notes)


def test_the_table_and_the_page_say_so(tmp_path: Path) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "2"]
    shown = call("self-play", "2*dove + 1*hold", *options, "--store", tmp_path / "games.sqlite")
    assert UNEQUAL in " ".join(shown.split())
    assert UNEQUAL in report_page(evaluation.experiment(parse_experiment(MIXED, "mixed")).to_dict())


def test_what_the_portfolio_is_without(monkeypatch: pytest.MonkeyPatch) -> None:
    options = TOY | {"coalitions": ["PLAYERA"]}
    monkeypatch.setattr(deviators, "find_spec", lambda name: None)
    result = evaluation.exploitability("hold", 1, deviator="portfolio", **options)
    (note,) = result.notes
    assert "the portfolio lacks rl:best-response: it needs the extra rl" in note
    assert evaluation.exploitability("hold", 1, deviator="dumbbot", **options).notes == ()


def test_what_does_not_fit_is_told_too() -> None:
    pytest.importorskip("torch")
    (note,) = evaluation.exploitability("hold", 1, deviator=["portfolio"], coalitions=["PLAYERA"], **TOY).notes
    assert "was trained for another map or other rules" in note


class Faulty(ScriptedPolicy):
    """Its second order in each movement phase is for no unit of this board."""

    def orders(self, view):
        units = view.units[view.power] if view.phase_type == "M" else []
        return [f"{units[0]} H", "A PAR H"] if units else []


def test_illegal_orders_are_told_wherever_the_policy_plays() -> None:
    """Alone, as the attacker, and in a mix; nobody else is blamed."""
    (note,) = evaluation.self_play(Faulty, 1, **TOY).notes
    assert "6 of 12 orders of " in note
    assert "Faulty were illegal and ignored; the first: PLAYERA in S1901M: " in note
    attacked = evaluation.exploitability("hold", 1, deviator=Faulty, coalitions=["PLAYERB"], **TOY)
    assert "2 of 4 orders of " in attacked.notes[-1]
    mixed = evaluation.cross_play(["hold", Faulty], 3, **TOY)
    assert len(mixed.notes) == len(mixed.to_dict()["notes"]) == 1
    assert "illegal" in player_table(mixed).caption.plain


def test_legal_orders_and_orders_that_fail_are_none() -> None:
    """A move that is bounced is legal; so is giving no order."""
    for policy in ("random", "noisy:of=prosocial,error=0.5"):
        assert evaluation.self_play(policy, 2, **TOY).notes == ()


class Broken(ScriptedPolicy):
    def orders(self, view):
        raise IndexError("out of reach")


@pytest.mark.parametrize(("message_rounds", "simultaneous"), [(0, False), (1, True)])
def test_an_error_in_a_player_tells_whose_it_is(message_rounds: int, simultaneous: bool) -> None:
    with pytest.raises(IndexError, match="out of reach") as caught:
        evaluation.self_play(
            {"PLAYERA": "hold", "PLAYERB": Broken, "PLAYERC": "hold"},
            1,
            map_name="clique:3",
            rules=Rules(years=1, message_rounds=message_rounds),
            simultaneous=simultaneous,
        )
    assert caught.value.__notes__ == ["(Broken as PLAYERB in S1901M)"]
