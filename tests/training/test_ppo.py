"""The training as a whole: it learns, repeats itself, and goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import typer
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from safetensors.numpy import load_file
from typer.testing import CliRunner

import agents
from agents.runtime import progress
from evaluation.exact.best_responses import best_response
from training.board import seat_gains
from training.board.config import TrainConfig, read_years
from training.board.learner import PPOLearner
from training.board.modules import ENTROPY, ROW_DECISION, ROW_SLOT
from training.board.ppo import _grown, make_config, play_of, train, years_at
from training.board.runner import BatchedEnvRunner
from training.board.sampling import HELD_OUT, HeldOut
from training.board.seat_gains import gains
from training.board.seats import Lineup, read_coalitions
from training.board.tape import ADVANTAGES, VALUE_TARGETS
from training.cli import console
from training.cli.commands import app
from training.errors import TrainingError
from training.files import saved_iterations

SMALL = TrainConfig(
    against=("prosocial",), map_name="clique:3", years=2, games=8, iterations=4, horizon=4, epochs=3, minibatch=64,
    width=8, layers=1, save_every=2,
)  # fmt: skip


def config_of(folder, iterations=4, **changes):
    return replace(SMALL, folder=Path(folder), iterations=iterations, horizon=iterations, **changes)


def weights_of(folder):
    return load_file(Path(folder) / "checkpoint" / "weights.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_a_best_response_to_prosocial_is_found(tmp_path):
    """Of the exact gain (evaluation.exact) in four years on three cores it finds most, and never more than that."""
    options = {"years": 4, "lr": 5e-3, "entropy": 0.05, "games": 64, "width": 16, "coalition": "PLAYERA"}
    config = config_of(tmp_path, 60, **options)
    path = train(config)
    found = gains(play_of(config), path, "prosocial", games=4)[0]
    wanted = best_response("clique:3", "prosocial", "PLAYERA", years=4)
    assert found.coalition == ("PLAYERA",)
    assert 0.6 * wanted.gain <= found.value * 4 <= wanted.gain + 1e-6
    assert found.low == found.value == found.high  # nothing is left to chance


def test_a_gain_is_the_least_members_against_its_own_seats_in_games_of_their_own(monkeypatch):
    """Members gain 2 and 1 a year; other seats have other points, with and without them."""
    asked = []

    def played(play, network):
        asked.append(play)
        points = np.array([10.0, 20.0, 100.0 * len(asked)])
        for member, gain in zip(play.lineup.coalitions[0], (4, 2), strict=False):
            points[member] += gain
        return [SimpleNamespace(points=tuple(points + game)) for game in range(play.num_games)]

    monkeypatch.setattr(seat_gains, "play_games", played)
    play = replace(play_of(SMALL), lineup=Lineup(((1, 0), (1,)), ("prosocial",), (1.0,)))
    found = gains(play, "any", "prosocial", games=5, seed=7)
    assert [(gain.coalition, gain.value, gain.games) for gain in found] == [
        (("PLAYERB", "PLAYERA"), 1.0, 5),
        (("PLAYERB",), 2.0, 5),
    ]
    assert all((gain.low + gain.high) / 2 == pytest.approx(gain.value, abs=0.1) for gain in found)
    assert [(gain.points, gain.profile_points) for gain in found] == [(10.0, 8.5), (13.0, 11.0)]
    assert [each.lineup.coalitions for each in asked] == [((),), ((1, 0),), ((1,),)]
    seeds = [each.seed for each in asked]
    others = [stream_of(7, number) for number in range(8) if number != 4]
    assert len({*seeds, *others, 7, play.seed}) == len(seeds) + len(others) + 2
    gains(play, "any", "prosocial", games=5, seed=7)
    gains(play, "any", "prosocial", games=5, seed=8)
    assert seeds == [each.seed for each in asked[3:6]]
    assert not {*seeds} & {each.seed for each in asked[6:]}


def stream_of(seed, number):
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def test_the_loss_is_ppos_with_a_bonus_for_entropy():
    """Three orders, in two decisions: of too high a gain the clipped one counts, of too great a loss the plain one."""
    ratio = torch.tensor([2.0, 2.0, 0.5])
    batch = {
        Columns.ACTION_LOGP: torch.zeros(2, 2),
        ADVANTAGES: torch.tensor([1.0, -1.0]),
        VALUE_TARGETS: torch.tensor([3.0, 0.0]),
    }
    out = {
        ROW_DECISION: torch.tensor([0, 1, 1]),
        ROW_SLOT: torch.tensor([0, 0, 1]),
        Columns.ACTION_LOGP: ratio.log(),
        Columns.VF_PREDS: torch.tensor([1.0, 0.0]),
        ENTROPY: torch.tensor([1.0, 2.0, 3.0]),
    }
    learner = SimpleNamespace(
        metrics=SimpleNamespace(log_dict=lambda *given, **named: None),
        entropy_coeff_schedulers_per_module={"it": SimpleNamespace(get_current_value=lambda: 0.5)},
    )
    config = SimpleNamespace(clip_param=0.2, vf_loss_coeff=0.25)
    loss = PPOLearner.compute_loss_for_module(learner, module_id="it", config=config, batch=batch, fwd_out=out)
    assert loss.item() == pytest.approx(-(1.2 - 2 - 0.8) / 3 + 0.25 * 4 / 2 - 0.5 * 2)


def test_held_out_games_are_not_those_of_the_training():
    asked = []

    def configured(play):
        asked.append(play)
        return make_config(play, SMALL)

    for seed in (0, 0, 1):
        HeldOut(replace(play_of(SMALL), seed=seed), 3, configured)
    assert asked[0].seed == asked[1].seed != asked[2].seed
    assert asked[0].num_games == 3
    assert asked[0].seed not in {0, 1, *(stream_of(0, number) for number in range(8) if number != HELD_OUT)}


def test_the_same_seed_gives_the_same_weights(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(config_of(tmp_path / name, seed=seed))
    assert same(weights_of(tmp_path / "a"), weights_of(tmp_path / "b"))
    assert not same(weights_of(tmp_path / "a"), weights_of(tmp_path / "c"))


@pytest.mark.parametrize(
    "changes", [{}, {"league_every": 1, "league_size": 2}, {"imitate": "random", "imitate_games": 4}]
)
def test_an_interrupted_training_ends_like_an_undisturbed_one(tmp_path, changes):
    opponents = ("league", "learner") if "league_every" in changes else ("prosocial",)
    whole = config_of(tmp_path / "whole", 6, against=opponents, held_out_every=2, **changes)
    parts = replace(whole, folder=tmp_path / "parts")
    train(whole)

    def cut(progress):
        if progress.iteration == 3:
            raise RuntimeError("as if killed, one iteration after the last save")

    with pytest.raises(RuntimeError):
        train(parts, cut)
    train(parts)
    assert same(weights_of(whole.folder), weights_of(parts.folder))
    logs = [[json.loads(line) for line in (o.folder / "log.jsonl").read_text().splitlines()] for o in (whole, parts)]
    for one, other in zip(*logs, strict=True):
        assert {k: v for k, v in one.items() if "time" not in k} == {k: v for k, v in other.items() if "time" not in k}


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_killed_process_goes_on(tmp_path, name):
    command = ["best-response", "--against", "prosocial", "--map", "clique:3", "--years", "2", "--iterations", "9"]
    command += ["--games", "6", "--save-every", "2", "--report-games", "2", "--width", "8", "--json"]
    start = [sys.executable, "-m", "training", *command, "--out", str(tmp_path / "parts")]
    log = tmp_path / "parts" / "log.jsonl"
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not (log.exists() and log.read_text().count("\n") >= 3):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        told = process.communicate(timeout=60)[1]
    if name == "SIGINT":
        assert process.returncode == 130
        assert "the same command resumes it" in told
    environment = {**os.environ, "COLUMNS": "200"}
    subprocess.run(start, check=True, capture_output=True, env=environment, timeout=120)
    told = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "whole")])
    assert told.exit_code == 0, told.output
    assert {gain["coalition"][0] for gain in json.loads(told.stdout)} == {"PLAYERA", "PLAYERB", "PLAYERC"}
    assert same(weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts"))


def test_another_training_in_the_folder_is_refused(tmp_path):
    train(config_of(tmp_path, 2))
    with pytest.raises(TrainingError, match=r"lr=0\.001 where 0\.5 is given"):
        train(config_of(tmp_path, 2, lr=0.5))


def test_a_start_from_a_checkpoint(tmp_path):
    path = train(config_of(tmp_path / "one", 2))
    train(config_of(tmp_path / "two", 2, start=path, lr=1e-9))
    one, two = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    assert all(np.allclose(one[name], two[name], rtol=0, atol=1e-7) for name in one)


def test_a_curriculum_shares_out_the_iterations(tmp_path):
    config = config_of(tmp_path, 6, years=3, curriculum="1,2")
    assert [years_at(config, iteration) for iteration in range(8)] == [1, 1, 2, 2, 3, 3, 3, 3]
    lengths = []
    train(config, lambda progress: lengths.append(progress.games[0].phases))
    assert lengths[0] < lengths[2] < lengths[4]


def test_in_every_stage_of_a_curriculum_the_learner_reads_what_the_player_saw(tmp_path):
    config = config_of(tmp_path, years=6)
    runner = BatchedEnvRunner(config=make_config(play_of(config), config), worker_index=0)
    runner.set_state({"years": 2})
    episodes = runner.sample()
    batch = {
        Columns.OBS: np.concatenate([episode.observations.data[:-1] for episode in episodes]),
        Columns.ACTIONS: np.concatenate([episode.actions.data for episode in episodes]),
    }
    judged = runner.module[DEFAULT_MODULE_ID].unwrapped()._forward_train(batch)
    stored = {
        name: np.concatenate([episode.extra_model_outputs[name].data for episode in episodes])
        for name in (Columns.ACTION_LOGP, Columns.VF_PREDS)
    }
    logp = stored[Columns.ACTION_LOGP][judged[ROW_DECISION], judged[ROW_SLOT]]
    assert np.allclose(judged[Columns.ACTION_LOGP].detach().numpy(), logp, atol=1e-4)
    assert np.allclose(judged[Columns.VF_PREDS].detach().numpy(), stored[Columns.VF_PREDS], atol=1e-5)


@pytest.mark.parametrize("most", [1, 2, 3, 16])
def test_the_league_keeps_its_newest_and_is_never_too_large(most):
    league = []
    for number in range(40):
        league = _grown(league, {"number": number}, most)
        assert league[-1] == {"number": number}
        assert len(league) <= most
        assert [self["number"] for self in league] == sorted(self["number"] for self in league)


def test_a_checkpoint_is_an_opponent(tmp_path):
    path = train(config_of(tmp_path / "one", 1))
    for spec in (f"rl:{path}", f"rl:{path},greedy=yes"):
        train(config_of(tmp_path / spec[-8:].replace("=", ""), 1, against=(spec,)))
    config = config_of(tmp_path, 1, against=(f"rl:{path},greedy=yes",))
    runner = BatchedEnvRunner(config=make_config(play_of(config), config), worker_index=0)
    assert runner._opponents[0].greedy


@pytest.mark.parametrize(("opponents", "greedy"), [(("learner",), False), (("prosocial", "league"), False)])
def test_self_play_is_played_as_it_was_trained(tmp_path, opponents, greedy):
    path = train(config_of(tmp_path, 1, against=opponents, league_every=1))
    assert agents.make(f"rl:{path}").greedy is greedy


@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 0},
        {"save_every": 0},
        {"lr": -1.0},
        {"lr": float("nan")},
        {"entropy": float("inf")},
        {"lambda_": 2.0},
        {"workers": 99},
        {"ray_address": "auto"},
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, changes):
    with pytest.raises(TrainingError, match=next(iter(changes))):
        train(config_of(tmp_path, **changes))
    assert not list(tmp_path.iterdir())


def test_imitation_gets_to_play_like_its_model(tmp_path):
    config = config_of(tmp_path, 1, imitate="prosocial", imitate_games=300, lr=1e-9, map_name="clique:4")
    path = train(config)
    result = gains(play_of(replace(config, games=4)), path, "prosocial", games=4)[0]
    assert result.value == 0  # prosocial uses no chance, so its imitation earns what it earns


def test_what_is_trained_can_be_played(tmp_path):
    path = train(config_of(tmp_path, 1))
    assert agents.make(f"rl:{path}").greedy  # nobody of those it learned against learns
    about = json.loads((path / "checkpoint.json").read_text())
    assert about["map"] == "clique:3"
    assert about["origin"]["iterations"] == 1
    assert len(about["origin"]["git"]) >= 7


@pytest.mark.parametrize("text", ["", "FRANCE,FRANCE", "PARIS", "A,B,C", "triples"])
def test_bad_coalitions(text):
    with pytest.raises(TrainingError, match="give singles, pairs, or some of A, B, C"):
        read_coalitions(text, ("A", "B", "C"))


def test_coalitions():
    assert read_coalitions("singles", ("A", "B", "C")) == ((0,), (1,), (2,))
    assert read_coalitions(" b,A", ("A", "B", "C")) == ((1, 0),)
    assert read_coalitions("pairs", ("A", "B", "C")) == ((0, 1), (0, 2), (1, 2))
    assert len(read_coalitions("triples", tuple("ABCDEFG"))) == 35


@pytest.mark.parametrize("text", ["x", "0", "3,11", "1,,2"])
def test_bad_curricula(text):
    with pytest.raises(TrainingError, match="whole numbers from 1 to 10"):
        read_years(text, 10)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["best-response", "--against", "nobody"], "unknown agent"),
        (["best-response", "--against", "prosocial", "--coalition", "ATLANTIS"], "coalition"),
        (["best-response", "--against", "learner"], "does not learn"),
        (["standard", "--reward", "money"], "reward"),
        (["standard", "--lr", "-1"], "lr"),
        (["standard", "--map", "nowhere"], "nowhere"),
        (["standard", "--start", "/nowhere"], "no checkpoint"),
        (["welfare", "--press", "text"], "press"),
        (["welfare", "--curriculum", "99"], "curriculum"),
        (["curves", "/nowhere"], "no log"),
        (["best-response", "--against", "prosocial", "--coalition", "FRANC"], "did you mean 'FRANCE'?"),
        (["best-response", "--against", "prosocial", "--coalition", "singel"], "did you mean 'singles'?"),
        (["best-response", "--against", "prosocail"], "did you mean 'prosocial'?"),
        (["welfare", "--seed", "9" * 30], "--seed 99"),
        (["welfare", "--games", "9" * 30], "--games 99"),
        (["welfare", "--iterations", "9" * 30], "--iterations 99"),
        (["welfare", "--years", "9" * 30], "--years 99"),
        (["welfare", "--width", "9" * 30], "--width 99"),
        (["welfare", "--layers", "9" * 30], "--layers 99"),
        (["welfare", "--workers", "9" * 30], "--workers 99"),
        (["welfare", "--lr", "nan"], "--lr nan"),
        (["welfare", "--entropy", "inf"], "--entropy inf"),
        (["welfare", "--reward", "inequity:nan,0"], "reward"),
        (["welfare", "--curriculum", "9" * 5000], "curriculum"),
        (["welfare", "--out", "/dev/null/x"], "folder cannot be made"),
        (["welfare", "--start", "y" * 5000], "no checkpoint"),
        (["modal", "--seed", "9" * 30], "--seed 99"),
        (["modal", "--games", "9" * 30], "--games 99"),
        (["modal", "--entropy", "inf"], "--entropy inf"),
        (["modal", "--lr", "inf"], "--lr inf"),
        (["modal", "--actions", "wishes"], "--actions wishes"),
        (["modal", "--out", "/dev/null/x"], "folder cannot be made"),
    ],
)
def test_errors_are_told_in_a_line(tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output


def test_curves(tmp_path):
    for seed in (0, 1):
        train(config_of(tmp_path / str(seed), 2, seed=seed))
    out = tmp_path / "curves.png"
    told = CliRunner().invoke(app, ["curves", str(tmp_path / "0"), str(tmp_path / "1"), "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert out.stat().st_size > 5000
    for name in ("curves.xyz", "nowhere/curves.png"):
        told = CliRunner().invoke(app, ["curves", str(tmp_path / "0"), "--out", str(tmp_path / name)])
        assert told.exit_code == 2
        assert "the plot cannot be written" in told.stderr


IMITATE = ["welfare", "--map", "clique:3", "--years", "2", "--games", "4", "--iterations", "2", "--save-every", "1"]
IMITATE += ["--minibatch", "64", "--width", "8", "--imitate", "dumbbot", "--imitate-games", "20", "--league-share", "0"]


@pytest.mark.parametrize(
    ("stage", "kept"),
    [
        ("watching dumbbot", "nothing is saved yet, the same command starts again"),
        ("imitating dumbbot", "nothing is saved yet, the same command starts again"),
        ("learning", "the training is saved after iteration 1, the same command resumes it"),
    ],
)
def test_an_interruption_tells_what_is_saved(tmp_path, monkeypatch, stage, kept):
    stages = []
    enter = console.Shown._enter

    def entered(self, what, *rest):
        if what == stage and stage not in stages:
            os.kill(os.getpid(), signal.SIGINT)
        stages.append(what)
        enter(self, what, *rest)

    monkeypatch.setattr(console.Shown, "_enter", entered)
    before = signal.getsignal(signal.SIGINT)
    told = CliRunner().invoke(app, [*IMITATE, "--out", str(tmp_path)])
    assert told.exit_code == 130
    assert told.stderr == f"interrupted: {kept}\n"
    assert signal.getsignal(signal.SIGINT) is before
    assert stages[-1] == stage  # nothing after it
    assert (tmp_path / "state.safetensors").exists() == (stage == "learning")
    if stage != "watching dumbbot":
        assert CliRunner().invoke(app, [*IMITATE, "--out", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize(
    ("opponents", "shares", "told"),
    [
        (("hold",), (float("nan"),), "the share of opponent 'hold'=nan"),
        (("hold",), (-1.0,), "the share of opponent 'hold'=-1"),
        (("hold", "dove"), (0.0, 0.0), "share above 0"),
    ],
)
def test_odd_shares_are_refused(opponents, shares, told):
    with pytest.raises(TrainingError, match=told):
        Lineup(((0,),), opponents, shares)


def test_a_hasty_interruption_tells_what_was_saved_before(tmp_path, monkeypatch):
    monkeypatch.setattr(console.Shown, "iteration", lambda self, told: (_ for _ in ()).throw(KeyboardInterrupt))
    assert saved_iterations(tmp_path) is None
    for content in (b"", b"12345678", b"\xff" * 50, (2).to_bytes(8, "little") + b"{}"):
        (tmp_path / "state.safetensors").write_bytes(content)
        assert saved_iterations(tmp_path) is None
    with pytest.raises(typer.Exit), console.training_shown(3, str, tmp_path) as shown:
        shown.iteration(None)


def test_long_commands_tell_how_far_they_are_where_nobody_looks_on(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.001)
    against = ["best-response", "--against", "prosocial", "--map", "clique:3", "--years", "2", "--games", "4"]
    small = ["--iterations", "2", "--width", "8", "--minibatch", "64", "--report-games", "4"]
    told = CliRunner().invoke(app, [*against, *small, "--imitate", "dumbbot", "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    for stage in (r"watching dumbbot: \d of 2 years", r"imitating dumbbot: \d+ of \d+ steps", r"of 2 iterations, 0:",
                  r"measuring: \d of 4 samples of games"):  # fmt: skip
        assert re.search(rf"^.*{stage}", told.stderr, re.M), (stage, told.stderr[-2000:])
    assert "iterations" not in told.stdout
