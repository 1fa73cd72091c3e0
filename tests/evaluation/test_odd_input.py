"""Odd arguments at public doors, damaged records and long files are refused by name, shortly, before any game."""

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evaluation
import modal_env
from evaluation import EvaluationError, GameSpec
from evaluation.exact import best_response
from evaluation.experiment_files.description import ExperimentError, parse_experiment
from evaluation.measures.gains import coalition_gain
from evaluation.measures.intervals import SampleError, mean_estimate
from evaluation.messages.analysis import analyze_messages
from evaluation.play import runner
from welfare_env import Rules, RulesError, UnknownAgentError, UnknownMapError, WelfareEnvError, load_board
from welfare_env.errors import RecordError, UnknownPowerError

QUICK: dict[str, Any] = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}
PLAYERS: Any = tuple((power, "hold") for power in load_board("clique:3").powers)
GAME: dict[str, Any] = {"players": PLAYERS, "seed": 0, **QUICK, "engine": "fast"}
STANDARD = Rules(variant="standard", years=1, press=None)
HUGE = 10**5000  # Python does not write it down
NUMBERS = [0, -HUGE, HUGE, 1.0, float("nan"), True, None, "3", np.int64(3)]


@pytest.fixture(scope="module", autouse=True)
def no_games() -> Any:
    """Fails the tests of arguments that play a game. Gives the function that plays one."""
    play = evaluation.play_game
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "play_game", lambda *_: pytest.fail("a game was played"))
        yield play


def refuses(error: type[WelfareEnvError], call: Callable[..., object], *given: Any, **options: Any) -> str:
    """Calls, and gives what is said of a refusal."""
    with pytest.raises(error) as caught:
        call(*given, **options)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


# What self_play and exploitability share: argument, error and odd values.
SHARED: list[tuple[str, type[WelfareEnvError], list[Any]]] = [
    ("games", EvaluationError, NUMBERS),
    ("workers", EvaluationError, NUMBERS),
    ("seed", EvaluationError, NUMBERS[1:]),
    *((name, EvaluationError, [5]) for name in ("store", "report", "simultaneous", "models", "start")),
    ("seats", EvaluationError, [5, "around"]),
    ("rules", RulesError, [5, {"years": 1}]),
    ("engine", RulesError, [5, "steam"]),
    ("map_name", EvaluationError, [5, HUGE]),
    ("map_name", UnknownMapError, ["nowhere", "a\0b"]),
    ("policy", UnknownAgentError, [5, "nobody", "", "a\0b", HUGE]),
]
ODD = [(name, error, value) for name, error, values in SHARED for value in values]


@pytest.mark.parametrize("door", [evaluation.self_play, evaluation.exploitability])
@given(odd=st.sampled_from(ODD))
def test_odd_values_are_refused_by_name(door: Callable[..., Any], odd: tuple[str, type[WelfareEnvError], Any]) -> None:
    name, error, value = odd
    told = refuses(error, door, **{"policy": "hold"} | QUICK | {name: value})
    assert error is not EvaluationError or f"{name}=" in told
    with pytest.raises(TypeError, match=r"did you mean .simultaneous"):
        door("hold", simultaneousy=True)


COALITIONS = [
    "", "triples", "PLAYERA", [], [[]], [7], 5, HUGE, {"PLAYERA"}, itertools.repeat("PLAYERA"),
    [itertools.repeat("PLAYERA")], [[HUGE]], [[np.zeros(3), "PLAYERA"]], ["SPAIN"],
]  # fmt: skip


@given(st.sampled_from(COALITIONS))
def test_odd_coalitions(coalitions: Any) -> None:
    error = UnknownPowerError if coalitions == ["SPAIN"] else EvaluationError
    refuses(error, evaluation.exploitability, "hold", 1, coalitions=coalitions, **QUICK)


