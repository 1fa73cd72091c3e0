"""Playing the games of an iteration: in this process, or in Ray processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.core.learner import Learner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from agents.runtime.ray_cluster import connect
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.board.seats import LEAGUE, Lineup
from training.board.tape import POSITION
from training.errors import TrainingError

Weights = dict[str, np.ndarray]
Configure = Callable[[Play], Any]  # games -> RLlib's configuration of a runner

HELD_OUT = 5  # random stream of held-out games; others: imitation 1 and 2, gains 3 and 4, words
# (`research.learning.word_effects`) 6, additional networks 7


class Sampler:
    """Plays an iteration's games, divided among runners.

    Args:
        configure: makes RLlib's configuration of a runner.
        workers: Ray processes; 0 plays in this process. ray: the connected module, if there are workers.
    """

    def __init__(self, play: Play, configure: Configure, workers: int, ray: Any = None) -> None:
        count = max(1, workers)
        games = [play.num_games // count + (number < play.num_games % count) for number in range(count)]
        configs = [configure(replace(play, num_games=each)) for each in games]
        self._ray = ray
        if ray is None:
            self._runner = BatchedEnvRunner(config=configs[0], worker_index=0)
        else:
            actor = ray.remote(num_cpus=1)(BatchedEnvRunner)
            self._actors = [actor.remote(config=each, worker_index=1 + at) for at, each in enumerate(configs)]

    def sample(
        self, learner: Learner, iteration: int, league: list[Weights], years: int
    ) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
        """Play an iteration's games with the learners' current weights; returns episodes and results."""
        sent = _state(learner, iteration, league, years)
        if self._ray is None:
            return _play(self._runner, sent)
        shared = self._ray.put(sent)
        asked = [actor.apply.remote(_play, shared) for actor in self._actors]
        parts = self._ray.get(asked)
        episodes = [episode for played, _ in parts for episode in played]
        number_apart([played for played, _ in parts])
        return episodes, [game for _, games in parts for game in games]


def number_apart(parts: list[list[SingleAgentEpisode]]) -> None:
    """Renumber positions across samples, in place, so that they are unique; each sample's numbers begin at 0."""
    start = 0
    for episodes in parts:
        columns = [episode.extra_model_outputs[POSITION] for episode in episodes]
        numbers = [np.asarray(column.data) for column in columns]
        for column, each in zip(columns, numbers, strict=True):
            column.data = each + start
        start += 1 + max((int(each.max(initial=-1)) for each in numbers), default=-1)


class HeldOut:
    """Plays held-out games, with the same seeds in every report and different from the training's.

    Orders are chosen as by the checkpoint: the most probable ones if no opponent learns, else sampled. Past selves are
    left out unless they are the only opponents, since they change between reports.
    """

    def __init__(self, play: Play, games: int, configure: Configure) -> None:
        (seed,) = np.random.SeedSequence([play.seed, HELD_OUT]).generate_state(1).tolist()
        self._greedy, self._years = play.lineup.is_fixed, play.rules.years
        held_out = replace(play, lineup=_without_league(play.lineup), num_games=games, seed=seed)
        self._runner = BatchedEnvRunner(config=configure(held_out), worker_index=0)

    def report(self, learner: Learner, league: list[Weights]) -> float:
        """The mean return of the learner's seats."""
        _, games = _play(self._runner, _state(learner, 0, league, self._years), explore=not self._greedy)
        return mean_return(games)


def mean_return(games: Sequence[GameResult]) -> float:
    """The mean return of the learner's seats, unscaled."""
    return float(np.mean([game.returns[power] for game in games for power in game.learners]))


def _without_league(lineup: Lineup) -> Lineup:
    rest = {
        opponent: share for opponent, share in zip(lineup.opponents, lineup.shares, strict=True) if opponent != LEAGUE
    }
    return replace(lineup, opponents=tuple(rest), shares=tuple(rest.values())) if rest else lineup


def _state(learner: Learner, iteration: int, league: list[Weights], years: int) -> dict[str, Any]:
    state = learner.get_state(components=COMPONENT_RL_MODULE)
    return state | {"samples": iteration, "league": league, "years": years}


def _play(
    runner: BatchedEnvRunner, sent: Any, explore: bool = True
) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
    runner.set_state(sent)
    episodes = runner.sample(explore=explore)
    runner.get_metrics()
    return episodes, runner.take_results()


@contextmanager
def sampling(play: Play, configure: Configure, workers: int, ray_address: str | None) -> Iterator[Sampler]:
    """A sampler, with the Ray processes that it needs.

    Raises:
        TrainingError: the cluster cannot be used.
    """
    if not workers:
        yield Sampler(play, configure, 0)
        return
    here: dict[str, Any] = {} if ray_address else {"num_cpus": workers, "object_store_memory": 200_000_000}
    ray = connect(ray_address, TrainingError, include_dashboard=False, **here)
    try:
        yield Sampler(play, configure, workers, ray)
    finally:
        ray.shutdown()
