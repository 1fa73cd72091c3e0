"""Pictures of docs/learning.md: axes from 0, names in words, one color per reward."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from research.learning.curves import REWARDS, draw_rewards, draw_robbers
from research.learning.robbers import CURVES
from research.learning.words import SETTINGS, row

NAMES = {"own": "own points", "social": "mean of all points", "inequity:1,0.5": "own points, averse to inequity"}


def test_a_reward_has_one_color_in_both_pictures(tmp_path: Path) -> None:
    trained = {}
    for reward in NAMES:
        folder = tmp_path / reward.partition(":")[0]
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"years": 5}))
        (folder / "log.jsonl").write_text("".join(json.dumps(dict.fromkeys(CURVES, 5 + at)) + "\n" for at in range(4)))
        trained[reward] = [folder]
    for figure in (draw_rewards(trained), draw_robbers(dict(reversed(trained.items())), CURVES)):
        panel = figure.axes[0]
        colors = {line.get_label().split(" (")[0]: line.get_color() for line in panel.get_lines()}
        assert all(colors[name] == REWARDS[reward.partition(":")[0]] for reward, name in NAMES.items())
        assert panel.get_ylim()[0] == 0
    listed = (Path(__file__).parents[3] / "docs" / "pictures" / "README.md").read_text("utf-8")
    assert all(re.search(rf"`{color}` [a-z ]+ \| rewards \| .*{reward}", listed) for reward, color in REWARDS.items())


def test_a_row_of_words() -> None:
    lost = {name: {"value": 0.1, "low": 0.05, "high": 0.2} for name in ("shuffled", "removed")}
    values = {"as said": 1.2, "shuffled": 1.1, "removed": 1.1, "no words": 1}
    returns = {name: {"value": value} for name, value in values.items()}
    drawn = {"returns": returns, "lost": lost, "bits": {"value": 0.2}}
    ways = {way: {"returns": returns} for way in ("greedy orders", "greedy")}
    lost["removed"] |= {"low": None, "high": None}  # all games alike
    cells = row(SETTINGS[0], 0, {"drawn": drawn, **ways})
    assert cells[2:6] == ["1.00", "1.20", "0.10 [0.05, 0.20]", "0.10 [all alike]"]
