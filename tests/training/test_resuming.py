"""Going on with a training: interrupted, extended, moved, changed or damaged; and what a training keeps."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import agents
import training
from agents.rl import TRAINED
from agents.rl.checkpoint import CheckpointError
from agents.runtime.files import parse_json
from tests.training.small import SMALL, logged, same, stop_after, weights_of
from training.board.algorithm import play_of
from training.board.config import TrainConfig
from training.board.ppo import train
from training.board.sampling import HeldOut
from training.board.seats import Lineup
from training.cli.commands import app
from training.errors import TrainingError
from training.modal import ModalConfig
from welfare_env.board.loading import load_board

REPORTED = replace(SMALL, held_out_every=1)  # the fixture `finished` is such a training

Finished = Callable[..., Path]


def origin(folder: Path) -> dict[str, object]:
    return dict(parse_json((folder / "checkpoint.json").read_bytes())["origin"])


@pytest.fixture
def copied(tmp_path: Path, finished: Finished) -> Path:
    """A copy of a finished training."""
    return shutil.copytree(finished(), tmp_path / "run")


# Resuming and extending.


LEAGUE = {"against": ("league", "learner"), "league_every": 1, "league_size": 2}


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, LEAGUE, {"imitate": "random", "imitate_games": 4}])
def test_a_training_in_parts_ends_like_an_undisturbed_one(tmp_path: Path, changes: dict) -> None:
    """Killed an iteration after the last save, moved, resumed, and extended."""
    config = replace(SMALL, held_out_every=2, **changes)
    train(replace(config, iterations=5, out=tmp_path / "whole"))
    with pytest.raises(RuntimeError):
        train(replace(config, iterations=4, out=tmp_path / "before"), stop_after(3, RuntimeError))
    (tmp_path / "before").rename(tmp_path / "parts")
    training.resume(tmp_path / "parts")
    path = training.resume(tmp_path / "parts", iterations=5)
    assert path == tmp_path / "parts" / "checkpoint"
    assert logged(tmp_path / "whole") == logged(tmp_path / "parts")
    for name in ("checkpoint", "best"):
        assert same(weights_of(tmp_path / "whole", name), weights_of(tmp_path / "parts", name))


# The command of training, which says on stdout that the third iteration is done; then it waits until stdin is closed.
PAUSING = """
import sys
from training.cli import commands, console

shown = console.TrainingProgress.iteration


def iteration(self, finished):
    if finished.iteration == 3:
        print("third", flush=True)
        sys.stdin.read()
    shown(self, finished)


