"""Results of modal combat as rows and frames, with the columns that docs/results.md describes."""

import sys

import pytest

import modal_env
from modal_env.frames import Tabular
from tests.columns import columns

GAME = modal_env.ProgramGame(modal_env.POST, "1/10")
RESULTS: dict[str, Tabular] = {
    "tournament": modal_env.tournament(["FairBot", "RandomBot", "DefectBot"]),
    "payoffs": GAME,
    "shares": modal_env.replicator(GAME, [0.25] * 4, 10),
    "growth": modal_env.growth(GAME, [1] * 4, 50),
    "basins": modal_env.basins(GAME, 20),
}


@pytest.mark.parametrize("table", RESULTS)
def test_rows_have_the_columns_of_the_page(table: str) -> None:
    described = columns(table)
    rows = RESULTS[table].rows()
    assert {tuple(row) for row in rows} == {tuple(column.name for column in described)}
    kinds = {"text": str, "int": int, "float": float}
    for row in rows:
        assert [type(row[column.name]) for column in described] == [kinds[column.dtype] for column in described]


def test_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    assert len(GAME.to_frame()) == 16
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(modal_env.ModalError, match=r"to_frame\(\) needs pandas"):
        GAME.to_frame()
