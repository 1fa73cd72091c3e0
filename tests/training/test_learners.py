"""Several networks that learn in one training, each with a reward of its own."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns
from typer.testing import CliRunner

import training
from agents.rl import TRAINED
from agents.runtime.files import parse_json
from tests.training.small import learner_of, local_runner, logged, same, stop_after, weights_of
from training import TrainConfig, TrainingError
from training.board import ppo
from training.board.algorithm import play_of
from training.board.learner import Collate
from training.board.ppo import _improve, describe, train
from training.board.runner import BatchedEnvRunner, GameResult
from training.board.saving import all_weights, network_of
from training.board.seats import LEARNER, Lineup
from training.board.tape import ADVANTAGES
from training.cli.commands import app
from welfare_env.errors import WelfareEnvError

SMALL = TrainConfig(
    also=("cooperators=social",), against="cooperators", map_name="clique:3", years=2, games=6, iterations=4, horizon=4,
    epochs=3, minibatch=64, width=4, layers=1, save_every=2, held_out_every=1, held_out_games=4,
)  # fmt: skip
SINGLES = ((0,), (1,), (2,))


def runner_for(config: TrainConfig) -> BatchedEnvRunner:
    return local_runner(play_of(config), config)


# Configs.


@pytest.mark.parametrize(
    ("also", "against", "told"),
    [
        ("cooperators", "cooperators", "give NAME=REWARD, such as cooperators=social"),
        ("learner=social", "learner", "'learner' is the network in training itself"),
        ("league=social", "league", "'league' is the network's past selves"),
        ("dove=social", "dove", "'dove' is the name of a policy"),
        ("checkpoint=own", "checkpoint", "'checkpoint' is the name of a file"),
        ("cops=money", "cops", "also 'cops=money': reward 'money'"),
        (("cops=own", "cops=social"), "cops", "'cops' is given twice"),
        ("cops=own", "learner", r"'cops' never plays: give it seats \(--against cops\)"),
        ("cops=own", ("cops", "robers"), "unknown agent"),
        ("cops=own", "2*cop + 1*dove", "did you mean 'cops'"),
        ("cops=own", "1*cops + 2*(mix:cops=1/2,dove=1/2)", "'cops' learns: give the mix outside the profile"),
    ],
)
def test_networks_that_make_no_sense_are_refused(also, against, told) -> None:
    with pytest.raises(WelfareEnvError, match=told) as caught:
        TrainConfig(also=also, against=against)
    if "unknown agent" not in told and "did you mean" not in told:
        assert caught.type is TrainingError


def test_a_league_leaves_them_games() -> None:
    with pytest.raises(TrainingError, match="league_share=1"):
        replace(SMALL, league_share=1.0)
    assert replace(SMALL, league_share=0.5).lineup.opponents == ("cooperators", "league")


@pytest.mark.parametrize(
    ("against", "told"),
    [
        ("PLAYERA*cooperators + 2*dove", "'cooperators' never plays: it has no seat outside the coalitions"),
        ("2*cooperators + 2*dove", "seats for 4: give 3"),
        ("FRANCE*cooperators + 2*dove", "unknown power 'FRANCE'"),
    ],
)
def test_seats_that_nobody_can_have_are_told_before_any_game(tmp_path: Path, against, told) -> None:
    with pytest.raises(WelfareEnvError, match=told):
        train(replace(SMALL, against=against, coalition="PLAYERA", out=tmp_path / "run"))
    assert not list(tmp_path.iterdir())
    other = replace(SMALL, against="PLAYERA*cooperators + 2*dove", coalition="singles")
    assert other.lineup.players == ("cooperators", "dove")


# Who sits where.


def test_names_in_profiles_and_mixes() -> None:
    also = TrainConfig(also=("cops=social", "robbers=own"), against=("cops", "robbers")).rewards
    opponents = ("2*cops + 1*hold", "mix:robbers=1/2,learner=1/4,dove=1/4", "1*cops + 2*learner")
    lineup = Lineup(SINGLES, opponents, (1.0, 1.0, 1.0), also)
    assert lineup.players == ("cops", "hold", "robbers", "learner", "dove")
    assert not lineup.is_fixed
    seats, coalition, drawn = lineup.seats(np.random.default_rng(0), 3000, ("A", "B", "C"))
    assert all(seats[game, coalition[game]] == -1 for game in range(3000))
    kinds = [Counter(tuple(sorted(row)) for row in seats[drawn == number].tolist()) for number in range(3)]
    assert set(kinds[0]) == {(-1, 0, 0), (-1, 0, 1)}
    assert set(kinds[2]) == {(-1, -1, -1), (-1, -1, 0)}
    mixed = seats[drawn == 1]
    assert not {0, 1, 3} & set(mixed.ravel().tolist())
    assert abs((mixed == 2).sum() / (2 * len(mixed)) - 0.5) < 0.05
    others = np.sort(mixed, axis=1)[:, 1:]  # but one of -1, who learns
    assert abs((others[:, 0] == others[:, 1]).mean() - (1 / 4 + 1 / 16 + 1 / 16)) < 0.06  # each seat draws for itself


# Rewards.


def test_each_is_paid_by_its_own_reward() -> None:
    runner = runner_for(replace(SMALL, also=("cooperators=social", "cynics=score"), against=("cooperators", "cynics")))
    episodes, results = runner.sample(), runner.take_results()
    paid: dict[str, list[float]] = {}
    for episode in episodes:
        assert episode.module_id == episode.agent_id
        paid.setdefault(episode.agent_id, []).append(float(np.sum(episode.rewards.data)))
    assert set(paid) == {"learner", "cooperators", "cynics"}
    for result in results:
        assert {*result.learners, *result.also["cooperators"], *result.also["cynics"]} == {0, 1, 2}
        own, mean = result.points, np.mean(result.points)
        assert all(result.returns[power] == own[power] for power in result.learners)
        assert all(result.returns[power] == pytest.approx(mean) for power in result.also["cooperators"])
    for name in ("cooperators", "cynics"):
        wanted = [result.returns[power] for result in results for power in result.also[name]]
        assert sorted(paid[name]) == pytest.approx(sorted(wanted), abs=1e-5)


def test_same_rewards_and_weights_play_the_game_of_self_play() -> None:
    """Of two networks with the same weights nobody can tell which plays."""
    several = runner_for(replace(SMALL, also="cooperators=own"))
    several.networks["cooperators"].load_state_dict(several.networks[LEARNER].state_dict())
    alone = runner_for(replace(SMALL, also=(), against="learner"))
    episodes = [runner.sample() for runner in (several, alone)]
    games = [runner.take_results() for runner in (several, alone)]
    assert [game.returns for game in games[0]] == [game.returns for game in games[1]]
    rows = [sorted(map(tuple, np.concatenate([each.observations.data for each in mine]).tolist())) for mine in episodes]
    assert rows[0] == rows[1]


def test_what_is_logged_of_games() -> None:
    games = [
        GameResult((0,), (0,), "dove", (4.0, 1.0, 1.0), (3, 1, 1), (2.0, 5.0, 5.0), 10, {"cops": (1,)}),
        GameResult((0,), (0, 2), "hold", (0.0, 0.0, 8.0), (1, 1, 5), (1.0, 0.0, 6.0), 12, {"cops": (1,)}),
    ]
    assert describe(games) == {
        "play/return": 3, "play/points": 4, "play/centers": 3, "play/phases": 11, "against/dove": 2,
        "against/hold": 3.5, "play/cops/return": 2.5, "play/cops/points": 0.5, "play/cops/centers": 1,
    }  # fmt: skip


# Learning.


def test_each_network_has_a_batch_of_its_own() -> None:
    episodes = runner_for(SMALL).sample()
    batches = Collate(None, None)(episodes=episodes)
    assert set(batches) == {LEARNER, "cooperators"}
    for module_id, batch in batches.items():
        mine = [episode for episode in episodes if episode.module_id == module_id]
        assert len(batch[Columns.OBS]) == sum(map(len, mine))
        assert batch[ADVANTAGES].mean().item() == pytest.approx(0, abs=1e-5)
        assert batch[ADVANTAGES].std(correction=0).item() == pytest.approx(1, abs=1e-3)
        alone = Collate(None, None)(episodes=mine)[module_id]
        assert all(torch.equal(alone[name], batch[name]) for name in batch)


@pytest.mark.slow
def test_each_sees_its_own_decisions_as_often() -> None:
    """Once an epoch, though the learner has a third of the others' seats, and with the step size of the iteration."""
    config = replace(SMALL, games=48, against="cooperators", minibatch=16, epochs=2, horizon=10)
    learner, _ = learner_of(config)
    episodes, rates, update = runner_for(config).sample(), {}, learner.update

    def noted(**given):
        (name,) = {episode.module_id for episode in given["episodes"]}
        rates[name] = learner.get_optimizer(name).param_groups[0]["lr"]
        return update(**given)

    learner.update = noted
    _improve(learner, config, 5, episodes)
    for name in (LEARNER, "cooperators"):
        decisions = sum(len(episode) for episode in episodes if episode.module_id == name)
        (steps,) = {int(memory["step"]) for memory in learner.get_optimizer(name).state.values()}
        assert abs(steps - 2 * decisions / 16) <= 1
        assert rates[name] == pytest.approx(0.55 * config.lr)


