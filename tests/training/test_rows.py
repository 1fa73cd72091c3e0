"""Results of trainings as rows, with the columns that docs/results.md describes."""

import json
import math
from pathlib import Path

import pytest

import training
from agents.runtime.results import LONGEST
from tests.columns import columns
from training.errors import TrainingError
from training.modal.config import ModalConfig
from training.modal.trainer import train_modal


def names(table: str) -> list[str]:
    return [column.name for column in columns(table)]


def logged(folder: Path, seed: int, lines: list[dict[str, object]]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"kind": "board", "seed": seed}))
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_logs_have_a_row_per_iteration(tmp_path: Path) -> None:
    first = logged(tmp_path / "a", 3, [{"iteration": 1, "play/return": 2.5}, {"iteration": 2, "play/return": 3}])
    other = logged(tmp_path / "b", 4, [{"iteration": 1, "play/return": 1.0, "learn/kl": 0.5, "what": "text"}])
    rows = training.log_rows([first, other])
    assert [list(row) for row in rows] == [[*names("curves")[:-1], "play/return", "learn/kl"]] * 3
    assert [(row["folder"], row["seed"], row["iteration"], row["play/return"]) for row in rows] == [
        (str(first), 3, 1, 2.5),
        (str(first), 3, 2, 3.0),
        (str(other), 4, 1, 1.0),
    ]
    assert math.isnan(rows[0]["learn/kl"])
    assert rows[2]["learn/kl"] == 0.5
    with pytest.raises(TrainingError, match="no training"):
        training.log_rows([tmp_path])


@pytest.mark.slow
def test_a_training_of_modal_combat_is_a_result(tmp_path: Path) -> None:
    result = train_modal(ModalConfig(out=tmp_path / "m", iterations=2, seed=5))
    rows = result.rows()
    assert list(rows[0])[:3] == names("curves")[:3]
    assert [(row["seed"], row["iteration"]) for row in rows] == [(5, 1), (5, 2)]
    assert [row["play/payoff"] for row in rows] == [row["play/payoff"] for row in training.log_rows([tmp_path / "m"])]
    assert repr(result) == str(result)
    assert len(str(result)) <= LONGEST
    assert "Learned against" in str(result)
