"""What evaluations refuse before a game is played: numbers out of range, and values of another kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evaluation
from evaluation import EvaluationError, GameSpec
from evaluation.measures.gains import coalition_gain
from evaluation.measures.intervals import SampleError, mean_estimate
from welfare_env import Rules, WelfareEnvError, load_board
from welfare_env.checks import quoted
from welfare_env.errors import RecordError, RulesError, UnknownPowerError

RULES = Rules(years=1, press=None)
HUGE = 10**5000  # Python does not write it down
NUMBERS = [0, -1, 10**30, HUGE, -HUGE, 1.0, float("nan"), float("inf"), True, None, "3", [HUGE], np.int64(3)]
DOORS: list[Callable[..., Any]] = [evaluation.self_play, evaluation.exploitability]
BOARD = load_board("clique:3")
SPEC = GameSpec(tuple((power, "hold") for power in BOARD.powers), 0, RULES, "clique:3", "fast")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("games", value) for value in NUMBERS),
        *(("workers", value) for value in NUMBERS),
        *(("seed", value) for value in NUMBERS if value != 0),
        *(("store", value) for value in ("games.sqlite", 5, {})),
        *(("report", value) for value in ("x", 5)),
        *(("simultaneous", value) for value in ("yes", 1, None)),
        *(("models", value) for value in ("x", 5)),
        *(("engine", value) for value in ("warp", 5, None, [])),
        *(("rules", value) for value in ({}, 5, "welfare", HUGE)),
        *(("map_name", value) for value in ("nowhere", 5, None, "a\0b", HUGE, [])),
        *(("policy", value) for value in ("nobody", 5, None, "", "random:x", "a\0b", HUGE, [HUGE])),
    ],
    ids=lambda value: quoted(value)[:20],
)
def test_odd_values_are_refused_by_name(
    door: Callable[..., Any], name: str, value: Any, played: list[GameSpec]
) -> None:
    given = {"policy": "hold", "rules": RULES, "map_name": "clique:3"} | {name: value}
    if door is evaluation.exploitability:
        given |= {"coalitions": "all-singles"}
    with pytest.raises(WelfareEnvError) as caught:
        door(**given)
    assert played == []
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    "coalitions",
    [
        "single", "", [], [[]], [[""]], ["PLAYERA", 5], [None], 5, HUGE, None, {"PLAYERA"}, [["PLAYERA", "PLAYERA"]],
        itertools.repeat("PLAYERA"), [itertools.repeat("PLAYERA")], itertools.count(), b"x", ["NOBODY"], [[HUGE]],
        [[np.zeros(3), "PLAYERA"]], [["PLAYERA", np.zeros(3)]],
    ],
    ids=lambda value: quoted(value)[:20],
)  # fmt: skip
def test_odd_coalitions(coalitions: Any, played: list[GameSpec]) -> None:
    with pytest.raises((EvaluationError, UnknownPowerError)):
        evaluation.exploitability("hold", 1, coalitions=coalitions, rules=RULES, map_name="clique:3")
    assert played == []


def test_a_mistyped_set_is_answered_with_the_nearest() -> None:
    with pytest.raises(EvaluationError, match="did you mean 'all-singles'"):
        evaluation.exploitability("hold", 1, coalitions="all-singels", rules=RULES, map_name="clique:3")


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": value} for value in NUMBERS if value != 0),
        {"players": None}, {"players": "hold"}, {"players": (("PLAYERA",),)}, {"players": ((1, "hold"),)},
        {"players": {"PLAYERA": "hold"}}, {"players": (("PLAYERA", 5),)}, {"rules": {}}, {"map_name": []},
        {"engine": []}, {"simultaneous": "yes"},
    ],
    ids=lambda value: quoted(value)[:40],
)  # fmt: skip
def test_odd_games(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "players": SPEC.players,
        "seed": 0,
        "rules": RULES,
        "map_name": "clique:3",
        "engine": "fast",
    }
    with pytest.raises(WelfareEnvError):
        GameSpec(**given | change)


@pytest.mark.parametrize("specs", [None, 5, "x", [5], [SPEC, None], SPEC])
def test_what_is_no_game_is_not_played(specs: Any) -> None:
    with pytest.raises(EvaluationError, match="GameSpec"):
        evaluation.play_all(specs)
    with pytest.raises(EvaluationError, match="GameSpec"):
        evaluation.play_game(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [None, 5, [], {}, {"phases": []}, {"phases": [5]}, {"phases": [{"state": []}]}])
def test_what_is_no_record_is_not_measured(record: Any) -> None:
    with pytest.raises(RecordError):
        evaluation.measure(record)


def test_damaged_parts_of_a_record_are_told() -> None:
    for part in ("state", "orders", "results", "name"):
        for odd in (None, 5, "x", [], {"PLAYERA": 5}):
            record = evaluation.play_game(SPEC)
            record["phases"][0][part] = odd
            try:
                evaluation.measure(record)
            except WelfareEnvError as error:
                assert isinstance(error, RecordError)  # noqa: PT017  (some parts matter to no measure)
    for odd_deviators in (5, "PLAYERA", [5], [[]], ["NOBODY"]):
        with pytest.raises(UnknownPowerError):
            evaluation.measure(evaluation.play_game(SPEC), odd_deviators)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [[], 5, None, "x", ["x"], [[1], [2, 3]], [HUGE], [object()], [[1.0]], [1j]])
def test_odd_samples(values: Any) -> None:
    with pytest.raises(SampleError):
        mean_estimate(values, 0)
    with pytest.raises(SampleError):
        coalition_gain({"A": [1.0, 2.0]}, {"A": values}, ("A",), 0)


@pytest.mark.parametrize("rng", ["x", -1, 1.5, object()])
def test_odd_generators(rng: Any) -> None:
    with pytest.raises(SampleError, match="rng"):
        mean_estimate([1.0, 2.0], rng)


def test_an_environment_takes_no_options_of_welfare_diplomacy() -> None:
    import modal_env

    for odd in (
        {"workers": np.zeros(3)},
        {"engine": None},
        {"map_name": []},
        {"store": 5},
        {"rules": HUGE},
        {"workers": 2},
    ):
        with pytest.raises(EvaluationError, match="are options of Welfare Diplomacy"):
            evaluation.exploitability("program:FairBot", 1, environment=modal_env.make(), **odd)  # type: ignore[call-overload]
    for games in NUMBERS:
        with pytest.raises(EvaluationError, match="games="):
            evaluation.exploitability("program:FairBot", games, environment=modal_env.make())  # type: ignore[arg-type]
    with pytest.raises(RulesError):
        evaluation.self_play("hold", 1, engine="nothing")