console.TrainingProgress.iteration = iteration
commands.app()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_killed_process_goes_on(tmp_path: Path, name: str) -> None:
    command = ["best-response", "--against", "prosocial", "--map", "clique:3", "--years", "2", "--iterations", "9"]
    command += ["--games", "6", "--save-every", "2", "--report-games", "2", "--width", "8", "--json"]
    options, pipe = [*command, "--out", str(tmp_path / "parts")], subprocess.PIPE
    pausing = [sys.executable, "-c", PAUSING, *options]
    with subprocess.Popen(pausing, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "third\n"
        process.send_signal(getattr(signal, name))
        told = process.communicate()[1]
    if name == "SIGINT":
        assert process.returncode == 130
        assert "the same command resumes it" in told
        return
    subprocess.run([sys.executable, "-m", "training", *options], check=True, capture_output=True)
    told = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "whole")])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["exploitability"]["value"] >= 0
    assert same(weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts"))


@pytest.mark.slow
def test_a_modal_training_is_resumed_too(tmp_path: Path) -> None:
    training.train(ModalConfig("program:FairBot", games=8, iterations=2, out=tmp_path))
    result = training.resume(tmp_path, iterations=4)
    assert len(result.history) == 4
    told = CliRunner().invoke(app, ["resume", str(tmp_path), "--iterations", "5"])
    assert told.stdout.startswith("policy: ")


@pytest.mark.parametrize(
    "content", [None, "5", "{", '{"kind": "wild"}', '{"kind": "board", "lr": "x"}', '{"kind": "board", "lrr": 1}']
)
def test_a_damaged_config_or_none_is_refused(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(TrainingError, match=r"config\.json|lr"):
        training.resume(tmp_path)


def test_fewer_iterations_than_there_are_and_another_training_in_the_folder_are_refused(finished: Finished) -> None:
    with pytest.raises(TrainingError, match="3 iterations"):
        training.resume(finished(), iterations=2)
    with pytest.raises(TrainingError, match=r"lr=0\.001"):
        train(replace(REPORTED, lr=0.5, out=finished()))


# What is kept.


@pytest.mark.slow
def test_without_a_report_the_last_player_is_the_best(tmp_path: Path) -> None:
    """Until there is one: an extended training has the same best iterate as one that was never stopped."""
    config = replace(SMALL, held_out_every=4, out=tmp_path / "short")
    train(config)
    assert same(weights_of(config.folder, "best"), weights_of(config.folder))
    train(replace(config, iterations=5))
    train(replace(config, iterations=5, out=tmp_path / "whole"))
    assert same(weights_of(config.folder, "best"), weights_of(tmp_path / "whole", "best"))
    about = origin(config.folder / "best")
    assert (about["iterations"], "held_out" in about) == (4, True)


def test_of_equal_reports_the_first_is_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = iter([1.0, 3.0, 3.0, 2.0])
    monkeypatch.setattr(HeldOut, "report", lambda *given: next(reports))
    train(replace(REPORTED, iterations=4, out=tmp_path))
    about = origin(tmp_path / "best")
    assert (about["iterations"], about["held_out"]) == (2, 3.0)


def test_held_out_games_leave_out_past_selves() -> None:
    asked = []
    for opponents in (("league", "hold"), ("league",)):
        lineup = Lineup(((0,),), opponents, (0.5,) * len(opponents))
        asked.append(HeldOut(replace(play_of(SMALL), lineup=lineup), SMALL)._runner.play.lineup.opponents)
    assert asked == [("hold",), ("league",)]  # unless there is nobody else


@pytest.mark.parametrize("damage", ["deleted", "cut", "exchanged"])
def test_checkpoints_are_written_again(copied: Path, finished: Finished, damage: str) -> None:
    for name in ("checkpoint", "best"):
        if damage == "cut":
            (copied / name / "weights.safetensors").write_bytes(b"")
        else:
            shutil.rmtree(copied / name)
        if damage == "exchanged":
            shutil.copytree(TRAINED / "attacker", copied / name)
    training.resume(copied)
    for name in ("checkpoint", "best"):
        assert same(weights_of(copied, name), weights_of(finished(), name))


# What makes two trainings the same: checkpoints count by their content.


def test_a_moved_opponent_is_the_same_and_an_exchanged_one_another(tmp_path: Path, finished: Finished) -> None:
    given = shutil.copytree(finished(0) / "checkpoint", tmp_path / "given")
    config = replace(SMALL, out=tmp_path / "run", against=f"rl:{given}")
    train(config)
    moved = given.rename(tmp_path / "moved")
    train(replace(config, against=f"rl:{moved}", iterations=4))
    assert len(logged(tmp_path / "run")) == 4
    shutil.copytree(finished(1) / "checkpoint", given)
    with pytest.raises(TrainingError, match="against="):
        train(replace(config, iterations=5))


@pytest.mark.slow
def test_a_start_is_needed_to_begin_and_not_to_resume(tmp_path: Path, finished: Finished) -> None:
    start = shutil.copytree(finished(0) / "checkpoint", tmp_path / "start")
    config = replace(SMALL, start=start, out=tmp_path / "run")
    train(config)
    start.rename(tmp_path / "moved")
    train(replace(config, iterations=4))
    assert len(logged(tmp_path / "run")) == 4
    with pytest.raises(TrainingError, match="start="):
        train(replace(config, start=tmp_path / "moved"))
    for wrong, told in ((start, "start: no checkpoint"), (finished(1), rf"folder of a training; give {finished(1)}/c")):
        with pytest.raises(CheckpointError, match=told):
            train(replace(config, start=wrong, out=tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_network_of_another_architecture_is_no_beginning(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="board-by-power"):
        train(replace(SMALL, map_name="standard", years=1, start="best-response", out=tmp_path / "run"))


@pytest.mark.slow
def test_a_network_that_sees_the_position_only_does_not_read_points(tmp_path):
    config = replace(SMALL, iterations=1, out=tmp_path / "blind", sees="position")

    def reads_points(**changes):
        trained = agents.make(f"rl:{train(replace(config, **changes))}")
        return trained.network_for(load_board("clique:3"), config.rules).reads_points

    assert not reads_points()
    assert reads_points(out=tmp_path / "seeing", sees="all")
    assert not reads_points(out=tmp_path / "started", start=tmp_path / "seeing" / "checkpoint")
    with pytest.raises(TrainingError, match="sees"):
        train(replace(config, sees="all"))
    with pytest.raises(TrainingError, match="sees"):
        TrainConfig(sees="nothing")
