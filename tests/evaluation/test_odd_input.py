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
from agents.runtime.table_files import frame, write_csv
from evaluation.exact import best_response
from evaluation.experiment_files.loading import ExperimentError, read_experiment, shipped_experiments
from evaluation.experiments.red_team import attacks_on
from evaluation.measures.symmetric_game import GameTableError, SymmetricGame
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
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def examples(number: int) -> Any:
    return settings(max_examples=MANY or number)


def changed(value: Any, draw: Any, new: Any) -> Any:
    """The value with something in it, a few steps down, replaced or left out."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 9)):
            return {name: each for name, each in value.items() if name != key}
        return value | {key: changed(value[key], draw, new)}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed(value[place], draw, new), *value[place + 1 :]]
    return draw(new)


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


@pytest.mark.slow
@examples(150)
@given(data=st.data())
def test_messages_of_odd_records(record: dict[str, Any], data: st.DataObject) -> None:
    wrong = copy.copy(record)
    for _ in range(data.draw(st.integers(1, 3))):
        phase = data.draw(st.integers(0, 3))
        phases = wrong["phases"]
        if isinstance(phases, list) and phase < len(phases) and data.draw(st.booleans()):
            wrong = wrong | {"phases": [*phases[:phase], changed(phases[phase], data.draw, odd), *phases[phase + 1 :]]}
        else:
            wrong = changed(wrong, data.draw, odd)
            if not isinstance(wrong, dict) or "phases" not in wrong:
                break
    try:
        json.dumps(analyze_messages(wrong).to_dict())
    except WelfareEnvError as error:
        assert len(str(error)) < 1000  # noqa: PT017


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("messages", 0), "hello"),
        (("messages", 0, "recipient"), ["PLAYERB"]),
        (("messages", 0, "sender"), 5),
        (("messages", 0, "message"), None),
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


@pytest.mark.slow
@examples(100)
@given(data=st.data())
def test_tables_of_odd_records(record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    wrong = changed(record, data.draw, odd)
    try:
        measured = evaluation.measure(wrong, data.draw(st.just(()) | st.just(["PLAYERA"]) | odd))
    except WelfareEnvError as error:
        assert len(str(error)) < 1000  # noqa: PT017
        return
    result = evaluation.SelfPlayResult("dove", 0, NO_PRESS, "clique:3", (measured,), (wrong,), ({},))
    try:
        rows = result.rows()
        assert len(frame(rows)) == len(rows)
        write_csv(rows, tmp_path_factory.getbasetemp() / "odd.csv")
    except WelfareEnvError as error:
        assert len(str(error)) < 1000  # noqa: PT017


def test_a_record_without_a_score_or_with_a_strange_deviator(record: dict[str, Any]) -> None:
    scores = {"PLAYERB": 0.0, "PLAYERC": 0.0}
    with pytest.raises(RecordError, match="PLAYERA"):
        evaluation.measure(record | {"welfare_env": record["welfare_env"] | {"scores": scores}})
    with pytest.raises(WelfareEnvError) as caught:
        evaluation.measure(record, ["A" * 3000])
    assert len(str(caught.value)) < 500


@examples(12)
@given(budget=st.just("quick") | odd, trained=st.just(()) | odd, policy=st.just("hold") | odd)
def test_plans_of_red_teams(budget: Any, trained: Any, policy: Any) -> None:
    setting = evaluation.Setting(rules=NO_PRESS, map_name="clique:3")
    try:
        profile = evaluation.experiments.red_team.read_profile(policy)
        attacks_on(profile, "odd", setting, budget, trained)
    except WelfareEnvError as error:
        assert len(str(error)) < 1000  # noqa: PT017


@pytest.mark.parametrize("options", [{"budget": ["quick"]}, {"trained": 5}, {"trained": "dove"}, {"trained": b"x"}])
def test_red_teams_name_what_is_wrong(options: dict[str, Any]) -> None:
    with pytest.raises(evaluation.EvaluationError, match=next(iter(options))):
        evaluation.red_team("hold", games=1, rules=NO_PRESS, map_name="clique:3", **options)


texts = st.sampled_from(["dove", "x", "years", "standard", "{profile}", "self-play", "both", "lines", "singles", ""])
values = st.recursive(
    texts | st.integers(-2, 5) | st.sampled_from([10**30, 0.5]) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=4,
)
WORDS = "title question measure profiles template games coalitions deviators kind y x published years press z"
keys = st.sampled_from(WORDS.split())


def toml(value: Any) -> str:
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


@examples(100)
@given(
    base=st.sampled_from(["", "title = 'x'\nprofiles = ['dove']\n"]),
    lines=st.lists(st.tuples(keys, values) | st.sampled_from(["[rules]", "[sweep]", "[[figures]]", "[x"]), max_size=8),
)
def test_experiments_with_odd_values(base: str, lines: list[Any]) -> None:
    text = base + "\n".join(line if isinstance(line, str) else f"{line[0]} = {toml(line[1])}" for line in lines)
    try:
        read_experiment(text).conditions  # noqa: B018
    except ExperimentError as error:
        assert len(str(error)) < 10_000  # noqa: PT017


@examples(60)
@given(data=st.data())
def test_shipped_experiments_with_changes(data: st.DataObject) -> None:
    from evaluation.experiment_files.loading import SHIPPED

    lines = (SHIPPED / f"{data.draw(st.sampled_from(shipped_experiments()))}.toml").read_text("utf-8").splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    key, _, value = lines[place].partition("=")
    new = data.draw(values)
    lines[place] = data.draw(st.sampled_from([f"{key} = {toml(new)}", f"{key}x = {value}", value, lines[place][:-1]]))
    try:
        read_experiment("\n".join(lines)).conditions  # noqa: B018
    except ExperimentError as error:
        assert len(str(error)) < 10_000  # noqa: PT017


def test_thousands_of_faults_are_listed_in_part() -> None:
    lines = [f"key{number} = {number}" for number in range(3000)]
    for head in ("", "[rules]", "[sweep]", "[[figures]]"):
        with pytest.raises(ExperimentError, match=r"and [0-9,]+ more") as caught:
            read_experiment("\n".join(["title = 'x'", "profiles = ['dove']", head, *lines]))
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


def test_payoffs_of_any_size() -> None:
    table = np.random.default_rng(0).normal(size=(3, 2))
    usual = SymmetricGame(("a", "b"), 3, table)
    for factor in (1e-90, 1e6, 1e90):
        game = SymmetricGame(("a", "b"), 3, table * factor)
        assert [each.mix["a"] for each in game.equilibria] == pytest.approx(
            [each.mix["a"] for each in usual.equilibria]
        )
    with pytest.raises(GameTableError, match="exceeds"):
        SymmetricGame(("a", "b"), 3, table * 1e300)


@examples(60)
@given(names=odd, players=odd, table=odd | st.just(np.zeros((3, 2))))
def test_symmetric_games_of_odd_parts(names: Any, players: Any, table: Any) -> None:
    with pytest.raises(GameTableError):
        SymmetricGame(names, players, table)
