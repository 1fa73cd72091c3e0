"""All results: short when printed, with the columns that the page describes; what their notes say; and their rows."""

import csv
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

import agents
import evaluation
import modal_env
from agents.runtime.results import LONGEST, Printable, Result
from agents.runtime.table_files import TableError, check_file, check_parquet, write_csv, write_parquet
from agents.runtime.table_options import TableOptions
from evaluation import GameStore
from evaluation.exact import best_response, exploitability
from evaluation.experiment_files.description import Experiment, parse_experiment
from evaluation.experiments import deviators
from evaluation.experiments.red_team import BUDGETS, AttackBudget
from evaluation.measures.metrics import measure
from evaluation.measures.rows import game_rows
from evaluation.messages.analysis import analyze_messages
from evaluation.report.data_set import COLUMNS, KEY, export_games
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


# Rows: one a game and power, as CSV, Parquet, frames of pandas, and the data set of a store

TWO_YEARS = Rules(years=2, message_rounds=1)
LONGER: dict[str, Any] = TOY | {"rules": TWO_YEARS}
PROFILE = "2*dove + 1*hold"


@pytest.fixture(scope="module")
def mixed() -> evaluation.SelfPlayResult:
    return evaluation.self_play(PROFILE, 3, **LONGER)


@pytest.fixture(scope="module")
def exploited() -> evaluation.ExploitabilityResult:
    return evaluation.exploitability("dove", 2, coalitions=["PLAYERA", ["PLAYERA", "PLAYERC"]], **LONGER)


def test_a_row_a_game_and_power(mixed: evaluation.SelfPlayResult) -> None:
    rows = mixed.rows()
    assert len(rows) == 3 * 3
    years = [f"{name}_{year}" for name in ("welfare", "centers", "units") for year in (1901, 1902)]
    for row in rows:
        assert list(row)[-6:] == years
        game = mixed.measures[row["game"]]
        power = row["power"]
        record = mixed.records[row["game"]]
        end = record["phases"][-1]["state"]
        assert row["policy"] == mixed.seats[row["game"]][power]
        assert row["seed"] == record["welfare_env"]["seed"]
        assert (row["welfare"], row["score"]) == (end["welfare"][power], game.scores[power])
        assert row["welfare_per_year"] == game.welfare_per_year[power]
        assert (row["units"], row["centers"]) == (len(end["units"][power]), len(end["centers"][power]))
        assert all(row[f"{name}_1902"] == row[name] for name in ("welfare", "units", "centers"))
        assert (row["map"], row["variant"], row["years"], row["message_rounds"]) == ("clique:3", "welfare", 2, 1)
        assert (row["profile"], row["deviator"], row["coalition"], row["deviates"]) == (PROFILE, "", "", False)
    assert [row["game"] for row in rows] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    wide = {(row["game"], row["power"]): row for row in rows}
    by_year = mixed.rows(by_year=True)
    assert len(by_year) == 3 * 3 * 2
    for row in by_year:
        for name in ("welfare", "centers", "units"):
            assert row[name] == wide[row["game"], row["power"]][f"{name}_{row['year']}"]


def test_every_measure_of_a_game_is_a_column() -> None:
    result = evaluation.exploitability("dove", 1, coalitions=["FRANCE"], rules=TWO_YEARS, seed=3)
    ((game,),) = result.attacks[result.deviator].values()
    rows = [row for row in result.rows() if row["coalition"]]
    measures = {
        "evaluation_seed": 3,
        "root_nash_welfare": game.root_nash_welfare,
        "deviators_root_nash_welfare": game.deviators_root_nash_welfare,
        "stolen_centers": game.stolen_centers.count,
        "stolen_centers_per_year": game.stolen_centers.per_year,
        "conflicts": game.conflicts.count,
        "conflicts_per_phase": game.conflicts.per_movement_phase,
        "proficiency": game.proficiency.score,
        "parse_rate": game.proficiency.parse_rate,
        "owned_share": game.proficiency.owned_share,
        "best_score": max(game.scores.values()),
    }
    for row in rows:
        assert {name: row[name] for name in measures} == measures
    taken, lost = (sum(row[name] for row in rows) for name in ("centers_taken", "centers_lost"))
    assert taken == lost == game.stolen_centers.count > 0


