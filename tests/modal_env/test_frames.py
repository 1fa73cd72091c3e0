"""Results of modal combat as rows and frames, with the columns that docs/results.md describes, and as a picture."""

import sys
from pathlib import Path

import numpy as np
import pytest

import modal_env
from modal_env.frames import Tabular
from modal_env.pictures import shares_over_time
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


HOSTILE = ("</style><script>", "_$x$\ud800", "\u202eright to left", "x" * 100_000)


def test_bands_of_a_picture_fill_the_height_with_the_shares_whatever_the_agents_are_called(tmp_path: Path) -> None:
    agents = [agent.renamed(name) for agent, name in zip(modal_env.POST, HOSTILE, strict=True)]
    path = modal_env.replicator(modal_env.ProgramGame(agents, "1/10"), [0.25] * 4, 300)
    figure = shares_over_time(path)
    bands = figure.axes[0].collections
    heights = [band.get_paths()[0].get_extents().ymax for band in bands]
    assert heights == pytest.approx(np.cumsum(path.shares, axis=1).max(axis=0).tolist())
    figure.savefig(tmp_path / "shares.png")
