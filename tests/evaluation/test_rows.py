"""Games as tables: one row a game and power, as CSV, Parquet, frames of pandas, and the data set of a store."""

import csv
import json
import math
import sys
from pathlib import Path

import pytest

import agents
import evaluation
from agents.runtime.table_files import TableError, check_file, check_parquet, write_csv, write_parquet
from agents.runtime.table_options import TableOptions
from evaluation import GameStore
from evaluation.experiment_files.description import Experiment
from evaluation.measures.metrics import measure
from evaluation.measures.rows import game_rows
from evaluation.messages.analysis import analyze_messages
from evaluation.report.data_set import COLUMNS, KEY, export_games
from tests.evaluation.conftest import call
from welfare_env import Rules

RULES = Rules(years=2, message_rounds=1)
MIXED = "2*dove + 1*hold"
TOY = {"rules": RULES, "map_name": "clique:3"}


@pytest.fixture(scope="module")
def mixed() -> evaluation.SelfPlayResult:
    return evaluation.self_play(MIXED, 3, **TOY)


@pytest.fixture(scope="module")
def exploited() -> evaluation.ExploitabilityResult:
    return evaluation.exploitability("dove", 2, coalitions=["PLAYERA", ["PLAYERA", "PLAYERC"]], **TOY)


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
        assert (row["profile"], row["deviator"], row["coalition"], row["deviates"]) == (MIXED, "", "", False)
    assert [row["game"] for row in rows] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    wide = {(row["game"], row["power"]): row for row in rows}
    for row in mixed.rows(by_year=True):
        for name in ("welfare", "centers", "units"):
            assert row[name] == wide[row["game"], row["power"]][f"{name}_{row['year']}"]


def test_every_measure_of_a_game_is_a_column() -> None:
    result = evaluation.exploitability("dove", 1, coalitions=["FRANCE"], rules=RULES, seed=3)
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
    (record,) = evaluation.self_play("dove", 1, rules=RULES).records
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


def test_the_mean_of_the_powers_curves_is_the_games_curve(mixed: evaluation.SelfPlayResult) -> None:
    for game in mixed.measures:
        for name in ("units", "centers", "welfare"):
            of_powers = [getattr(curves, name) for curves in game.power_curves.values()]
            mean = tuple(sum(values) / 3 for values in zip(*of_powers, strict=True))
            assert getattr(game.yearly_curves, name) == pytest.approx(mean)


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
            result = evaluation.self_play("random", 2, store=store, **TOY)
            assert {row["key"] for row in result.rows()} == {game.key for game in store.games()}
            for row in result.rows():
                assert store.record(row["key"]) == result.records[row["game"]]
    nameless = evaluation.self_play(lambda: agents.HoldPolicy(), 1, **TOY)
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


@pytest.mark.parametrize(("command", "count"), [(["self-play", "hold"], 2 * 3), (["exploitability"], 4 * 3)])
def test_commands_write_tables(command: list[str], count: int, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    options = ["--years", "1", "--games", "1", "--map", "clique:3", "--workers", "1", "--json"]
    options += ["--csv", tmp_path / "new" / "rows.csv", "--parquet", tmp_path / "rows.parquet"]
    json.loads(call(*command, "dove", *options, "--store", tmp_path / "games.sqlite"))
    with (tmp_path / "new" / "rows.csv").open(newline="") as file:
        assert [row["profile"] for row in csv.DictReader(file)][-3:] == ["dove"] * 3
    assert parquet.read_metadata(tmp_path / "rows.parquet").num_rows == count


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
    with pytest.raises(TableError, match="--parquet needs pyarrow: pip install pyarrow"):
        write_parquet(mixed.rows(), tmp_path / "rows.parquet")
    with pytest.raises(TableError, match="--parquet needs pyarrow"):
        check_parquet(tmp_path / "rows.parquet")
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