def test_promises_and_messages_of_each_power_add_up() -> None:
    (record,) = evaluation.self_play("dove", 1, rules=TWO_YEARS).records
    rows, told = game_rows([measure(record)], "dove"), analyze_messages(record)
    assert sum(row["messages"] for row in rows) == told.messages > 0
    assert sum(row["promises"] for row in rows) == len(told.promises) > 0
    for row in rows:
        mine = told.kept(sender=row["power"]), told.broken(sender=row["power"])
        assert (row["kept_promises"], row["broken_promises"]) == mine
    gone = measure(record | {"map": "no/such.map"})
    assert all(math.isnan(each.kept_promises) for each in gone.conduct.values())


def test_experiments_have_swept_columns() -> None:
    chosen = Experiment(
        **{"name": "e", "title": "e", "profiles": ("hold", "dove"), "measure": ("self-play", "exploitability")},
        games=1,
        sweep={"years": (1, 2), "mark": ("a", 1)},
        map_name="clique:3",
        rules={"press": None},
    )
    rows = evaluation.experiment(chosen, seed=5).rows()
    assert {(row["swept_years"], row["years"], row["swept_mark"]) for row in rows} == {
        (years, years, mark) for years in (1, 2) for mark in ("a", "1")
    }
    assert [row["condition"] for row in rows] == sorted(row["condition"] for row in rows)
    assert {row["condition"] for row in rows} == set(range(8))
    assert ({row["evaluation_seed"] for row in rows}, {row["coalitions"] for row in rows}) == ({5}, {"singles"})
    assert len({tuple(row) for row in rows}) == 1
    assert {row["measure"] for row in rows} == {"self-play", "exploitability"}


def test_exploitability_tells_who_deviates(exploited: evaluation.ExploitabilityResult) -> None:
    rows = exploited.rows()
    assert len(rows) == 3 * 2 * 3
    assert dict.fromkeys(row["coalition"] for row in rows) == dict.fromkeys(["", "PLAYERA", "PLAYERA+PLAYERC"])
    for row in rows:
        assert row["deviates"] == (row["power"] in row["coalition"].split("+"))
        assert row["policy"] == (agents.canonical(exploited.deviator) if row["deviates"] else "dove")
        assert row["deviator"] == (exploited.deviator if row["coalition"] else "")
    seeds = {row["coalition"]: [] for row in rows}
    for row in rows:
        seeds[row["coalition"]].append((row["game"], row["seed"]))
    assert len({tuple(each) for each in seeds.values()}) == 1


def test_keys_find_the_games_again(tmp_path: Path) -> None:
    with GameStore(tmp_path / "games.sqlite") as store:
        for _ in ("played", "found"):
            result = evaluation.self_play("random", 2, store=store, **LONGER)
            assert {row["key"] for row in result.rows()} == {game.key for game in store.games()}
            for row in result.rows():
                assert store.record(row["key"]) == result.records[row["game"]]
    nameless = evaluation.self_play(lambda: agents.HoldPolicy(), 1, **LONGER)
    assert {row["key"] for row in nameless.rows()} == {""}


def test_standard_games_have_scores_and_no_welfare() -> None:
    rules = Rules(variant="standard", scoring="sum-of-squares", years=1, press=None)
    rows = evaluation.self_play("dumbbot", 1, rules=rules, map_name="clique:3").rows()
    assert all(math.isnan(row["welfare"]) and math.isnan(row["welfare_1901"]) for row in rows)
    assert sum(row["score"] for row in rows) == pytest.approx(1)
    assert {(row["scoring"], row["press"], row["other_rules"]) for row in rows} == {("sum-of-squares", "none", "")}


