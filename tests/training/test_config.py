"""The config of a training: checks, folders, the commands made from it, and what makes two trainings the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from ray.rllib.core import DEFAULT_MODULE_ID
from safetensors.numpy import load_file
from typer.testing import CliRunner

import training
from agents.rl.checkpoint import CheckpointError
from agents.runtime.files import parse_json
from training import TrainConfig
from training.board.ppo import _set_schedules, _spaces, make_config, play_of, train
from training.board.sampling import HeldOut
from training.board.seats import Lineup
from training.cli.commands import ATTACKER, RESPONSE, SELF_PLAY, app
from training.config import file_name
from training.errors import TrainingError
from training.files import read_config
from training.modal import ModalConfig

EARLIER = Path(__file__).resolve().parents[1] / "data" / "earlier"
SMALL = TrainConfig(
    against="prosocial", map_name="clique:3", years=2, games=6, iterations=3, horizon=3, epochs=3, minibatch=64,
    width=4, layers=1, save_every=2, held_out_every=0,
)  # fmt: skip


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "weights.safetensors")


def same(one: Path, other: Path) -> bool:
    mine, theirs = weights_of(one), weights_of(other)
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


# Checks.


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lr", float("nan")),
        ("lr", 900),
        ("lr", 0),
        ("lr", "1e-3"),
        ("gamma", 1.01),
        ("lambda_", -0.1),
        ("clip", 0),
        ("entropy", True),
        ("games", 8.0),
        ("games", 0),
        ("iterations", None),
        ("seed", -1),
        ("horizon", 0),
        ("years", 0),
        ("width", 10**9),
        ("against", ()),
        ("against", 5),
        ("against", ("dove", 5)),
        ("map_name", None),
        ("press", "text"),
        ("reward", "money"),
        ("curriculum", "99"),
        ("start", 5),
        ("folder", 5),
        ("variant", "welfar"),
        ("league_share", 1.5),
        ("league_every", 0),
        ("held_out_every", -1),
        ("workers", 33),
        ("ray_address", "auto"),
    ],
)
def test_fields_are_checked(field: str, value: object) -> None:
    with pytest.raises(training.errors.WelfareEnvError, match=field):
        TrainConfig(**{field: value})


@pytest.mark.parametrize(("field", "value"), [("lr", float("nan")), ("lr", 900), ("clip", 0.0), ("budget", 0)])
def test_fields_of_modal_trainings_are_checked(field: str, value: object) -> None:
    with pytest.raises(TrainingError, match=field):
        ModalConfig(**{field: value})


def test_one_opponent_may_be_given_as_a_text() -> None:
    assert TrainConfig(against="dove") == TrainConfig(against=("dove",)) == TrainConfig(against=["dove"])


def test_a_whole_number_is_a_number() -> None:
    assert TrainConfig(entropy=1) == TrainConfig(entropy=1.0)


@pytest.mark.parametrize("config", [SELF_PLAY, ATTACKER, RESPONSE, SMALL])
def test_a_config_is_read_as_it_was_written(config: TrainConfig) -> None:
    written = json.loads(json.dumps(config.to_dict()))
    assert TrainConfig(**written) == replace(config, folder=None)


# Folders.


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (SELF_PLAY, "welfare"),
        (ATTACKER, "standard-random-dumbbot"),
        (RESPONSE, "best-response-prosocial"),
        (SMALL, "best-response-prosocial-clique:3"),
        (TrainConfig(map_name="clique:4"), "welfare-clique:4"),
    ],
)
def test_folders_are_named_after_the_profile(config: TrainConfig, name: str) -> None:
    assert config.place == Path("runs", name)


def test_the_name_of_a_folder_is_never_too_long() -> None:
    texts = [f"exploiter:nice=(dove:share=0.{number}),attack=dumbbot,years=4" for number in range(8)]
    names = [TrainConfig(against=(*texts, last)).place.name for last in ("dove", "hold", "мир" * 30, "和" * 60)]
    assert max(len(name.encode()) for name in names) <= 200
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("against", "league_share", "shares"),
    [
        (("dove", "dove", "hold"), 0.5, {"dove": 1 / 3, "hold": 1 / 6, "league": 0.5}),
        (("dove", "dove", "hold"), 0.0, {"dove": 2, "hold": 1}),
        (("dove", "hold"), 0.0, {"dove": 1, "hold": 1}),
        (("dove", "league", "hold"), 0.5, {"dove": 0.25, "hold": 0.25, "league": 0.5}),
        (("dove", "hold"), 1.0, {"league": 1}),
        (("league",), 0.5, {"league": 0.5}),
    ],
)
def test_opponents_are_drawn_as_often_as_they_are_named(
    against: tuple[str, ...], league_share: float, shares: dict[str, float]
) -> None:
    lineup = TrainConfig(against=against, league_share=league_share).lineup
    assert dict(zip(lineup.opponents, lineup.shares, strict=True)) == pytest.approx(shares)


def test_every_profile_has_a_folder_of_its_own() -> None:
    profiles = ["dove", "4*dove + 3*hold", "4*dove + 3*(hold)", "rl:a/b", "rl:a-b", "x" * 5000, "x" * 5001, "..", "/"]
    names = {file_name(profile) for profile in profiles}
    assert len(names) == len(profiles)
    assert all("/" not in name and 0 < len(name) < 60 and not name.startswith(".") for name in names)


def test_a_second_profile_is_another_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--map", "clique:3", "--years", "1", "--games", "2", "--iterations", "1", "--width", "4", "--layers", "1"]
    for profile in ("prosocial", "2*dove + 1*hold"):
        told = CliRunner().invoke(app, ["best-response", "--against", profile, *small, "--report-games", "2"])
        assert told.exit_code == 0, told.output
    assert len(list((tmp_path / "runs").iterdir())) == 2


# Commands.


@pytest.mark.parametrize("command", ["welfare", "standard", "best-response", "modal"])
def test_every_field_is_an_option(command: str) -> None:
    kind = ModalConfig if command == "modal" else TrainConfig
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
    names = {field.name for field in fields(kind)} - {"variant", "against", "also", "agents"}
    renamed = {"folder": "out", "map_name": "map", "lambda_": "lambda"}
    assert [name for name in names if f"--{renamed.get(name, name).replace('_', '-')} " not in shown] == []


def test_options_reach_the_training(tmp_path: Path) -> None:
    given = ["--map", "clique:3", "--years", "1", "--games", "2", "--iterations", "1", "--width", "4", "--layers", "1"]
    given += ["--gamma", "0.9", "--lambda", "0.8", "--clip", "0.1", "--league-every", "3", "--league-size", "2"]
    given += ["--horizon", "7", "--league-share", "0.5", "--coalition", "PLAYERB", "--out", str(tmp_path)]
    told = CliRunner().invoke(app, ["welfare", *given])
    assert told.exit_code == 0, told.output
    _, values = read_config(tmp_path)
    wanted = {"gamma": 0.9, "lambda_": 0.8, "clip": 0.1, "league_every": 3, "league_size": 2, "horizon": 7}
    assert wanted.items() <= values.items()
    assert values["coalition"] == "PLAYERB"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["modal", "--lr", "nan"], "--lr nan"),
        (["modal", "--lr", "900"], "--lr 900"),
        (["welfare", "--lr", "900"], "--lr 900"),
        (["welfare", "--games", "0"], "--games 0"),
        (["best-response", "--against", "program:FairBot", "--map", "clique:3"], "writes programs of modal_env"),
        (["best-response", "--against", "2*dove + 1*program:FairBot", "--map", "clique:3"], "writes programs"),
        (["best-response", "--against", "exploiter:nice=dove,attack=program:FairBot", "--map", "clique:3"], "program"),
        (["welfare", "--imitate", "mix:FairBot=1", "--map", "clique:3"], "writes programs of modal_env"),
        (["welfare", "--map", "clique:3", "--workers", "1", "--ray-address", "nonsense"], "--ray-address nonsense"),
        (
            ["welfare", "--map", "clique:3", "--workers", "1", "--ray-address", "localhost:1"],
            "--ray-address localhost:1",
        ),
        (["welfare", "--out", "file"], "folder cannot be made"),
        (["modal", "--out", "file"], "folder cannot be made"),
        (["curves", "folder", "--out", "x.foo"], "plot cannot be written"),
        (["resume", "nowhere"], "no training"),
        (["resume", "file"], "file"),
        (["resume", "folder"], "no training"),
    ],
)
def test_errors_are_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("folder").mkdir()
    Path("folder", "log.jsonl").write_text('{"iteration": 1, "play/return": 2.0}\n')
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


# Resuming and extending.


def logged(folder: Path) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


@pytest.mark.parametrize("changes", [{}, {"against": ("learner", "league"), "league_every": 1}])
def test_an_extended_training_ends_like_an_undisturbed_one(tmp_path: Path, changes: dict) -> None:
    config = replace(SMALL, held_out_every=2, **changes)
    train(replace(config, iterations=5, folder=tmp_path / "whole"))
    train(replace(config, iterations=3, folder=tmp_path / "parts"))
    path = training.resume(tmp_path / "parts", iterations=5)
    assert path == tmp_path / "parts" / "checkpoint"
    assert logged(tmp_path / "whole") == logged(tmp_path / "parts")
    for name in ("checkpoint", "best"):
        assert same(tmp_path / "whole" / name, tmp_path / "parts" / name)


def test_schedules_end_at_the_horizon() -> None:
    config = replace(SMALL, horizon=10, lr=0.1)
    play = play_of(config)
    learner = make_config(play, config).build_learner(spaces=_spaces(play))
    rates = []
    for iteration in (0, 5, 10, 11, 1000):
        _set_schedules(learner, iteration)
        rates.append(learner.get_optimizer(DEFAULT_MODULE_ID).param_groups[0]["lr"])
    assert rates == pytest.approx([0.1, 0.055, 0.01, 0.01, 0.01])


def test_resuming_needs_nothing_but_the_folder(tmp_path: Path) -> None:
    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(replace(SMALL, folder=tmp_path / "there"), stop)
    (tmp_path / "there").rename(tmp_path / "here")
    told = CliRunner().invoke(app, ["resume", str(tmp_path / "here")])
    assert told.exit_code == 0, told.output
    train(replace(SMALL, folder=tmp_path / "whole"))
    assert same(tmp_path / "whole" / "checkpoint", tmp_path / "here" / "checkpoint")


def test_a_modal_training_is_resumed_too(tmp_path: Path) -> None:
    training.train(ModalConfig("program:FairBot", games=8, iterations=2, folder=tmp_path))
    result = training.resume(tmp_path, iterations=4)
    assert len(result.history) == 4
    told = CliRunner().invoke(app, ["resume", str(tmp_path), "--iterations", "5"])
    assert told.stdout.startswith("policy: ")


@pytest.mark.parametrize(
    "content",
    ["", "5", "[]", "{", '{"kind": "wild"}', '{"kind": "board", "lr": "x"}', '{"kind": "board", "lrr": 1}', "{}"],
)
def test_a_damaged_config_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(TrainingError, match=r"config\.json|lr"):
        training.resume(tmp_path)


def test_fewer_iterations_than_there_are_is_refused(tmp_path: Path) -> None:
    train(replace(SMALL, folder=tmp_path))
    with pytest.raises(TrainingError, match="3 iterations: give as many or more"):
        training.resume(tmp_path, iterations=2)


# What is kept.


def test_the_best_iterate_is_kept_beside_the_last(tmp_path: Path) -> None:
    config = replace(SMALL, iterations=6, lr=0.5, held_out_every=1, folder=tmp_path)
    after: list[dict[str, np.ndarray]] = []
    train(replace(config, save_every=1), lambda progress: after.append(weights_of(tmp_path / "checkpoint")))
    reports = [line["held-out/return"] for line in logged(tmp_path)]
    best = int(np.argmax(reports))
    assert [line["held-out/best"] for line in logged(tmp_path)] == np.maximum.accumulate(reports).tolist()
    kept = weights_of(tmp_path / "best")
    assert all(np.array_equal(kept[name], after[best][name]) for name in kept)
    origin = parse_json((tmp_path / "best" / "checkpoint.json").read_bytes())["origin"]
    assert (origin["iterations"], origin["held_out"]) == (best + 1, reports[best])


def test_without_a_report_the_last_player_is_the_best(tmp_path: Path) -> None:
    """Until there is one: an extended training has the same best iterate as one that was never stopped."""
    config = replace(SMALL, iterations=3, held_out_every=4, folder=tmp_path / "short")
    train(config)
    assert same(tmp_path / "short" / "best", tmp_path / "short" / "checkpoint")
    train(replace(config, iterations=5))
    train(replace(config, iterations=5, folder=tmp_path / "whole"))
    assert same(tmp_path / "short" / "best", tmp_path / "whole" / "best")
    origin = parse_json((tmp_path / "short" / "best" / "checkpoint.json").read_bytes())["origin"]
    assert (origin["iterations"], "held_out" in origin) == (4, True)


def test_of_equal_reports_the_first_is_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = iter([1.0, 3.0, 3.0, 2.0])
    monkeypatch.setattr(HeldOut, "report", lambda *given: next(reports))
    train(replace(SMALL, iterations=4, held_out_every=1, folder=tmp_path))
    origin = parse_json((tmp_path / "best" / "checkpoint.json").read_bytes())["origin"]
    assert (origin["iterations"], origin["held_out"]) == (2, 3.0)


def test_held_out_games_leave_out_past_selves() -> None:
    asked = []

    def configured(play):
        asked.append(play.lineup.opponents)
        return make_config(play, SMALL)

    for opponents in (("league", "hold"), ("league",)):
        lineup = Lineup(((0,),), opponents, (0.5,) * len(opponents))
        HeldOut(replace(play_of(SMALL), lineup=lineup), 3, configured)
    assert asked == [("hold",), ("league",)]  # unless there is nobody else


def test_held_out_reports_change_nothing_in_the_training(tmp_path: Path) -> None:
    for name, every in (("with", 1), ("without", 0)):
        train(replace(SMALL, held_out_every=every, folder=tmp_path / name))
    assert same(tmp_path / "with" / "checkpoint", tmp_path / "without" / "checkpoint")


@pytest.mark.parametrize("damage", ["deleted", "cut", "exchanged"])
def test_checkpoints_are_written_again(tmp_path: Path, damage: str) -> None:
    config = replace(SMALL, held_out_every=1, folder=tmp_path)
    train(config)
    for name in ("checkpoint", "best"):
        shutil.copytree(tmp_path / name, tmp_path / f"{name}-before")
        match damage:
            case "deleted":
                shutil.rmtree(tmp_path / name)
            case "cut":
                (tmp_path / name / "weights.safetensors").write_bytes(b"")
            case "exchanged":
                shutil.rmtree(tmp_path / name)
                shutil.copytree(EARLIER / "training" / "checkpoint", tmp_path / name)
    train(config)
    for name in ("checkpoint", "best"):
        assert same(tmp_path / name, tmp_path / f"{name}-before")


# The identity.


def test_an_exchanged_opponent_is_another_opponent(tmp_path: Path) -> None:
    for number in range(2):
        train(replace(SMALL, seed=number, folder=tmp_path / str(number)))
    shutil.copytree(tmp_path / "0" / "checkpoint", tmp_path / "opponent")
    config = replace(SMALL, against=f"rl:{tmp_path / 'opponent'}", folder=tmp_path / "run")
    train(config)
    shutil.rmtree(tmp_path / "opponent")
    shutil.copytree(tmp_path / "1" / "checkpoint", tmp_path / "opponent")
    with pytest.raises(TrainingError, match="another training, with opponents="):
        train(replace(config, iterations=4))


def test_so_is_another_start(tmp_path: Path) -> None:
    for number in range(2):
        train(replace(SMALL, seed=number, folder=tmp_path / str(number)))
    shutil.copytree(tmp_path / "0" / "checkpoint", tmp_path / "given")
    config = replace(SMALL, start=tmp_path / "given", folder=tmp_path / "run")
    train(config)
    shutil.rmtree(tmp_path / "given")
    shutil.copytree(tmp_path / "1" / "checkpoint", tmp_path / "given")
    with pytest.raises(TrainingError, match="another training, with start="):
        train(config)


def test_a_start_that_is_gone_is_not_needed_to_resume(tmp_path: Path) -> None:
    train(replace(SMALL, folder=tmp_path / "one"))
    config = replace(SMALL, start=tmp_path / "one" / "checkpoint", folder=tmp_path / "run")
    train(config)
    shutil.rmtree(tmp_path / "one")
    train(replace(config, iterations=4))
    assert len(logged(tmp_path / "run")) == 4
    with pytest.raises(CheckpointError, match="mistyped: no checkpoint"):
        train(replace(config, iterations=4, start=tmp_path / "mistyped"))
    with pytest.raises(CheckpointError, match="no checkpoint"):
        train(replace(config, folder=tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_training_that_lost_its_start_still_knows_it(tmp_path: Path) -> None:
    for number in range(2):
        train(replace(SMALL, seed=number, folder=tmp_path / str(number)))
    config = replace(SMALL, start=tmp_path / "0" / "checkpoint", folder=tmp_path / "run")
    train(config)
    shutil.move(tmp_path / "0", tmp_path / "moved")
    train(replace(config, iterations=4))
    with pytest.raises(TrainingError, match=r"another training, with start='weights-.* where 'weights-"):
        train(replace(config, iterations=4, start=tmp_path / "1" / "checkpoint"))
    train(replace(config, iterations=5, start=tmp_path / "moved" / "checkpoint"))


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("other", r"other: no checkpoint, but the folder of a training; give .*other/checkpoint"),
        ("other/config.json", r"config.json: no checkpoint: it is a file, not a folder"),
        ("empty", r"empty: no checkpoint: checkpoint.json and weights.safetensors missing"),
        ("nowhere", r"nowhere: no checkpoint: checkpoint.json and weights.safetensors missing"),
    ],
)
def test_what_is_no_start_is_said_in_new_and_in_finished_trainings(tmp_path: Path, start: str, told: str) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("other", "run"):
        train(replace(SMALL, iterations=1, folder=tmp_path / name))
    for name in ("run", "new"):
        with pytest.raises(CheckpointError, match=told):
            train(replace(SMALL, start=tmp_path / start, folder=tmp_path / name))


def test_a_moved_opponent_is_the_same(tmp_path: Path) -> None:
    train(replace(SMALL, folder=tmp_path / "one"))
    shutil.copytree(tmp_path / "one" / "checkpoint", tmp_path / "two")
    config = replace(SMALL, folder=tmp_path / "run")
    train(replace(config, against=f"rl:{tmp_path / 'one' / 'checkpoint'}"))
    train(replace(config, against=f"rl:{tmp_path / 'two'}", iterations=4))
    assert len(logged(tmp_path / "run")) == 4


def test_training_from_python_prints_nothing(tmp_path: Path) -> None:
    code = "import training; training.train(training.TrainConfig(map_name='clique:3', years=1, games=2, iterations=1, "
    code += f"width=4, layers=1, folder={str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Folders of earlier versions.


def test_a_training_of_an_earlier_network_is_not_resumed(tmp_path: Path) -> None:
    """It says so, and nothing else; its checkpoint still plays."""
    shutil.copytree(EARLIER / "training", tmp_path / "run")
    with pytest.raises(TrainingError, match=r"another training, with network=1 where 2 is given: give another folder"):
        train(replace(SMALL, iterations=4, folder=tmp_path / "run"))


def test_a_checkpoint_of_an_earlier_network_is_no_beginning(tmp_path: Path) -> None:
    start = EARLIER / "checkpoint"
    with pytest.raises(CheckpointError, match=r"of format 1, which still plays but learns no more.*imitate"):
        train(replace(SMALL, start=start, folder=tmp_path / "run"))


def test_its_folder_alone_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(EARLIER / "training", tmp_path / "run")
    with pytest.raises(TrainingError, match="give its command again, with --out and with --horizon"):
        training.resume(tmp_path / "run")


def test_a_modal_training_of_version_0_1_is_resumed(tmp_path: Path) -> None:
    shutil.copytree(EARLIER / "modal-training", tmp_path / "run")
    result = training.train(ModalConfig("program:FairBot", games=8, iterations=6, folder=tmp_path / "run"))
    assert len(result.history) == 6