CHANGES: list[dict[str, Any]] = [
    *({"seed": value} for value in NUMBERS[1:]),
    *({"players": value} for value in (None, (("PLAYERA",),), ((1, "hold"),), (("PLAYERA", 5),))),
    {"rules": {}}, {"map_name": []}, {"engine": []}, {"simultaneous": "yes"}, {"start": 5},
]  # fmt: skip


@given(st.sampled_from(CHANGES))
def test_odd_games(change: dict[str, Any]) -> None:
    refuses(WelfareEnvError, GameSpec, **GAME | change)


def attacked(policy: str = "hold", **options: Any) -> object:
    return evaluation.exploitability(policy, 1, **QUICK | options)


def teamed(**options: Any) -> object:
    return evaluation.red_team("hold", **QUICK | {"games": 1} | options)


def crossed(*policies: str, **options: Any) -> object:
    return evaluation.cross_play(policies or ("dove", "hold"), **QUICK | options)


def compared(policy: Any = "random", **options: Any) -> object:
    return evaluation.compare("hold", policy, **QUICK | {"games": 1} | options)


def programs(policy: str = "program:FairBot", **options: Any) -> object:
    return evaluation.exploitability(policy, environment=modal_env.make(), **options)


def joined(coalition: Any) -> object:
    """A game of a coalition whose members play different policies."""
    return GameSpec(**GAME | {"players": (("PLAYERA", "hold"), ("PLAYERB", "dove")), "coalition": coalition})


def best(odd: Any) -> object:
    return best_response("clique:3", "punisher:t=1", odd, years=1)


# What is called with what, and what the error names.
REFUSED: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (evaluation.self_play, {"policy": "4*dove + 4*hold"}, "seats for 8"),
    (evaluation.self_play, {"policy": lambda: 1 / 0}, "ZeroDivisionError"),
    (evaluation.self_play, {"policy": dict}, "not a policy"),
    (attacked, {"coordinated": "no"}, "coordinated="),
    (attacked, {"rules": STANDARD}, "welfare"),
    *((attacked, {"deviator": ["hold"] * count}, "give 1 to 100 policies") for count in (0, 101)),
    (attacked, {"deviator": ["hold", "nobody"]}, "nobody"),
    (attacked, {"deviator": {"hold"}}, "give a string"),
    (attacked, {"deviator": ["pact:years=1", "dumbbot"], "coordinated": True}, "dumbbot"),
    (attacked, {"policy": "2*hold + 1*dove", "coordinated": True}, "several policies"),
    (teamed, {"budget": ["quick"]}, "budget="),
    (teamed, {"budget": "quik"}, "'quick'"),
    (teamed, {"trained": 5}, "trained=5"),
    (teamed, {"trained": ["nobody"]}, "nobody"),
    (teamed, {"rules": STANDARD}, "welfare"),
    (crossed, {"games": 5}, "multiple of 3, such as 6"),
    (crossed, {"types": 0}, "types=0"),
    (crossed, {"background": ["dove"]}, "is also one of the policies"),
    (crossed, {"background": "prosocial"}, "background='prosocial'"),
    (crossed, {"background": ["random"], "focal_seats": [3]}, "focal_seats=3"),
    (compared, {"policy": 5}, "5"),
    (compared, {"measure": 5}, "measure=5"),
    (compared, {"measure": "conflict"}, "did you mean 'conflicts'"),
    (compared, {"measure": "welfare_per_year:PLAYERA", "rules": STANDARD}, "standard games"),
    (programs, {"policy": "hold"}, "hold"),
    (programs, {"deviator": "dumbbot"}, "dumbbot"),
    (programs, {"rules": Rules()}, "rules"),
    (programs, {"coalitions": "triples"}, "triples"),
    (joined, {"coalition": ("PLAYERX",)}, "give some of"),
    (joined, {"coalition": ("PLAYERA", "PLAYERA")}, "each once"),
    (joined, {"coalition": ("PLAYERA", "PLAYERB")}, "different policies"),
    (best, {"odd": None}, "powers="),
    (evaluation.experiment, {"source": 5}, "5"),
    (evaluation.experiment, {"source": "a\0b"}, "experiment"),
    (evaluation.experiment, {"source": "years", "profiles": ["no such"]}, "no such"),
    (evaluation.GameStore, {"path": 5}, "path"),
    (evaluation.play_game, {"spec": GAME}, "spec"),
    (evaluation.Runner().play, {"specs": [None]}, "None"),
]


