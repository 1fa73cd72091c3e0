"""Learning curves: axes that begin at 0, and a legend for every line."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from training.cli.curves import draw, read_level
from training.errors import TrainingError
from training.population.pictures import draw_payoffs

LOGGED = ("play/return", "play/robbers/return", "learn/entropy", "learn/explained", "held-out/return", "time/sample")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Logs of two trainings."""
    made = [tmp_path / "0", tmp_path / "1"]
    for seed, folder in enumerate(made):
        folder.mkdir()
        lines = [{"iteration": at, **dict.fromkeys(LOGGED, 15.0 + at + seed)} for at in (1, 2, 3)]
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return made


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_line_has_a_name_and_axes_begin_at_zero(folders: list[Path]) -> None:
    figure = draw(folders, LOGGED, [read_level("23=exact best response"), read_level("10")])
    assert legend(figure) == ["mean of 2 seeds", "lowest to highest", "exact best response", "10"]
    for panel in figure.axes:
        assert panel.get_ylim()[0] == 0
    assert [panel.get_ylabel() for panel in figure.axes] == list(LOGGED)


def test_one_training_has_no_range(folders: list[Path]) -> None:
    assert legend(draw(folders[:1], ["play/return"])) == ["one training"]


def test_a_level_is_a_number() -> None:
    with pytest.raises(TrainingError, match="give VALUE=NAME"):
        read_level("high")


def test_payoffs_say_whose_they_are() -> None:
    figure = draw_payoffs(np.eye(2), np.array([0.3, 0.7]), ["dove", "hold"])
    shares, cells, bar = figure.axes
    assert (shares.get_xlabel(), cells.get_xlabel()) == ("share in the mix", "policy of all others")
    assert bar.get_ylabel() == "welfare points per year of the single player"
    assert {"0.30", "0.70"} <= {text.get_text() for text in shares.texts}
