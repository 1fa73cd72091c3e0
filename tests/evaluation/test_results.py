"""All results: short when printed, with the columns that the page describes, and what their notes say."""

import csv
import math
from pathlib import Path
from typing import Any

import pytest

import agents
import evaluation
import modal_env
from agents.runtime.results import LONGEST, Printable, Result
from agents.runtime.table_files import write_csv, write_parquet
from evaluation.exact import best_response, exploitability
from evaluation.experiment_files.description import Experiment, parse_experiment
from evaluation.experiments import deviators
from evaluation.experiments.red_team import BUDGETS, AttackBudget
from evaluation.messages.analysis import analyze_messages
from evaluation.report.page import report_page
from evaluation.tables.cross_play_tables import player_table
from evaluation.tables.message_tables import talks
from tests.columns import columns
from tests.evaluation.conftest import call
from welfare_env import Rules

RULES = Rules(years=1, message_rounds=1)
TOY: dict[str, Any] = {"rules": RULES, "map_name": "clique:3"}
KINDS = {"text": str, "int": int, "float": int | float, "bool": bool, "any": str | int | float}
OF_EXPERIMENTS = ("experiment", "condition", "coalitions", "swept_NAME")
OF_CONDITIONS = ("measure", "training_seed")


class Hostile(agents.HoldPolicy):
    """A policy whose name is markup."""


Hostile.__qualname__ = "<script>alert('[bold]&')</script>"


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[str, Printable]]:
    """Name -> table and result."""
    own = evaluation.self_play("dove", 2, **TOY)
    attacked = evaluation.exploitability("dove", 2, deviator=["dumbbot", "hold"], coalitions="all-singles", **TOY)
    crossed = evaluation.cross_play(["dove", "hold"], games=3, background=["random"], **TOY)
    chosen = Experiment(
        "e",
        "An experiment",
        ("dove", "hold"),
        measure=("self-play", "exploitability"),
        games=1,
        sweep={"map_name": ("clique:3",), "years": (1, 2)},
    )
    swept = evaluation.experiment(chosen)
    program = evaluation.exploitability("program:FairBot", 2, environment=modal_env.make())
    pair = ["PLAYERA", ("PLAYERA", "PLAYERB"), "PLAYERB"]
    (surplus,) = evaluation.exploitability("dove", 1, deviator="dumbbot", coalitions=pair, **TOY).surpluses
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "quick", AttackBudget(selection_games=1, sizes=(1,), most=1))
        red_team = evaluation.red_team("dove", "quick", games=1, map_name="clique:3", rules=Rules(years=1, press=None))
    (talk,) = talks([("a", own.records[0]), ("b", own.records[1])])
    return {
        "self-play": ("games", own),
        "mixed": ("games", evaluation.self_play("2*dove + 1*hold", 1, **TOY)),
        "hostile": ("games", evaluation.self_play(Hostile, 1, **TOY)),
        "exploitability": ("games", attacked),
        "red team": ("games", red_team),
        "cross-play": ("games", crossed),
        "experiment": ("games", swept),
        "condition": ("games", swept.conditions[0]),
        "programs": ("programs", program),
        "best response": ("exact", best_response("clique:3", "prosocial", "PLAYERA", years=2)),
        "exact": ("exact", exploitability("clique:3", "prosocial", years=2)),
        "messages": ("messages", analyze_messages(own.records[0])),
        "talk": ("messages", talk),
        "comparison": ("differences", evaluation.compare("dove", "hold", games=2, **TOY)),
        "mix": ("", crossed.mixes[1, 2]),
        "scenario": ("", crossed.scenarios[0]),
        "game": ("", own.measures[0]),
        "surplus": ("", surplus),
        "costs": ("", attacked.costs),
    }