def test_networks_begin_differently_and_the_learner_as_it_does_alone() -> None:
    begun = all_weights(*learner_of(replace(SMALL, also=("a=own", "b=own"), against=("a", "b"))))
    assert not any(same(begun[one], begun[other]) for one, other in ((LEARNER, "a"), (LEARNER, "b"), ("a", "b")))
    assert same(begun[LEARNER], all_weights(*learner_of(replace(SMALL, also=(), against="dove")))[LEARNER])


# What is kept.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    """An undisturbed training, and the weights of all after each iteration."""
    folder, after = tmp_path_factory.mktemp("whole"), []

    def note(progress) -> None:
        after.append({name: weights_of(folder, name) for name in ("checkpoint", "cooperators")})

    train(replace(SMALL, lr=0.05, save_every=1, out=folder), note)
    return folder, after


NAMES = ("checkpoint", "cooperators", "best", "best-cooperators")


def test_with_the_best_iterate_are_the_others_that_it_met(whole) -> None:
    folder, after = whole
    best = int(np.argmax([line["held-out/return"] for line in logged(folder)]))
    assert same(weights_of(folder, "best"), after[best]["checkpoint"])
    assert same(weights_of(folder, "best-cooperators"), after[best]["cooperators"])


@pytest.mark.parametrize("damage", ["deleted", "cut", "exchanged"])
def test_checkpoints_are_written_again(tmp_path: Path, whole, damage: str) -> None:
    copied = shutil.copytree(whole[0], tmp_path / "run")
    for name in NAMES:
        if damage == "cut":
            (copied / name / "weights.safetensors").write_bytes(b"")
        else:
            shutil.rmtree(copied / name)
        if damage == "exchanged":
            shutil.copytree(TRAINED / "attacker", copied / name)
    training.resume(copied)
    assert all(same(weights_of(copied, name), weights_of(whole[0], name)) for name in NAMES)


