"""Stored games as a data set: games, phases and messages as Parquet files, and a data card."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agents.runtime.files import shown
from agents.runtime.progress import metered
from agents.runtime.table_files import TableError, check_parquet
from evaluation.checks import reading_record
from evaluation.play.store import GameStore, StoredGame
from evaluation.play.stored_games import played
from welfare_env import __version__
from welfare_env.writing import replaced

KEY = ("game", "string", "key of the game, the same in all tables")
COLUMNS = {
    "games": [
        ("map", "string", "the map"),
        ("rules", "string", "the rules, as JSON"),
        ("seed", "integer", "seed of the game"),
        ("years_played", "integer", "completed years"),
        ("power", "string", "the power; a row for each"),
        ("policy", "string", "the power's policy"),
        ("welfare", "integer", "its welfare points at the end; null in standard Diplomacy"),
        ("score", "number", "its score under the rules' scoring"),
    ],
    "phases": [
        ("phase", "string", "S1901M: season, year, and M movement, R retreats, A adjustment; COMPLETED: the end"),
        ("power", "string", "the power; a row for each"),
        ("units", "list of strings", "its units when the phase began; * is dislodged"),
        ("results", "list of strings", "one for each of the units: empty for success, or bounce, cut, dislodged, ..."),
        ("centers", "list of strings", "its supply centers when the phase began"),
        ("welfare", "integer", "its welfare points when the phase began; null in standard Diplomacy"),
        ("orders", "list of strings", "its legal orders; units without one hold"),
        ("refused", "list of strings", "its illegal orders, which were not carried out"),
    ],
    "messages": [
        ("phase", "string", "the phase"),
        ("round", "integer", "message round in the phase, from 1"),
        ("sender", "string", "the power that wrote it"),
        ("recipient", "string", "the power that received it, or GLOBAL"),
        ("message", "string", "the text"),
    ],
}


def export_games(store: GameStore, games: Sequence[StoredGame], folder: Path) -> None:
    """Write games to a new or empty folder; prompts, raw replies and reasoning of language models are left out.

    Raises:
        TableError: pyarrow is not installed, or the folder is not empty or cannot be written.
        StoreError, RecordError: a stored game is damaged.
    """
    check_parquet(folder / "games.parquet", "--export")
    if any(folder.iterdir()):
        raise TableError(f"{shown(folder)}: the folder is not empty: choose another one")
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {"string": pa.string(), "integer": pa.int64(), "number": pa.float64()}
    types["list of strings"] = pa.list_(pa.string())
    with ExitStack() as files, metered("exporting", len(games), "games") as meter:
        writers = {}
        for table, columns in COLUMNS.items():
            schema = pa.schema([(name, types[kind]) for name, kind, _ in [KEY, *columns]])
            draft = files.enter_context(replaced(folder / f"{table}.parquet"))
            writers[table] = files.enter_context(ParquetWriter(draft, schema))
        for game in games:
            record = store.record(game.key)
            with reading_record():
                tables = _tables(record)
            for table, rows in tables.items():
                named = [{"game": game.key} | row for row in rows]
                writers[table].write_table(pa.Table.from_pylist(named, writers[table].schema))
            meter.advance(1)
        files.enter_context(replaced(folder / "README.md")).write_text(_card(games), encoding="utf-8")


def _tables(record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of a game, without its key."""
    facts, phases = record["welfare_env"], record["phases"]
    of_game = {"map": record["map"], "rules": json.dumps(facts["rules"])}
    of_game |= {name: facts[name] for name in ("seed", "years_played")}
    points = [phase["state"].get("welfare", {}) for phase in phases]
    seats = [
        of_game
        | {"power": power, "policy": policy, "welfare": points[-1].get(power), "score": facts["scores"].get(power)}
        for power, policy in facts["players"].items()
    ]
    positions = [
        {
            "phase": phase["name"],
            "power": power,
            "units": units,
            "results": [_result(phase, unit) for unit in units],
            "centers": phase["state"]["centers"][power],
            "welfare": welfare.get(power),
            "orders": phase["orders"].get(power) or [],
            "refused": [void["order"] for void in phase["void"].get(power, ())],
        }
        for phase, welfare in zip(phases, points, strict=True)
        for power, units in phase["state"]["units"].items()
    ]
    return {"games": seats, "phases": positions, "messages": [one for phase in phases for one in phase["messages"]]}


def _result(phase: dict[str, Any], unit: str) -> str:
    """What a unit's order brought. In retreats only dislodged units have orders; another one may stand in its place."""
    is_ordered = unit.startswith("*") == phase["name"].endswith("R")
    return " ".join(phase["results"].get(unit.removeprefix("*"), ())) if is_ordered else ""


def _card(games: Sequence[StoredGame]) -> str:
    """The data card: what the data are, and what every column means."""
    policies = Counter(policy for game in games for policy in game.specification["players"].values())
    rules = Counter(played(game.specification) for game in games)
    lines = ["# Games of Welfare Diplomacy", "", f"{len(games):,} games, written by welfare-env {__version__}.", ""]
    lines += ["License: to be chosen by whoever publishes them."]
    lines += ["", "## Rules", "", *(f"- {text} (games: {number:,})" for text, number in rules.most_common())]
    lines += ["", "## Policies", "", *(f"- `{name}` (seats: {number:,})" for name, number in policies.most_common())]
    for table, columns in COLUMNS.items():
        lines += ["", f"## {table}.parquet", "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| {' | '.join(column)} |" for column in [KEY, *columns]]
    return "\n".join([*lines, ""])