def test_printed_results_are_short(results: dict[str, tuple[str, Printable]]) -> None:
    for name, (_, result) in results.items():
        text = str(result)
        assert 50 < len(text) <= LONGEST, name
        assert max(map(len, text.splitlines())) <= 100, name
        assert not any(dumped in text for dumped in ("Rules(", "Estimate(", "{")), name
        assert len(repr(result)) <= LONGEST, name
        assert len(repr([result])) <= LONGEST + 2, name
        is_table = isinstance(result, Result) and name != "condition"
        assert (repr(result) == text) is is_table, name
        assert is_table or "\n" not in repr(result), name


def test_names_are_not_read_as_markup(results: dict[str, tuple[str, Printable]]) -> None:
    lines = [line for line in str(results["hostile"][1]).splitlines() if line.startswith("│")]
    assert "<script>alert('[bold]&')</script>" in "".join(line.split("│")[1].strip() for line in lines)


def matches(column: str, name: str) -> bool:
    """Whether a described column stands for this one: welfare_YEAR for welfare_1901."""
    stem = column.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    varies = name.removeprefix(stem)
    return column == name or (stem != column and varies != name and (column[-4:] != "YEAR" or varies.isdecimal()))


def left_out(name: str) -> tuple[str, ...]:
    """The columns that only experiments, or their conditions, have, and this result has not."""
    return {"experiment": (), "condition": OF_EXPERIMENTS}.get(name, OF_EXPERIMENTS + OF_CONDITIONS)


def test_rows_have_the_columns_of_the_page(results: dict[str, tuple[str, Printable]]) -> None:
    for name, (table, result) in results.items():
        if not table:
            continue
        described = columns(table)
        if table == "games":
            described = [column for column in described if column.name not in left_out(name)]
        rows = result.rows()
        assert len({tuple(row) for row in rows}) == 1, name
        found = [next(c for c in described if matches(c.name, each)) for each in rows[0]]
        assert set(found) == set(described), name
        assert name == "experiment" or list(dict.fromkeys(found)) == described, name
        for row in rows:
            for column, value in zip(found, row.values(), strict=True):
                assert is_kind(value, column.dtype), (name, column, value)


def is_kind(value: object, dtype: str) -> bool:
    if isinstance(value, bool):
        return dtype == "bool"
    return isinstance(value, KINDS[dtype]) or (dtype == "int" and isinstance(value, float) and math.isnan(value))


def test_rows_by_year_have_the_columns_of_the_page(results: dict[str, tuple[str, Printable]]) -> None:
    described = [column.name for column in columns("years")]
    for name, (table, result) in results.items():
        if table == "games" and name != "experiment":
            names = [each for each in described if each not in left_out(name)]
            assert {tuple(row) for row in result.rows(by_year=True)} == {tuple(names)}, name
    swept = results["experiment"][1].rows(by_year=True)
    names = [each for each in described if each not in OF_EXPERIMENTS]
    assert {tuple(row) for row in swept} == {(*OF_EXPERIMENTS[:3], "swept_map_name", "swept_years", *names)}


