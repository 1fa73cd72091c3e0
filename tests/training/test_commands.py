"""The commands of training: their options, what they print, errors in one line, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from agents.runtime import progress
from training import TrainConfig
from training.cli import console
from training.cli.commands import app
from training.modal import ModalConfig
from training.run_folder import read_config, saved_iterations

Lines = Callable[[str], list[str]]
TINY = ["--map", "clique:3", "--years", "1", "--games", "2", "--iterations", "1", "--width", "4", "--layers", "1"]
IN_PYTHON = {"gamma", "lambda_", "clip", "league_every", "league_size", "held_out_games"}


@pytest.mark.parametrize("command", ["welfare", "best-response", "modal"])
def test_fields_are_options(command: str) -> None:
    kind = ModalConfig if command == "modal" else TrainConfig
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
    names = {field.name for field in fields(kind)} - {"variant", "against", "also", "agents"} - IN_PYTHON
    renamed = {"map_name": "map"}
    assert [name for name in names if f"--{renamed.get(name, name).replace('_', '-')} " not in shown] == []
    assert [name for name in IN_PYTHON if f"--{name.replace('_', '-').strip('-')} " in shown] == []


@pytest.mark.slow
def test_options_reach_the_training(tmp_path: Path) -> None:
    given = [*TINY, "--epochs", "3", "--lr", "0.1", "--sees", "position"]
    given += ["--horizon", "7", "--league-share", "0.5", "--coalition", "PLAYERB", "--out", str(tmp_path)]
    given += ["--variant", "standard"]
    told = CliRunner().invoke(app, ["welfare", *given])
    assert told.exit_code == 0, told.output
    _, values = read_config(tmp_path)
    wanted = {"epochs": 3, "lr": 0.1, "sees": "position", "horizon": 7}
    wanted |= {"variant": "standard"}
    assert wanted.items() <= values.items()
    assert values["coalition"] == "PLAYERB"


@pytest.mark.slow
def test_a_best_response_that_gains_nothing_is_warned_of_and_resuming_measures_again(tmp_path: Path) -> None:
    """After one iteration, in games of one year, in which nobody can be robbed."""
    small = [*TINY, "--out", str(tmp_path), "--lr", "1e-9", "--against", "prosocial", "--report-games", "2"]
    table = tmp_path / "gains.csv"
    first = CliRunner().invoke(app, ["best-response", *small, "--csv", str(table)])
    assert "no gain: this says little about the policy" in first.stderr
    assert "--iterations 300 --horizon 300 --out FOLDER" in first.stderr
    assert "PLAYERB" in table.read_text()
    again = CliRunner().invoke(app, ["resume", str(tmp_path), "--report-games", "1"])
    assert again.exit_code == 0, again.output
    assert "Exploitability: welfare rules, clique:3" in again.stdout


IMITATE = ["welfare", "--map", "clique:3", "--years", "1", "--games", "2", "--iterations", "2", "--save-every", "1"]
IMITATE += ["--minibatch", "64", "--width", "4", "--imitate", "dumbbot", "--imitate-games", "4", "--league-share", "0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "kept"),
    [
        ("watching dumbbot", "nothing is saved yet; the same command starts again"),
        ("imitating dumbbot", "nothing is saved yet; the same command starts again"),
        ("learning", "the training is saved after iteration 1; the same command resumes it"),
    ],
)
def test_an_interruption_tells_what_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, kept: str, lasting_lines: Lines
) -> None:
    stages = []
    enter = console.TrainingProgress._enter

    def entered(self, what, *rest):
        if what == stage and stage not in stages:
            os.kill(os.getpid(), signal.SIGINT)
        stages.append(what)
        enter(self, what, *rest)

    monkeypatch.setattr(console.TrainingProgress, "_enter", entered)
    before = signal.getsignal(signal.SIGINT)
    told = CliRunner().invoke(app, [*IMITATE, "--out", str(tmp_path)])
    assert told.exit_code == 130
    assert lasting_lines(told.stderr) == told.stderr.splitlines()[-1:] == [f"interrupted: {kept}"]
    assert signal.getsignal(signal.SIGINT) is before
    assert stages[-1] == stage  # nothing after it
    assert (tmp_path / "state.safetensors").exists() == (stage == "learning")
    if stage != "watching dumbbot":
        assert CliRunner().invoke(app, [*IMITATE, "--out", str(tmp_path)]).exit_code == 0


def test_a_hasty_interruption_tells_what_was_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        console.TrainingProgress, "iteration", lambda self, told: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert saved_iterations(tmp_path) is None
    for content in (b"", b"12345678", b"\xff" * 50, (2).to_bytes(8, "little") + b"{}"):
        (tmp_path / "state.safetensors").write_bytes(content)
        assert saved_iterations(tmp_path) is None
    with pytest.raises(typer.Exit), console.training_progress(3, str, tmp_path) as shown:
        shown.iteration(None)


@pytest.mark.slow
def test_long_commands_tell_how_far_they_are_where_nobody_looks_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    against = ["best-response", "--against", "prosocial", "--map", "clique:3", "--years", "2", "--games", "2"]
    small = ["--iterations", "2", "--width", "4", "--minibatch", "64", "--report-games", "2", "--imitate-games", "4"]
    told = CliRunner().invoke(app, [*against, *small, "--imitate", "dumbbot", "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    for stage in (r"watching dumbbot: \d of 4 games", r"imitating dumbbot: \d+ of \d+ steps", r"of 2 iterations, 0:",
                  r"measuring: \d+ of 10 games"):  # fmt: skip
        assert re.search(rf"^.*{stage}", told.stderr, re.M), (stage, told.stderr[-2000:])
    assert "iterations" not in told.stdout


WRONG: list[tuple[list[str], str]] = [
    (["modal", "--lr", "nan"], "--lr nan"),
    (["best-response", "--against", "program:FairBot", "--map", "clique:3"], "writes programs for modal_env"),
    (["welfare", "--map", "clique:3", "--workers", "1", "--ray-address", "nonsense"], "--ray-address nonsense"),
    (["welfare", "--out", "file"], "folder cannot be made"),
    (["resume", "nowhere"], "no training"),
    (["best-response", "--against", "learner"], "does not learn"),
    (["welfare", "--variant", "standard", "--start", "/nowhere"], "no checkpoint"),
    (["best-response", "--against", "prosocial", "--coalition", "FRANC"], "did you mean 'FRANCE'?"),
    (["welfare", "--seed", "9" * 30], "--seed 99"),
    (["welfare", "--also", "cops=social"], "'cops' never plays"),
]  # arguments, and what the error says


def test_errors_are_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting_lines: Lines) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    wrong = []
    for arguments, words in WRONG:
        done = CliRunner().invoke(app, arguments)
        if done.exit_code != 2 or words not in done.stderr or len(lasting_lines(done.stderr)) != 1:
            wrong.append((arguments, done.exit_code, done.output))
    assert wrong == []


@pytest.mark.slow
def test_training_from_python_prints_nothing(tmp_path: Path) -> None:
    code = "import training; training.train(training.TrainConfig(map_name='clique:3', years=1, games=2, iterations=1, "
    code += f"width=4, layers=1, out={str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
