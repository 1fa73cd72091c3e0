"""Odd input at public doors: an answer, or a named error, whatever is given; examples are drawn by hypothesis."""

import copy
import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaluation
from evaluation.exact import best_response
from evaluation.experiment_files.description import ExperimentError, parse_experiment
from evaluation.messages.analysis import analyze_messages
from welfare_env import Rules, WelfareEnvError
from welfare_env.errors import RecordError

MANY = int(os.environ.get("ODD_INPUT", "0"))  # examples per test, for a longer hunt
NO_PRESS = Rules(years=1, press=None)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**30, 10**400, 1.5, float("nan"), float("inf"), 1j, b"x", "\ud800", "a\0b", "A" * 3000]),
    st.sampled_from(["", "x", "DOVE", "dove", "quick", "FRANCE", "S1901M", "GLOBAL", "A PAR", "I will hold Par."]),
    st.sampled_from([np.int64(3), np.float32(2), np.str_("dove"), np.array("FRANCE"), np.zeros(2), int, len, object()]),
)
odd = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "FRANCE", "name"]), inner, max_size=2)
        | st.tuples(inner)
        | st.builds(iter, st.lists(inner, max_size=2))
    ),
    max_leaves=4,
)


def examples(number: int) -> Any:
    return settings(max_examples=MANY or number)


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


@pytest.mark.parametrize("options", [{"budget": ["quick"]}, {"trained": 5}, {"trained": "dove"}, {"trained": b"x"}])
def test_red_teams_name_what_is_wrong(options: dict[str, Any]) -> None:
    with pytest.raises(evaluation.EvaluationError, match=next(iter(options))):
        evaluation.red_team("hold", games=1, rules=NO_PRESS, map_name="clique:3", **options)


def test_thousands_of_faults_are_listed_in_part() -> None:
    lines = [f"key{number} = {number}" for number in range(3000)]
    for head in ("", "[rules]", "[sweep]", "[[figures]]"):
        with pytest.raises(ExperimentError, match=r"and [0-9,]+ more") as caught:
            parse_experiment("\n".join(["title = 'x'", "profiles = ['dove']", head, *lines]))
        assert len(str(caught.value)) < 10_000


@examples(100)
@given(
    wrong=odd,
    where=st.sampled_from(
        ["profiles", "source", "deviators", "coalitions", "coordinated", "seats", "path", "compared", "measure"]
    ),
)
def test_odd_arguments(record: dict[str, Any], wrong: Any, where: str) -> None:
    doors = {
        "profiles": lambda: evaluation.experiment("years", profiles=wrong, games=0),
        "source": lambda: evaluation.experiment(wrong, games=0),
        "deviators": lambda: evaluation.measure(record, wrong),
        "coalitions": lambda: evaluation.exploitability(
            "hold", 0, coalitions=wrong, rules=NO_PRESS, map_name="clique:3"
        ),
        "coordinated": lambda: evaluation.exploitability("hold", 0, coordinated=wrong),
        "seats": lambda: evaluation.Setting(seats=wrong, paper_code=wrong),
        "path": lambda: evaluation.GameStore(wrong),
        "compared": lambda: evaluation.compare("hold", wrong, games=0),
        "measure": lambda: evaluation.compare("hold", "random", measure=wrong, games=0, pairs=bool(wrong is None)),
    }
    try:
        doors[where]()
    except WelfareEnvError as error:
        assert len(str(error)) < 1000  # noqa: PT017


@pytest.mark.parametrize("powers", [None, 5, b"x", np.array("PLAYERA"), len])
def test_deviators_that_are_no_list(powers: Any) -> None:
    with pytest.raises(evaluation.EvaluationError, match="powers="):
        best_response("clique:3", "punisher:t=1", powers, years=1)
