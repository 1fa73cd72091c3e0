"""Going on with a training: interrupted, extended, moved, changed or damaged; and what a training keeps."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import training
from agents.rl import checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.runtime.files import parse_json
from tests.training.small import SMALL, logged, same, stop_after, weights_of
from training.board.algorithm import play_of
from training.board.ppo import train
from training.board.sampling import HeldOut
from training.board.seats import Lineup
from training.cli.commands import app
from training.errors import TrainingError
from training.run_folder import saved_iterations
from welfare_env.board.loading import load_board

REPORTED = replace(SMALL, held_out_every=1)  # the fixture `finished` is such a training

Finished = Callable[..., Path]


def origin(folder: Path) -> dict[str, object]:
    return dict(parse_json((folder / "checkpoint.json").read_bytes())["origin"])


# Resuming and extending.


LEAGUE = {"against": ("league", "learner"), "league_every": 1, "league_size": 2}
SEVERAL = LEAGUE | {"also": "cooperators=social", "against": ("league", "cooperators")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "saved", "changes"),
    [(KeyboardInterrupt, 3, LEAGUE), (RuntimeError, 2, SEVERAL | {"imitate": "random", "imitate_games": 4})],
)
def test_a_training_in_parts_ends_like_an_undisturbed_one(tmp_path: Path, error, saved, changes: dict) -> None:
    """After Ctrl-C, which saves, or killed an iteration after the last save; then moved, resumed, and extended."""
    config = replace(SMALL, held_out_every=2, lr=0.05, **changes)
    train(replace(config, iterations=5, out=tmp_path / "whole"))
    with pytest.raises(error):
        train(replace(config, iterations=4, out=tmp_path / "before"), stop_after(3, error))
    assert saved_iterations(tmp_path / "before") == saved
    (tmp_path / "before").rename(tmp_path / "parts")
    training.resume(tmp_path / "parts")
    path = training.resume(tmp_path / "parts", iterations=5)
    assert path == tmp_path / "parts" / "checkpoint"
    assert logged(tmp_path / "whole") == logged(tmp_path / "parts")
    names = [checkpoint.parent.name for checkpoint in (tmp_path / "whole").glob("*/checkpoint.json")]
    assert len(names) == 2 + 2 * len(config.rewards)
    for name in names:
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
def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    command = ["best-response", "--against", "prosocial", "--map", "clique:3", "--years", "2", "--iterations", "5"]
    command += ["--games", "6", "--save-every", "2", "--report-games", "2", "--width", "8", "--json"]
    pausing, pipe = [sys.executable, "-c", PAUSING, *command, "--out", str(tmp_path / "parts")], subprocess.PIPE
    with subprocess.Popen(pausing, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "third\n"
        process.kill()
        process.communicate()
    for name in ("parts", "whole"):
        told = CliRunner().invoke(app, [*command, "--out", str(tmp_path / name)])
        assert told.exit_code == 0, told.output
        assert json.loads(told.stdout)["exploitability"]["value"] >= 0
    assert same(weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts"))


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
    with pytest.raises(TrainingError, match="sees="):
        train(replace(REPORTED, sees="position", out=finished()))


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


def test_a_network_that_sees_the_position_only_does_not_read_points(tmp_path: Path, finished: Finished) -> None:
    """Though it begins with the weights of one that does."""
    config = replace(SMALL, iterations=1, out=tmp_path, sees="position", start=finished() / "checkpoint")
    networks = [checkpoint.load(path) for path in (config.start, train(config))]
    reads = [each.network_for(load_board("clique:3"), config.rules).reads_points for each in networks]
    assert reads == [True, False]
