"""The data set of stored games: what was stored is what is read, without private texts."""

from evaluation import GameStore, self_play
from evaluation.report.data_set import COLUMNS, KEY, export_games
from welfare_env import Rules


def test_a_data_set_has_the_games_of_the_store(tmp_path):
    from pyarrow import parquet

    with GameStore(tmp_path / "store") as store:
        result = self_play("lm:scripted/babbler", 2, rules=Rules(years=1), map_name="clique:2", store=store)
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


def test_in_retreats_only_dislodged_units_have_results(tmp_path):
    from pyarrow import parquet

    with GameStore(tmp_path / "store") as store:
        self_play("2*dumbbot + 5*random", 6, rules=Rules(years=4, press=None), store=store)
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