@pytest.mark.slow
def test_imitation_and_start_are_the_learners(tmp_path: Path, whole) -> None:
    """The others begin as they would without; a training that stopped after the imitation goes on."""
    start = whole[0] / "checkpoint"
    config = replace(SMALL, imitate="random", imitate_games=4, start=start, lr=1e-9, iterations=1, out=tmp_path)
    with pytest.raises(RuntimeError):
        train(replace(config, iterations=3), stop_after(1, RuntimeError))
    train(config)
    plain = all_weights(*learner_of(SMALL))
    for name, module_id, is_same in (("checkpoint", LEARNER, False), ("cooperators", "cooperators", True)):
        now, begun = weights_of(tmp_path, name), plain[module_id]
        assert all(np.allclose(now[key], begun[key], rtol=0, atol=1e-6) for key in now) is is_same


def test_weights_that_are_no_numbers_are_refused_whosever_they_are(tmp_path: Path, monkeypatch) -> None:
    def diverged(learner, *rest):
        network_of(learner, "cooperators").place.data += torch.nan
        return {}

    monkeypatch.setattr(ppo, "_improve", diverged)
    with pytest.raises(TrainingError):
        train(replace(SMALL, out=tmp_path))


# Commands.


ARGUMENTS = ["welfare", "--map", "clique:3", "--years", "1", "--games", "4", "--iterations", "2", "--width", "4"]
ARGUMENTS += ["--layers", "1", "--press", "tokens", "--also", "cooperators=social", "--also", "robbers=own"]
ARGUMENTS += ["--against", "cooperators", "--against", "2*robbers + 1*dove"]


def test_the_command(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, [*ARGUMENTS, "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    for name in ("cooperators", "robbers"):
        assert f"{name}: rl:{tmp_path / name}" in told.stderr
        assert (tmp_path / name / "checkpoint.json").exists()
        assert f"learn/{name}/word_entropy" in logged(tmp_path)[-1]
    assert parse_json((tmp_path / "config.json").read_bytes())["league_share"] == 0  # nobody asked for one
    assert CliRunner().invoke(app, ["resume", str(tmp_path), "--iterations", "3"]).exit_code == 0