def test_rules_that_are_not_as_usual_are_told() -> None:
    rules = Rules(years=1, press="tokens", retreat_welfare=True, progressive=(2,))
    (told,) = {row["other_rules"] for row in evaluation.self_play("hold", 1, rules=rules, map_name="clique:3").rows()}
    assert told == "progressive: [2], retreat_welfare: True"


def test_commands_write_tables(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    options = ["--years", "1", "--games", "1", "--map", "clique:3", "--workers", "1", "--json"]
    options += ["--csv", tmp_path / "new" / "rows.csv", "--parquet", tmp_path / "rows.parquet"]
    json.loads(call("exploitability", "dove", *options, "--store", tmp_path / "games.sqlite"))
    with (tmp_path / "new" / "rows.csv").open(newline="") as file:
        assert [row["profile"] for row in csv.DictReader(file)][-3:] == ["dove"] * 3
    assert parquet.read_metadata(tmp_path / "rows.parquet").num_rows == 4 * 3


@pytest.mark.parametrize("option", ["--csv", "--parquet"])
def test_a_table_that_cannot_be_written_is_told_before_a_game(option: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "rows", "/dev/full", "y" * 5000):
        told = call("self-play", "hold", option, path, "--store", tmp_path / "s.sqlite", code=2)
        assert told.startswith("error: ")
        assert len(told) < 1000
    assert not (tmp_path / "s.sqlite").exists()
    with pytest.raises(TableError, match="cannot be written"):
        check_file(Path("a\0b"))
    with pytest.raises(TableError, match="different files"):
        TableOptions(tmp_path / "a", tmp_path / "a").check()


def test_what_is_not_installed_is_told(
    mixed: evaluation.SelfPlayResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TableError, match=r"to_frame\(\) needs pandas: pip install pandas, or the extra tables"):
        mixed.to_frame()
    with pytest.raises(TableError, match="--parquet needs pyarrow"):
        check_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TableError, match="--parquet needs pyarrow: pip install pyarrow"):
        write_parquet(mixed.rows(), tmp_path / "rows.parquet")
    write_csv(mixed.rows(), tmp_path / "rows.csv")


# The data set of a store: without private texts


def test_a_data_set_has_the_games_of_the_store(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with GameStore(tmp_path / "store") as store:
        rules = Rules(years=1)
        result = evaluation.self_play("lm:scripted/babbler", 2, rules=rules, map_name="clique:2", store=store)
        export_games(store, store.games(), tmp_path / "set")
    tables = {name: parquet.read_table(tmp_path / "set" / f"{name}.parquet") for name in COLUMNS}
    assert {name: tables[name].column_names for name in tables} == {
        name: [column for column, *_ in [KEY, *columns]] for name, columns in COLUMNS.items()
    }
    phases = [phase for record in result.records for phase in record["phases"]]
    assert sorted(tables["games"]["welfare"].to_pylist()) == sorted(
        points for record in result.records for points in record["phases"][-1]["state"]["welfare"].values()
    )
    assert tables["phases"].num_rows == 2 * len(phases)
    assert tables["messages"].num_rows == sum(len(phase["messages"]) for phase in phases) > 0
    assert "lm:scripted/babbler` (seats: 4)" in (tmp_path / "set" / "README.md").read_text()


def test_in_retreats_only_dislodged_units_have_results(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with GameStore(tmp_path / "store") as store:
        evaluation.self_play("2*dumbbot + 5*random", 6, rules=Rules(years=4, press=None), store=store)
        export_games(store, store.games(), tmp_path / "set")
    phases = parquet.read_table(tmp_path / "set" / "phases.parquet").to_pylist()
    told = [
        (unit.startswith("*"), result)
        for row in phases
        if row["phase"].endswith("R")
        for unit, result in zip(row["units"], row["results"], strict=True)
    ]
    assert any(dislodged for dislodged, _ in told)
    assert all(result == "" for dislodged, result in told if not dislodged)
