"""Training as a step of an experiment file: what it refuses, and a small one from the file to the measures."""

from pathlib import Path
from typing import Any

import pytest

from training import TrainingError, steps
from training.run_folder import read_config


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"itrations": 3}, "'itrations' .did you mean 'iterations'"),
        ({"iterations": 0}, "iterations=0"),
        ({"seed": 1}, "seeds = .0, 1, 2. in .train."),
        ({"out": "x"}, "out"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        steps.check(fields)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "find_spec", lambda name: None)
    with pytest.raises(TrainingError, match=r"the extra train: .*pip install"):
        steps.run({}, 0, tmp_path, lambda done, total: None)


FILE = """
title = "Trained"
profiles = ["trained:own"]
map_name = "clique:3"
games = 1
[rules]
years = 1
press = "none"
[train]
seeds = [0, 1]
[train.own]
map_name = "clique:3"
years = 1
iterations = 2
games = 4
width = 4
held_out_every = 0
save_every = 1
"""


def test_a_step_says_what_it_trained(tmp_path: Path) -> None:
    """Also where the folder needs brackets in a spec."""
    pytest.importorskip("ray")
    fields = {"map_name": "clique:3", "years": 1, "iterations": 2, "games": 2, "width": 4, "held_out_every": 0}
    seen: list[tuple[int, int]] = []
    spec = steps.run(fields, 3, tmp_path / "a b", lambda done, total: seen.append((done, total)))
    assert spec == f"rl:({tmp_path / 'a b' / 'checkpoint'})"
    assert seen == [(1, 2), (2, 2)]
    assert read_config(tmp_path / "a b")[1]["seed"] == 3


@pytest.mark.slow
def test_an_experiment_trains_is_interrupted_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    import evaluation
    from evaluation.experiment_files import trainings
    from evaluation.experiment_files.loading import read_experiment

    monkeypatch.setattr(trainings, "training_step", lambda: steps)
    monkeypatch.setattr("evaluation.experiment_files.parser.training_step", lambda: steps)
    chosen, seen = read_experiment(FILE), []

    def stopping(what: str, done: int, total: int) -> None:
        seen.append((what, done))
        if len(seen) == 3:  # after the first iteration of the second training
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluation.experiment(chosen, folder=tmp_path / "a b", on_training=stopping)
    result = evaluation.experiment(chosen, folder=tmp_path / "a b", on_training=stopping)
    assert seen == [(f"training own, seed {seed}", done) for seed in (0, 1) for done in (1, 2)]
    (condition,) = result.conditions
    assert condition.training_seeds == (0, 1)
    assert condition.measures["root_nash_welfare"].n == 2
    whole = evaluation.experiment(chosen, folder=tmp_path / "whole")
    for name in ("root_nash_welfare", "proficiency"):
        assert whole.conditions[0].measures[name] == condition.measures[name]
