"""Files of cells from outside: what `read_cells` and `read_threats` accept, and what they refuse, by line and field."""

import json
import os
from dataclasses import asdict
from typing import Any

import pytest

from evaluation.checks import EvaluationError
from evaluation.exact.cells.theorems import Cell, fill, read_cells, states
from evaluation.exact.drawn.values import ThreatCell, fill_threats, read_threats
from welfare_env.errors import UnknownMapError

LINE = (("S1901M", {"PLAYERA": ("A HAX - CAX",)}),)
CELL = asdict(Cell("clique:3", 3, 1, "player", "PLAYERA", "stated", 6, 7, 3, True, 5, 0.5, LINE))
THREAT = asdict(ThreatCell("clique:3", 3, "player", "PLAYERA", 6, "1/2", "1", 3, 5, 0.5, 0))

SHARED = [
    ("map_name", 3, "map_name=3"),
    ("map_name", "standard", "standard"),
    ("map_name", "clique:8", "from 2 to 7"),
    ("map_name", "shared-clique:3", "role='player'"),
    ("role", "sharer", "role='sharer'"),
    ("role", ["player"], "role="),
    ("deviator", "PLAYERB", "deviator='PLAYERB'"),
    ("deviator", None, "deviator=None"),
    ("years", True, "years=True"),
    ("years", 11, "years=11"),
    ("years", 3.0, "years=3.0"),
    ("years", "3", "years='3'"),
    ("path_value", -1, "path_value=-1"),
    ("positions", 10**30, "positions="),
    ("states", float("nan"), "states=nan"),
    ("seconds", float("nan"), "seconds=nan"),
    ("seconds", float("inf"), "seconds=inf"),
    ("seconds", -1, "seconds=-1"),
    ("seconds", False, "seconds=False"),
    ("surprise", 1, "'surprise': unknown field"),
]
OF_CELLS = [
    ("t", 0, "t=0"),
    ("t", 4, "t=4"),
    ("value", 5, "value=5"),
    ("value", True, "value=True"),
    ("punishers", "good", "punishers='good'"),
    ("checked", 1, "checked=1"),
    ("version", 3, "version=3"),
    ("line", None, "line=None"),
    ("line", [["S1901M"]], "list of pairs"),
    ("line", [["S1901M", []]], "list of pairs"),
    ("line", [["S1901M", {"FRANCE": []}]], "power='FRANCE'"),
    ("line", [["S1901M", {"PLAYERA": "A HAX H"}]], "list of orders"),
    ("line", [["S1901M", {"PLAYERA": [["A HAX H"]]}]], "no order of this board"),
    ("line", [["S1901M", {"PLAYERA": ["A PAR H"]}]], "no order of this board"),
]
OF_THREATS = [
    ("at_least", "2", "at_least=2"),
    ("at_least", 0, "at_least=0"),
    ("at_most", "1/0", "at_most='1/0'"),
    ("at_most", "1e999999999", "at_most="),
    ("at_most", "-1", "at_most='-1'"),
    ("at_most", "9" * 5000, "at_most="),
    ("check_seconds", "1", "check_seconds='1'"),
]


@pytest.mark.parametrize(
    ("read", "given", "name", "value", "told"),
    [(read_cells, CELL, *each) for each in SHARED + OF_CELLS]
    + [(read_threats, THREAT, *each) for each in SHARED + OF_THREATS],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path, read, given, name, value, told):
    path = tmp_path / "cells.jsonl"
    path.write_text(json.dumps(given | {"years": 4}) + "\n" + json.dumps(given | {name: value}) + "\n")
    with pytest.raises(EvaluationError, match=r"cells.jsonl, line 2: ") as error:
        read(path)
    assert told in str(error.value)


@pytest.mark.parametrize(("read", "given"), [(read_cells, CELL), (read_threats, THREAT)])
class TestFiles:
    def test_what_is_written_is_read(self, tmp_path, read, given):
        path = tmp_path / "cells.jsonl"
        assert read(path) == []
        path.write_text(json.dumps(given) + "\n")
        assert [json.loads(json.dumps(asdict(cell))) for cell in read(path)] == [json.loads(json.dumps(given))]

    @pytest.mark.parametrize(
        "text",
        [
            "[]",
            "3",
            "null",
            "{",
            "NaN",
            "",
            "[" * 100_000,
            '{"years": ' + "9" * 5000 + "}",
            '"\ud800"',
        ],
        ids=range(9),
    )
    def test_what_is_no_cell(self, tmp_path, read, given, text):
        path = tmp_path / "cells.jsonl"
        path.write_bytes(f"{json.dumps(given)}\n{text}\n".encode(errors="surrogatepass"))
        with pytest.raises(EvaluationError, match=r"cells.jsonl, line 2: no cell"):
            read(path)

    def test_every_field_is_needed(self, tmp_path, read, given):
        path = tmp_path / "cells.jsonl"
        for name in set(given) - {"version"}:
            path.write_text(json.dumps({field: value for field, value in given.items() if field != name}))
            with pytest.raises(EvaluationError, match=f"line 1: no cell: {name}: missing"):
                read(path)

    def test_a_field_twice(self, tmp_path, read, given):
        (tmp_path / "cells.jsonl").write_text(json.dumps(given | {"years": 4})[:-1] + ', "years": 3}')
        with pytest.raises(EvaluationError, match="line 1: no cell: a field occurs twice"):
            read(tmp_path / "cells.jsonl")

    def test_the_same_cell_twice(self, tmp_path, read, given):
        path = tmp_path / "cells.jsonl"
        path.write_text("\n".join(map(json.dumps, (given, given | {"years": 4}, given | {"path_value": 5}))))
        with pytest.raises(EvaluationError, match="line 3: the cell of line 1 again"):
            read(path)

    def test_a_pipe_and_a_folder(self, tmp_path, read, given):
        os.mkfifo(tmp_path / "pipe")
        for path, told in ((tmp_path / "pipe", "a pipe"), (tmp_path, "a folder")):
            with pytest.raises(EvaluationError, match=told):
                read(path)


@pytest.mark.parametrize("fill_file", [fill, fill_threats])
@pytest.mark.parametrize("years", [0, 11, True, 1.0, float("nan"), 10**30, None])
def test_years_to_fill(tmp_path, fill_file, years: Any):
    with pytest.raises(EvaluationError, match="years="):
        fill_file(tmp_path / "cells.jsonl", "clique:2", years)
    with pytest.raises(UnknownMapError):
        fill_file(tmp_path / "cells.jsonl", "standard", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ((("F1901M", {}),), "the next phase is S1901M"),
        ((*((phase, {}) for phase in ("S1901M", "F1901M", "W1901A")), ("S1902M", {})), "the game is over"),
        ((("S1901M", {"PLAYERA": ("A HBX H",)}),), "illegal for PLAYERA"),
        ((("S1901M", {"PLAYERA": ("A PAR H",)}),), "illegal for PLAYERA"),
    ],
)
def test_lines_that_cannot_be_played(line, told):
    with pytest.raises(EvaluationError, match=told):
        list(states("clique:3", 1, line))
