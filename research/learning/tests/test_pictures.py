"""Pictures of docs/learning.md: axes from 0, names in words, one color per reward."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from research.learning.curves import NEVER, REWARDS, draw_rewards, draw_robbers
from research.learning.robbers import CURVES
from research.learning.words import SETTINGS, draw, row

NAMES = {"own": "own points", "social": "mean of all points", "inequity:1,0.5": "own points, averse to inequity"}


def test_a_reward_has_one_color_in_both_pictures(tmp_path: Path) -> None:
    trained = {}
    for reward in NAMES:
        folder = tmp_path / reward.partition(":")[0]
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"years": 5}))
        (folder / "log.jsonl").write_text("".join(json.dumps({"play/points": 5 + at}) + "\n" for at in range(4)))
        trained[reward] = [folder]
    robbers = draw_robbers({(reward, NEVER): folders for reward, folders in reversed(trained.items())}, CURVES)
    for figure in (draw_rewards(trained, is_toy=True), robbers):
        panel = figure.axes[0]
        colors = {line.get_label().split(" (")[0].split(";")[0]: line.get_color() for line in panel.get_lines()}
        assert all(colors[name] == REWARDS[reward.partition(":")[0]] for reward, name in NAMES.items())
        assert panel.get_ylim()[0] == 0
    listed = (Path(__file__).parents[3] / "docs" / "pictures" / "README.md").read_text("utf-8")
    assert all(re.search(rf"`{color}` [a-z ]+ \| rewards \| .*{reward}", listed) for reward, color in REWARDS.items())


def test_words() -> None:
    lost = {name: {"value": 0.1, "low": 0.05, "high": 0.2} for name in ("shuffled", "removed")}
    values = {"as said": 1.2, "shuffled": 1.1, "removed": 1.1, "no words": 1}
    returns = {name: {"value": value} for name, value in values.items()}
    drawn = {"returns": returns, "lost": lost, "bits": {"value": 0.2}}
    ways = {way: {"returns": returns} for way in ("greedy orders", "greedy")}
    figure = draw([(SETTINGS[0], seed, {"drawn": drawn}) for seed in (0, 1)])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["seed 0", "seed 1"]
    assert figure.axes[0].get_title() == "pass, one year\nother seats: strangers\nreward: mean of all points"
    bars = figure.axes[0].containers[2].lines[2][0].get_segments()[0]
    assert bars[:, 1] == pytest.approx([1.0, 1.15])
    lost["removed"] |= {"low": None, "high": None}  # all games alike
    assert row(SETTINGS[0], 0, {"drawn": drawn, **ways})[4:6] == ["0.10 [0.05, 0.20]", "0.10 [all alike]"]