@pytest.mark.parametrize(("call", "options", "word"), REFUSED)
def test_other_arguments_are_refused_by_name(call: Callable[..., object], options: dict[str, Any], word: str) -> None:
    assert word in refuses(WelfareEnvError, call, **options)


def test_policies_of_a_cross_play_and_players_of_a_game() -> None:
    assert "dove is listed twice" in refuses(EvaluationError, crossed, "dove", "dove")
    refuses(EvaluationError, crossed, "hold")
    refuses(UnknownAgentError, GameSpec, **GAME | {"players": (("PLAYERA", "nobody"),)})
    for players in (PLAYERS[:1], (*PLAYERS, ("PLAYERA", "hold"))):
        with pytest.raises(EvaluationError):
            evaluation.play_game(GameSpec(**GAME | {"players": players}))


@given(st.sampled_from([[], 5, None, "x", ["x"], [[1], [2, 3]], [HUGE], [object()], [[1.0]], [1j]]))
def test_odd_samples(values: Any) -> None:
    refuses(SampleError, mean_estimate, values, 0)
    refuses(SampleError, coalition_gain, {"A": [1.0, 2.0]}, {"A": values}, ("A",), 0)


# Records and files


@pytest.fixture(scope="module")
def record(no_games: Callable[..., Any]) -> dict[str, Any]:
    """A game with promises of every kind."""
    played = no_games(GameSpec(**GAME | {"rules": Rules(years=1, message_rounds=1)}))
    said = "I will hold Hax. I will not enter your centers. I will support you. I will disband all my units."
    for phase in played["phases"][:-1]:
        phase["messages"] = [
            {"sender": "PLAYERA", "recipient": to, "message": said, "phase": phase["name"], "round": 1, "time_sent": 0}
            for to in ("GLOBAL", "PLAYERB")
        ]
    return json.loads(json.dumps(played))


def test_damaged_parts_of_a_record_are_told(record: dict[str, Any]) -> None:
    for part, odd in itertools.product(("state", "orders", "results", "name"), (None, [], {"PLAYERA": 5})):
        wrong = copy.deepcopy(record)
        wrong["phases"][0][part] = odd
        try:
            evaluation.measure(wrong)
        except WelfareEnvError as error:
            assert isinstance(error, RecordError)  # noqa: PT017  (some parts matter to no measure)
    for deviators in (5, "PLAYERA", [5], [[]], ["NOBODY"], ["A" * 3000]):
        refuses(UnknownPowerError, evaluation.measure, record, deviators)
    scores = {"PLAYERB": 0.0, "PLAYERC": 0.0}
    told = refuses(
        RecordError, evaluation.measure, record | {"welfare_env": record["welfare_env"] | {"scores": scores}}
    )
    assert "PLAYERA" in told


def test_messages_of_wrong_records_are_named(record: dict[str, Any]) -> None:
    said, state = record["phases"][0]["messages"], record["phases"][0]["state"]
    for change in (
        {"messages": [said[0] | {"recipient": ["PLAYERB"]}]},
        {"name": ""},
        {"state": state | {"units": 5}},
        {"orders": {"PLAYERA": [5]}},
    ):
        first, *others = record["phases"]
        refuses(RecordError, analyze_messages, record | {"phases": [first | change, *others]})


def test_thousands_of_faults_are_listed_in_part() -> None:
    lines = [f"key{number} = {number}" for number in range(3000)]
    for head in ("", "[rules]", "[sweep]", "[[figures]]"):
        with pytest.raises(ExperimentError, match=r"and [0-9,]+ more") as caught:
            parse_experiment("\n".join(["title = 'x'", "profiles = ['dove']", head, *lines]))
        assert len(str(caught.value)) < 10_000
