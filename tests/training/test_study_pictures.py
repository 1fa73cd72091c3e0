"""Pictures of the studies in docs: axes from 0, names in words, a legend for every mark, one color per reward."""

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex

from agents.runtime.colors import LEARNED, PUBLISHED, REWARDS
from evaluation import Estimate
from research.deterrence.rules import Line, Neighbor, frontier
from research.learning.curves import NEVER, draw_rewards, draw_robbers, name_of_reward
from research.learning.robbers import CURVES
from research.learning.words import SETTINGS, draw, row


@pytest.fixture
def trainings(tmp_path: Path) -> dict[str, list[Path]]:
    """A finished training for each reward."""
    made = {}
    for reward in ("own", "social", "inequity:1,0.5"):
        folder = tmp_path / reward.partition(":")[0]
        folder.mkdir()
        config = {"map_name": "clique:4", "years": 5, "reward": reward, "also": [], "seed": 0}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "log.jsonl").write_text("".join(json.dumps({"play/points": 5 + at}) + "\n" for at in range(4)))
        made[reward] = [folder]
    return made


def test_a_reward_has_one_color_in_both_pictures(trainings: dict[str, list[Path]]) -> None:
    rewards = draw_rewards(trainings, is_toy=True)
    robbers = draw_robbers({(reward, NEVER): folders for reward, folders in reversed(trainings.items())}, CURVES)
    for figure in (rewards, robbers):
        panel = figure.axes[0]
        colors = {line.get_label().split(" (")[0].split(";")[0]: line.get_color() for line in panel.get_lines()}
        assert colors["own points"] == REWARDS["own"]
        assert colors["mean of all points"] == REWARDS["social"]
        assert colors["own points, averse to inequity"] == REWARDS["inequity"]
        assert panel.get_ylim()[0] == 0
    assert name_of_reward("inequity:1,0.5") == "own points, averse to inequity (1, 0.5)"


def test_words() -> None:
    lost = {name: {"value": 0.1, "low": 0.05, "high": 0.2} for name in ("shuffled", "removed")}
    returns = {
        "as said": {"value": 1.2},
        "shuffled": {"value": 1.1},
        "removed": {"value": 1.1},
        "no words": {"value": 1},
    }
    drawn = {"returns": returns, "lost": lost, "bits": {"value": 0.2}}
    ways = {way: {"returns": returns} for way in ("greedy orders", "greedy")}
    figure = draw([(SETTINGS[0], seed, {"drawn": drawn}) for seed in (0, 1)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["seed 0", "seed 1"]
    assert all(panel.get_ylim()[0] == 0 for panel in figure.axes if panel.axison)
    assert figure.axes[0].get_title() == "pass, one year\nother seats: strangers\nreward: mean of all points"
    bars = figure.axes[0].containers[2].lines[2][0].get_segments()[0]
    assert bars[:, 1] == pytest.approx([1.0, 1.15])
    lost["removed"] |= {"low": None, "high": None}  # all games alike
    assert row(SETTINGS[0], 0, {"drawn": drawn, **ways})[4:6] == ["0.10 [0.05, 0.20]", "0.10 [all alike]"]
    draw([(SETTINGS[0], 0, {"drawn": drawn})])


def test_deterrents_beside_published_models() -> None:
    four, eight = (Estimate(value, value - 1, value + 1, 20, ()) for value in (4.0, 8.0))
    figure = frontier([Line("dove", four, four, eight, "x", (), {"hold": Neighbor(four, "ITALY")})])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "our policies", "language models, as published by the paper's authors"
    ]  # fmt: skip
    assert [to_hex(line.get_color()).upper() for line in figure.axes[0].get_lines()] == [LEARNED, PUBLISHED]
