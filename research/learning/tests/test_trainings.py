"""When a curve is flat, what a peak is, and that trainings are extended until flat and measurements kept."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from research.learning import trainings
from research.learning.courses import change, course, is_flat, peaks
from research.learning.trainings import Group, measured
from training import TrainConfig

STEPS = np.arange(150)


def curves(*falls: float) -> np.ndarray:
    """Curves that fall by so much from one fifty to the next."""
    return np.array([2 - fall * STEPS / 50 for fall in falls])


def test_a_curve_is_flat_if_no_seed_moves() -> None:
    assert course(curves(0.01, 0.02, -0.01)) == "flat"
    assert course(curves(0.17, 0.16, 0.18)) == "still falling (-0.17 over the last 50)"
    assert course(curves(0.06, -0.06)) == "not settled (-0.06 to +0.06 over the last 50)"


def test_five_seeds_are_judged_by_the_interval_over_seeds() -> None:
    falls = (0.03, 0.035, 0.06, 0.03, 0.035)
    assert course(curves(*falls)).startswith("still falling (-0.04")  # the interval passes -0.05
    assert course(curves(*falls * 8)) == "flat"  # more seeds, a narrower interval
    assert not is_flat(change(curves(*falls[:3])))


def test_a_peak_is_found_on_the_other_seeds() -> None:
    table = np.ones((3, 150))
    table[:, 60:65] = 1.5
    table[0, 100:105] = 3.0  # luck of one seed
    values, at = peaks(table)
    assert (values.tolist(), at) == ([1.5, 1.0, 1.0], 105)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Trainings that only write a curve: it falls until iteration 200."""
    done: list[tuple[str, int]] = []
    saved: dict[Path, int] = {}

    def train(config: TrainConfig) -> Path:
        if saved.get(config.folder, 0) < config.iterations:
            done.append((config.folder.name, config.iterations))
            saved[config.folder] = config.iterations
            config.folder.mkdir(exist_ok=True)
            (config.folder / "config.json").write_text(json.dumps(config.to_dict()))
            lines = [{"play/points": max(200 - at, 0) / 50} for at in range(config.iterations)]
            (config.folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return config.folder

    monkeypatch.setattr(trainings, "trained", train)
    monkeypatch.setattr(trainings, "saved_iterations", saved.get)
    return done


def test_trainings_go_on_until_flat_or_the_limit(tmp_path: Path, runs: list[tuple[str, int]]) -> None:
    group = Group("own", {"map_name": "clique:4", "years": 1}, seeds=2, iterations=150, max_iterations=400)
    trainings.trained(group.config(tmp_path, 0, 170))  # an interrupted extension
    runs.clear()
    assert [folder.name for folder in group.folders(tmp_path)] == ["own-0", "own-1"]
    assert runs == [(f"own-{seed}", iterations) for iterations in (200, 250, 300) for seed in (0, 1)]
    runs.clear()
    group.folders(tmp_path)
    assert runs == []
    Group("short", {"map_name": "clique:4", "years": 1}, 1, iterations=150, max_iterations=200).folders(tmp_path)
    assert runs == [("short-0", 150), ("short-0", 200)]


def test_a_measure_is_kept(tmp_path: Path) -> None:
    assert measured(tmp_path, "gain", lambda: 1.5) == 1.5
    assert measured(tmp_path, "gain", lambda: 2.5) == 1.5
    assert measured(tmp_path, "other", lambda: 2.5) == 2.5


@pytest.mark.slow
def test_a_small_study_trains_measures_and_writes_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from research.learning import rewards

    group = Group("tiny", {"map_name": "clique:2", "years": 2, "reward": "own", "games": 8}, 1, 2, max_iterations=2)
    monkeypatch.setattr(rewards, "on_clique", lambda reward: group)
    monkeypatch.setattr(rewards, "REWARDS", ("own",))
    rewards.rewards(tmp_path, ["PLAYERA"], tmp_path)
    assert "own,2," in (tmp_path / "learning-rewards.csv").read_text()
    assert (tmp_path / "learning-rewards.png").exists()