def test_frames_and_files_hold_the_rows(results: dict[str, tuple[str, Printable]], tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name, (table, result) in results.items():
        if not table:
            continue
        rows, frame = result.rows(), result.to_frame()
        assert list(frame.columns) == list(rows[0]), name
        assert len(frame) == len(rows)
        for column in columns(table):
            if column.name in frame and column.dtype in ("float", "int", "bool"):
                assert frame[column.name].dtype.kind in {"float": "fi", "int": "if", "bool": "b"}[column.dtype], column
        write_parquet(rows, tmp_path / "rows.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), frame, check_dtype=False)
        write_csv(rows, tmp_path / "rows.csv")
        assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", "rows.parquet"}
        with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
            assert [list(map(as_field, row.values())) for row in rows] == list(csv.reader(file))[1:], name


def as_field(value: object) -> str:
    return "" if isinstance(value, float) and math.isnan(value) else str(value)


def test_long_names_and_many_rows_are_cut() -> None:
    policy = "exploiter:nice=(" * 12 + "dove" + "),attack=dumbbot" * 12
    swept = Experiment(
        "e", "t" * 3000, ("hold",), games=1, sweep={"map_name": ("clique:3",), "years": (1,), "x": tuple(range(50))}
    )
    found = evaluation.experiment(swept, workers=1)
    assert len(found.conditions) == 50
    for result in (evaluation.self_play(policy, 1, **TOY), found):
        assert len(str(result)) <= LONGEST
        assert "┘" in str(result)  # to its end
    assert "more rows" in str(found)


def test_other_objects_print_short(tmp_path: Path) -> None:
    estimate = evaluation.Estimate(1.0, 0.5, 1.5, 1000, (1.0,) * 1000)
    assert repr(estimate) == "Estimate(value=1.0, low=0.5, high=1.5, n=1000)"
    assert repr(evaluation.Workers(2)) == "<Workers: 2>"
    assert repr(evaluation.GameStore(tmp_path / "games.sqlite")) == f"<GameStore {tmp_path / 'games.sqlite'}>"


# Notes: unbalanced seats, deviators that are missing, illegal orders, errors of players

SILENT: dict[str, Any] = {"rules": Rules(years=1, message_rounds=0), "map_name": "clique:3"}
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
    result = evaluation.self_play(profile, number, seats=seats, **SILENT)
    assert any(UNEQUAL in note for note in result.notes) is is_unequal
    assert result.to_dict()["notes"] == list(result.notes)


def test_the_table_and_the_page_say_so(tmp_path: Path) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "2"]
    shown = call("self-play", "2*dove + 1*hold", *options, "--store", tmp_path / "games.sqlite")
    assert UNEQUAL in " ".join(shown.split())
    assert UNEQUAL in report_page(evaluation.experiment(parse_experiment(MIXED, "mixed")).to_dict())


def test_what_the_portfolio_is_without(monkeypatch: pytest.MonkeyPatch) -> None:
    options = SILENT | {"coalitions": ["PLAYERA"]}
    monkeypatch.setattr(deviators, "find_spec", lambda name: None)
    result = evaluation.exploitability("hold", 1, deviator="portfolio", **options)
    (note,) = result.notes
    assert "the portfolio lacks rl:best-response: it needs the extra rl" in note
    assert evaluation.exploitability("hold", 1, deviator="dumbbot", **options).notes == ()


def test_what_does_not_fit_is_told_too() -> None:
    pytest.importorskip("torch")
    (note,) = evaluation.exploitability("hold", 1, deviator=["portfolio"], coalitions=["PLAYERA"], **SILENT).notes
    assert "was trained for another map or other rules" in note


class Faulty(agents.ScriptedPolicy):
    """Its second order in each movement phase is for no unit of this board."""

    def orders(self, view):
        units = view.units[view.power] if view.phase_type == "M" else []
        return [f"{units[0]} H", "A PAR H"] if units else []


def test_illegal_orders_are_told_wherever_the_policy_plays() -> None:
    """Alone, as the attacker, and in a mix; nobody else is blamed."""
    (note,) = evaluation.self_play(Faulty, 1, **SILENT).notes
    assert "6 of 12 orders of " in note
    assert "Faulty were illegal and ignored; the first: PLAYERA in S1901M: " in note
    attacked = evaluation.exploitability("hold", 1, deviator=Faulty, coalitions=["PLAYERB"], **SILENT)
    assert "2 of 4 orders of " in attacked.notes[-1]
    counted = [(row["orders"], row["illegal_orders"], row["legal_rate"]) for row in attacked.rows()[-3:]]
    assert counted == [(2, 0, 0.75), (4, 2, 0.75), (2, 0, 0.75)]
    mixed = evaluation.cross_play(["hold", Faulty], 3, **SILENT)
    assert len(mixed.notes) == len(mixed.to_dict()["notes"]) == 1
    assert "illegal" in player_table(mixed).caption.plain


def test_legal_orders_and_orders_that_fail_are_none() -> None:
    """A move that is bounced is legal; so is giving no order."""
    for policy in ("random", "noisy:of=prosocial,error=0.5"):
        assert evaluation.self_play(policy, 2, **SILENT).notes == ()


class Broken(agents.ScriptedPolicy):
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
