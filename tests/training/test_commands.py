"""The commands of training: options, what they print, errors in one line, Ctrl-C; and results as rows."""

import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import training
from agents.runtime import progress
from tests.columns import columns
from training import TrainConfig
from training.cli import console
from training.cli.commands import app
from training.errors import TrainingError
from training.modal import ModalConfig
from training.run_folder import saved_iterations

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


def test_options_reach_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"epochs": 3, "lr": 0.1, "sees": "position", "horizon": 7, "variant": "standard", "coalition": "PLAYERB"}
    given = [text for name, value in wanted.items() for text in (f"--{name}", str(value))]
    seen: list[TrainConfig] = []
    monkeypatch.setattr("training.board.ppo.train", lambda config, *_: seen.append(config) or sys.exit(7))
    assert CliRunner().invoke(app, ["welfare", *TINY, *given, "--league-share", "0.5"]).exit_code == 7
    assert wanted.items() <= seen[0].to_dict().items()


@pytest.mark.slow
def test_a_best_response_tells_how_far_it_is_and_what_it_gains_and_resuming_measures_again(tmp_path, monkeypatch):
    """Nothing in games of one year, in which nobody can be robbed."""
    monkeypatch.setattr(progress, "EVERY", 0.001)
    small = [*TINY, "--out", str(tmp_path), "--lr", "1e-9", "--against", "prosocial", "--report-games", "2"]
    table = tmp_path / "gains.csv"
    first = CliRunner().invoke(app, ["best-response", *small, *IMITATION, "--csv", str(table)])
    assert "no gain: this says little about the policy" in first.stderr
    assert "--iterations 300 --horizon 300 --out FOLDER" in first.stderr
    assert "PLAYERB" in table.read_text()
    for stage in (r"watching dumbbot: \d of 4 games", r"imitating dumbbot: \d+ of \d+ steps", r"of 1 iterations, 0:"):
        assert re.search(rf"^.*{stage}", first.stderr, re.M), (stage, first.stderr[-2000:])
    done, of = re.findall(r"measuring: (\d+) of (\d+) games", first.stderr)[-1]
    assert done == of
    assert "iterations" not in first.stdout
    again = CliRunner().invoke(app, ["resume", str(tmp_path), "--report-games", "1"])
    assert again.exit_code == 0, again.output
    assert "Exploitability: welfare rules, clique:3" in again.stdout


IMITATION = ["--imitate", "dumbbot", "--imitate-games", "4"]
IMITATE = ["welfare", "--map", "clique:3", "--years", "1", "--games", "2", "--iterations", "2", "--save-every", "1"]
IMITATE += ["--minibatch", "64", "--width", "4", *IMITATION, "--league-share", "0"]


MODAL = ["modal", "--against", "program:FairBot", "--iterations", "3", "--games", "4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "stage", "kept"),
    [
        (IMITATE, "watching dumbbot", "nothing is saved yet; the same command starts again"),
        (IMITATE, "learning", "the training is saved after iteration 1; the same command resumes it"),
        (MODAL, "learning", "the training is saved after iteration 1; the same command resumes it"),
    ],
)
def test_an_interruption_tells_what_is_saved(tmp_path, monkeypatch, command, stage, kept, lasting_lines) -> None:
    stages = []
    enter = console.TrainingProgress._enter

    def entered(self, what, *rest):
        if what == stage and stage not in stages:
            os.kill(os.getpid(), signal.SIGINT)
        stages.append(what)
        enter(self, what, *rest)

    monkeypatch.setattr(console.TrainingProgress, "_enter", entered)
    before = signal.getsignal(signal.SIGINT)
    told = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert told.exit_code == 130
    assert lasting_lines(told.stderr) == told.stderr.splitlines()[-1:] == [f"interrupted: {kept}"]
    assert signal.getsignal(signal.SIGINT) is before
    assert stages[-1] == stage  # nothing after it
    assert (tmp_path / "state.safetensors").exists() == (stage == "learning")
    if command == MODAL:
        assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1


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
    for arguments, words in WRONG:
        done = CliRunner().invoke(app, arguments)
        assert (done.exit_code, len(lasting_lines(done.stderr))) == (2, 1), (arguments, done.output)
        assert words in done.stderr


def names(table: str) -> list[str]:
    return [column.name for column in columns(table)]


def logged(folder: Path, seed: int, lines: list[dict[str, object]]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"kind": "board", "seed": seed}))
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_logs_have_a_row_per_iteration(tmp_path: Path) -> None:
    first = logged(tmp_path / "a", 3, [{"iteration": 1, "play/return": 2.5}, {"iteration": 2, "play/return": 3}])
    other = logged(tmp_path / "b", 4, [{"iteration": 1, "play/return": 1.0, "learn/kl": 0.5, "what": "text"}])
    rows = training.log_rows([first, other])
    assert [list(row) for row in rows] == [[*names("curves")[:-1], "play/return", "learn/kl"]] * 3
    assert [(row["folder"], row["seed"], row["iteration"], row["play/return"]) for row in rows] == [
        (str(first), 3, 1, 2.5),
        (str(first), 3, 2, 3.0),
        (str(other), 4, 1, 1.0),
    ]
    assert math.isnan(rows[0]["learn/kl"])
    assert rows[2]["learn/kl"] == 0.5
    with pytest.raises(TrainingError):
        training.log_rows([tmp_path])
