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
from welfare_env.errors import RecordError, UnknownPowerError

RULES = Rules(years=1, press=None)
HUGE = 10**5000  # Python does not write it down
NUMBERS = [0, -HUGE, HUGE, 1.0, float("nan"), True, None, "3", np.int64(3)]
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
        *(
            (name, 5)
            for name in ("store", "report", "simultaneous", "models", "engine", "rules", "map_name", "policy", "start")
        ),
        *(("map_name", value) for value in ("a\0b", HUGE)),
        *(("policy", value) for value in ("", "a\0b", HUGE)),
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
        "", [[]], 5, HUGE, {"PLAYERA"}, itertools.repeat("PLAYERA"), [itertools.repeat("PLAYERA")], [[HUGE]],
        [[np.zeros(3), "PLAYERA"]],
    ],
    ids=lambda value: quoted(value)[:20],
)  # fmt: skip
def test_odd_coalitions(coalitions: Any, played: list[GameSpec]) -> None:
    with pytest.raises((EvaluationError, UnknownPowerError)):
        evaluation.exploitability("hold", 1, coalitions=coalitions, rules=RULES, map_name="clique:3")
    assert played == []


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": value} for value in NUMBERS if value != 0),
        {"players": None}, {"players": (("PLAYERA",),)}, {"players": ((1, "hold"),)}, {"players": (("PLAYERA", 5),)},
        {"rules": {}}, {"map_name": []}, {"engine": []}, {"simultaneous": "yes"}, {"start": 5},
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
        evaluation.Runner().play(specs)
    with pytest.raises(EvaluationError, match="GameSpec"):
        evaluation.play_game(5)  # type: ignore[arg-type]


def test_damaged_parts_of_a_record_are_told() -> None:
    for part in ("state", "orders", "results", "name"):
        for odd in (None, [], {"PLAYERA": 5}):
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
