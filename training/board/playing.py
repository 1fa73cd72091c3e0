"""Games of trained networks in batches, for measuring them."""

from __future__ import annotations

from collections.abc import Mapping

from agents.rl.checkpoint import Checkpoint
from training.board.algorithm import make_config
from training.board.config import TrainConfig
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.errors import TrainingError
from training.rllib import quiet


def play_games(play: Play, networks: Mapping[str, Checkpoint] | None = None, greedy: bool = True) -> list[GameResult]:
    """Play a sample.

    Args:
        networks: the checkpoints that play the seats of learners, by the learner's name in the lineup.
        greedy: whether they take their most probable orders; otherwise they sample.
    """
    runner = runner_of(play, networks)
    runner.sample(explore=not greedy)
    return runner.take_results()


@quiet()
def runner_of(play: Play, networks: Mapping[str, Checkpoint] | None = None) -> BatchedEnvRunner:
    """A runner in which checkpoints play the seats of learners; arguments as of `play_games`.

    Raises:
        TrainingError: the checkpoint of an additional network is missing.
    """
    given = dict(networks or {})
    if missing := sorted(set(play.lineup.also) - set(given)):
        raise TrainingError(f"also: give the checkpoints of {', '.join(missing)}, which play in these games")
    runner = BatchedEnvRunner(config=make_config(play, TrainConfig()), worker_index=0)
    runner.networks |= {name: each.network_for(runner.board, runner.rules) for name, each in given.items()}
    return runner
