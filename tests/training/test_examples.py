"""The examples and the benchmark for people who bring their own algorithm."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import ray
import torch

import training
from benchmarks import training as benchmark
from tests.examples import example


@pytest.fixture(scope="module")
def cleanrl() -> ModuleType:
    return example("cleanrl_ppo")


@pytest.mark.slow
def test_the_single_file_learns_and_repeats_itself(cleanrl, capsys):
    args = cleanrl.Args("clique:3", years=2, num_games=16, phases=14, iterations=5, minibatch=128, lr=5e-3)
    curve = cleanrl.train(args)
    assert curve[-1] > curve[0] + 0.5
    first = capsys.readouterr().out
    cleanrl.train(args)
    assert capsys.readouterr().out == first


def test_the_single_file_is_short(cleanrl):
    assert len(Path(cleanrl.__file__).read_text().splitlines()) <= 250


@pytest.mark.parametrize(
    ("phases", "values", "end", "lambda_", "wanted"),
    [
        ([0, 2], [0.5, 0.25], None, 1.0, [31 - 0.5, 28 - 0.25]),
        ([0, 2], [0.5, 0.25], None, 0.0, [3 + 0.25 - 0.5, 28 - 0.25]),
        ([0, 3], [0.0, 0.0], 1, 1.0, [3, 24]),
    ],
)
def test_a_decision_is_paid_until_the_next_one_and_not_for_the_next_game(cleanrl, phases, values, end, lambda_, wanted):
    rewards = np.array([1, 2, 4, 8], np.float32).reshape(4, 1, 1)
    ends, ahead = (np.arange(4) == end).reshape(4, 1), np.full((1, 1), 16, np.float32)
    where, nothing = np.stack([phases, [0, 0], [0, 0]]), np.zeros((2, 1))  # decisions of one power in one game
    notes = cleanrl.Decisions(where, nothing, nothing, nothing, np.array(values, np.float32))
    assert cleanrl.advantages(notes, rewards, ends, ahead, 1.0, lambda_).tolist() == wanted


@pytest.mark.slow
def test_rllibs_example_trains_exports_measures_and_repeats_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed = []
    for _ in range(2):
        ray.shutdown()
        training.register()  # `ray.shutdown` forgets names
        example("rllib_stock").main(map_name="clique:3", years=1, iterations=1)
        printed.append(capsys.readouterr().out)
    one, other = printed
    assert one == other
    assert one.count("return") == 1
    assert "exploitability, points a year" in one


@pytest.mark.slow
def test_rllib_writes_programs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ray.shutdown()
    training.register()
    example("modal_rllib").main(iterations=1, batch=100)
    assert "mean payoff" in capsys.readouterr().out
    assert (tmp_path / "runs" / "modal-rllib" / "checkpoint.json").exists()


@pytest.mark.slow
def test_both_runners_of_the_benchmark_play_the_same_game():
    """The most probable orders throughout: RLlib's runner and ours come to the same returns and decide as often."""
    chosen = benchmark.config_of("clique:3", years=4, games=2)
    play = benchmark.play_of(chosen)
    ours, theirs = benchmark.batched(chosen), benchmark.stock(play, 1)
    benchmark.check_equal(ours.networks["learner"], theirs.module[benchmark.SHARED].unwrapped().network)
    episodes = ours.sample(explore=False)
    (episode,) = theirs.sample(num_episodes=1, explore=False)
    assert benchmark.steps(episodes) == 2 * benchmark.steps(list(episode.agent_episodes.values()))
    returns = [play.reward_scale * value for value in ours.take_results()[0].returns]
    powers = list(ours.board.powers)
    assert [episode.agent_episodes[power].get_return() for power in powers] == pytest.approx(returns)


def test_the_benchmark_refuses_other_networks():
    one, two = (benchmark.batched(benchmark.config_of("clique:3", 1, 1)).networks["learner"] for _ in range(2))
    with torch.no_grad():
        two.place += 1
    with pytest.raises(SystemExit, match="differ"):
        benchmark.check_equal(one, two)
