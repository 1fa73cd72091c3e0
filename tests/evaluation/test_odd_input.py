"""Damaged records and long files are named, shortly."""

import copy
import json
from typing import Any

import pytest

import evaluation
from evaluation.experiment_files.description import ExperimentError, parse_experiment
from evaluation.messages.analysis import analyze_messages
from welfare_env import Rules, WelfareEnvError
from welfare_env.errors import RecordError


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
