"""Playing the games of an iteration: in this process, or in Ray processes; and held-out games.

RLlib's own group of runners would drop the games of a process that dies, and give every process a seed of its own. Here
a piece of games is played again, and it does not matter by whom: the weights are the same with any number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.core.learner import Learner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from agents.runtime.ray_cluster import connect
from training.board.algorithm import make_config
from training.board.config import TrainConfig
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.board.seats import LEAGUE, LEARNER, Lineup
from training.errors import TrainingError

Weights = dict[str, np.ndarray]
Sample = tuple[list[SingleAgentEpisode], list[GameResult]]

HELD_OUT = 5  # random stream of held-out games; others: imitation 1 and 2, words (`research.learning.word_effects`) 6,
# additional networks 7
TRIES = 10  # of a piece whose process dies


class Runner(BatchedEnvRunner):
    """A runner whose samples are asked for with all that they depend on."""

    def play_all(self, state: dict[str, Any], explore: bool = True) -> Sample:
        """A whole sample."""
        self.set_state(state)
        episodes = self.sample(explore=explore)
        self.get_metrics()
        return episodes, self.take_results()

    def play_piece(self, state: dict[str, Any], number: int) -> Sample:
        """A piece of a sample."""
        self.set_state(state)
        return self.sample_piece(number, number), self.take_results()


@contextmanager
def sampling(play: Play, config: TrainConfig) -> Iterator[Callable[[dict[str, Any]], Sample]]:
    """Yields a function that plays the sample of a state (`state_of`), in Ray processes if there are `workers`.

    Raises:
        TrainingError: the cluster cannot be used.
    """
    made, workers = make_config(play, config), config.workers
    if not workers:
        yield Runner(config=made, worker_index=0).play_all
        return
    here: dict[str, Any] = {} if config.ray_address else {"num_cpus": workers, "object_store_memory": 200_000_000}
    ray = connect(config.ray_address, TrainingError, include_dashboard=False, **here)
    pools: Any = import_module("ray.util")

    actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=TRIES)(Runner)
    pool = pools.ActorPool([actor.remote(config=made, worker_index=0) for _ in range(workers)])

    def sample(state: dict[str, Any]) -> Sample:
        shared = ray.put(state)
        parts = list(pool.map(lambda runner, number: runner.play_piece.remote(shared, number), range(len(play.pieces))))
        return [each for episodes, _ in parts for each in episodes], [each for _, games in parts for each in games]

    try:
        yield sample
    finally:
        ray.shutdown()


def state_of(learner: Learner, iteration: int, league: list[Weights]) -> dict[str, Any]:
    """What the sample of an iteration depends on, besides the configuration."""
    state: dict[str, Any] = learner.get_state(components=COMPONENT_RL_MODULE)
    return state | {"samples": iteration, "league": league}


class HeldOut:
    """Plays held-out games, with the same seeds in every report and different from the training's.

    Orders are chosen as by the checkpoint: the most probable ones if no opponent learns, else sampled. Past selves are
    left out unless they are the only opponents, since they change between reports.
    """

    def __init__(self, play: Play, config: TrainConfig) -> None:
        (seed,) = np.random.SeedSequence([play.seed, HELD_OUT]).generate_state(1).tolist()
        self._greedy = play.lineup.is_fixed
        held_out = replace(play, lineup=_without_league(play.lineup), num_games=config.held_out_games, seed=seed)
        self._runner = Runner(config=make_config(held_out, config), worker_index=0)

    def report(self, learner: Learner, league: list[Weights]) -> float:
        """The mean return of the learner's seats, unscaled."""
        _, games = self._runner.play_all(state_of(learner, 0, league), explore=not self._greedy)
        return mean_return(games)


def mean_return(games: Sequence[GameResult], network: str = LEARNER) -> float:
    """The mean return of a network's seats, unscaled."""
    return float(np.mean([game.returns[power] for game in games for power in game.seats(network)]))


def _without_league(lineup: Lineup) -> Lineup:
    shares = dict(zip(lineup.opponents, lineup.shares, strict=True))
    rest = {opponent: share for opponent, share in shares.items() if opponent != LEAGUE}
    return replace(lineup, opponents=tuple(rest), shares=tuple(rest.values())) if rest else lineup
