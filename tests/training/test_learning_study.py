"""The study of docs/learning.md: when a curve is flat, what a peak is, and that finished work is kept."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from research.learning import trainings
from research.learning.courses import change, course, is_flat, peaks
from research.learning.rewards import on_clique
from research.learning.trainings import Group, measured
from training import TrainConfig

STEPS = np.arange(150)


def curves(*falls: float) -> np.ndarray:
    """Curves that fall by so much from one fifty to the next."""
    return np.array([2 - fall * STEPS / 50 for fall in falls])


def test_a_curve_is_flat_if_no_seed_moves() -> None:
    assert course(curves(0.01, 0.02, -0.01)) == "flat"
    assert course(curves(0.17, 0.16, 0.18)) == "still falling (-0.17 over the last 50)"
    assert course(curves(-0.2, -0.1)) == "still rising (+0.15 over the last 50)"
    assert course(curves(0.0, 0.0, 0.06)) != "flat"
    assert course(curves(0.06, -0.06)) == "not settled (-0.06 to +0.06 over the last 50)"


def test_five_seeds_are_judged_by_the_interval_over_seeds() -> None:
    falls = (0.03, 0.035, 0.06, 0.03, 0.035)
    assert change(curves(*falls)).n == 5
    assert course(curves(*falls)).startswith("still falling (-0.04")  # the interval passes -0.05
    assert course(curves(*falls * 8)) == "flat"  # more seeds, a narrower interval
    assert not is_flat(change(curves(*falls[:3])))


def test_a_peak_is_found_on_the_other_seeds() -> None:
    table = np.ones((3, 150))
    table[:, 60:65] = 1.5
    table[0, 100:105] = 3.0  # luck of one seed
    values, at = peaks(table)
    assert values.tolist() == [1.5, 1.0, 1.0]
    assert at == 105


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Trainings that only write a curve: it falls until iteration 200."""
    done: list[tuple[str, int]] = []
    saved: dict[Path, int] = {}

    def train(config: TrainConfig) -> Path:
        if saved.get(config.place, 0) < config.iterations:
            done.append((config.place.name, config.iterations))
            saved[config.place] = config.iterations
            config.place.mkdir(exist_ok=True)
            (config.place / "config.json").write_text(json.dumps(config.to_dict()))
            lines = [{"play/points": max(200 - at, 0) / 50} for at in range(config.iterations)]
            (config.place / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return config.place

    monkeypatch.setattr(trainings, "trained", train)
    monkeypatch.setattr(trainings, "saved_iterations", saved.get)
    return done


def test_trainings_go_on_until_flat_or_the_limit(tmp_path: Path, runs: list[tuple[str, int]]) -> None:
    options = trainings.Options(tmp_path, tmp_path, ())
    group = Group("own", {"map_name": "clique:4", "years": 1}, seeds=2, iterations=150, most=400)
    assert [folder.name for folder in group.folders(options)] == ["own-0", "own-1"]
    assert runs == [("own-0", 150), ("own-1", 150), ("own-0", 200), ("own-1", 200), ("own-0", 250), ("own-1", 250),
                    ("own-0", 300), ("own-1", 300)]  # fmt: skip
    assert group.config(tmp_path, 0, 300).horizon == 150
    runs.clear()
    assert len(group.folders(options)) == 2
    assert runs == []
    short = Group("short", {"map_name": "clique:4", "years": 1}, seeds=1, iterations=150, most=200)
    short.folders(options)
    assert runs == [("short-0", 150), ("short-0", 200)]


def test_an_interrupted_extension_is_finished(tmp_path: Path, runs: list[tuple[str, int]]) -> None:
    options = trainings.Options(tmp_path, tmp_path, ())
    group = on_clique("own")
    trainings.trained(group.config(tmp_path, 0, 170))
    runs.clear()
    group.folders(options)
    assert runs[:2] == [("clique-own-0", 200), ("clique-own-1", 200)]


def test_a_measure_is_kept(tmp_path: Path) -> None:
    assert measured(tmp_path, "gain", lambda: 1.5) == 1.5
    assert measured(tmp_path, "gain", lambda: 2.5) == 1.5
    assert measured(tmp_path, "other", lambda: 2.5) == 2.5
