"""Odd arguments at public doors, damaged records and long files are named, shortly."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evaluation
from evaluation.exact import best_response
from evaluation.experiment_files.description import ExperimentError, parse_experiment
from evaluation.messages.analysis import analyze_messages
from welfare_env import Rules, WelfareEnvError
from welfare_env.errors import RecordError

QUICK: dict[str, Any] = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}
PLAYERS: Any = (("PLAYERA", "hold"),)

DOORS: dict[str, tuple[Callable[[Any], object], tuple[object, object]]] = {
    "policy": (lambda odd: evaluation.self_play(odd, 1, **QUICK), (5, "a\0b")),
    "coalitions": (lambda odd: evaluation.exploitability("hold", 1, coalitions=odd, **QUICK), (5, [[]])),
    "coordinated": (lambda odd: evaluation.exploitability("hold", 1, coordinated=odd, **QUICK), (1, "no")),
    "budget": (lambda odd: evaluation.red_team("hold", games=1, budget=odd, **QUICK), (["quick"], None)),
    "trained": (lambda odd: evaluation.red_team("hold", games=1, trained=odd, **QUICK), (5, b"x")),
    "mixed": (lambda odd: evaluation.cross_play(odd, **QUICK), (5, ["hold", None])),
    "compared": (lambda odd: evaluation.compare("hold", odd, games=1, **QUICK), (5, object())),
    "measure": (lambda odd: evaluation.compare("hold", "random", measure=odd, games=1, **QUICK), (5, [None])),
    "source": (lambda odd: evaluation.experiment(odd), (5, "a\0b")),
    "profiles": (lambda odd: evaluation.experiment("years", profiles=odd), (5, ["no such"])),
    "rules": (lambda odd: evaluation.GameSpec(PLAYERS, 0, odd, "standard", "fast"), (None, {"years": 1})),
    "start": (lambda odd: evaluation.GameSpec(PLAYERS, 0, Rules(), "standard", "fast", start=odd), (5, "S1901M")),
    "store": (lambda odd: evaluation.GameStore(odd), (5, b"x")),
    "workers": (lambda odd: evaluation.Runner(odd), (0, "two")),
    "run": (lambda odd: evaluation.Runner().run(odd), (5, [])),
}


@pytest.mark.parametrize("door", DOORS)
def test_odd_arguments(door: str) -> None:
    call, values = DOORS[door]
    for odd in values:
        with pytest.raises(WelfareEnvError) as caught:
            call(odd)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("powers", [None, 5, np.array("PLAYERA")])
def test_deviators_that_are_no_list(powers: Any) -> None:
    with pytest.raises(evaluation.EvaluationError, match="powers="):
        best_response("clique:3", "punisher:t=1", powers, years=1)


@pytest.mark.parametrize("options", [{"budget": ["quick"]}, {"trained": 5}, {"trained": "dove"}])
def test_red_teams_name_what_is_wrong(options: dict[str, Any]) -> None:
    with pytest.raises(evaluation.EvaluationError, match=next(iter(options))):
        evaluation.red_team("hold", games=1, **QUICK, **options)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A game with promises of every kind."""
    rules = Rules(years=1, message_rounds=1)
    played = evaluation.self_play("hold", 1, rules=rules, map_name="clique:3").records[0]
    said = "I will hold Hax. I will not enter your centers. I will support you. I will disband all my units."
    for phase in played["phases"][:-1]:
        phase["messages"] = [
            {"sender": "PLAYERA", "recipient": to, "message": said, "phase": phase["name"], "round": 1, "time_sent": 0}
            for to in ("GLOBAL", "PLAYERB")
        ]
    return json.loads(json.dumps(played))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("messages", 0, "recipient"), ["PLAYERB"]),
        (("name",), ""),
        (("state", "units"), 5),
        (("orders", "PLAYERA"), [5]),
    ],
)
def test_messages_of_wrong_records_are_named(record: dict[str, Any], place: tuple[Any, ...], value: object) -> None:
    wrong = copy.deepcopy(record)
    part = wrong["phases"][0]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(RecordError, match="damaged, or not a saved game"):
        analyze_messages(wrong)


def test_a_record_without_a_score_or_with_a_strange_deviator(record: dict[str, Any]) -> None:
    scores = {"PLAYERB": 0.0, "PLAYERC": 0.0}
    with pytest.raises(RecordError, match="PLAYERA"):
        evaluation.measure(record | {"welfare_env": record["welfare_env"] | {"scores": scores}})
    with pytest.raises(WelfareEnvError) as caught:
        evaluation.measure(record, ["A" * 3000])
    assert len(str(caught.value)) < 500


def test_thousands_of_faults_are_listed_in_part() -> None:
    lines = [f"key{number} = {number}" for number in range(3000)]
    for head in ("", "[rules]", "[sweep]", "[[figures]]"):
        with pytest.raises(ExperimentError, match=r"and [0-9,]+ more") as caught:
            parse_experiment("\n".join(["title = 'x'", "profiles = ['dove']", head, *lines]))
        assert len(str(caught.value)) < 10_000
