"""A warm start by imitation (behavioral cloning): a network learns to imitate a policy in the learning seats, against
the opponents of the training; in self-play, in all seats.

In games with tokens it also learns the policy's words, unless the policy is always silent: a network that has learned
silence would never explore words, so then it learns only orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from agents.rl.inputs import InputEncoder
from agents.rl.network import BoardNetwork
from training.board.algorithm import make_config
from training.board.config import TrainConfig
from training.board.learner import means_by_kind
from training.board.modules import rows
from training.board.opponents import fixed_opponent
from training.board.runner import BatchedEnvRunner, Play
from training.board.seats import LEARNER, Lineup
from training.board.tape import POSITION, VALUE_TARGETS, shuffled

EPOCHS, LEAST_STEPS = 4, 500  # minimum numbers of epochs and of optimizer steps


@dataclass(frozen=True)
class Lesson:
    """Decisions of a policy in some games.

    Attributes:
        observations: int32 [n, size], packed. actions: int64 [n, slots]. returns: float32 [n], scaled rewards from the
            decision on. positions: int64 [n], a number for each position (`training.board.tape.shuffled`).
    """

    observations: np.ndarray
    actions: np.ndarray
    returns: np.ndarray
    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.returns)


def watch(
    play: Play, spec: str, games: int, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Lesson:
    """Play games with a policy in the learning seats, one instance per seat, and record its decisions.

    If any opponent learns, too (self-play, a league), the policy plays all seats, and always those that opponents with
    its own spec have.

    Args:
        on_progress: called with the games finished, and all games.
    """
    lineup = Lineup(play.lineup.coalitions, (LEARNER,), (1.0,))
    if play.lineup.is_fixed:
        opponents = tuple(LEARNER if text == spec else text for text in play.lineup.opponents)
        lineup = replace(play.lineup, opponents=opponents)
    seed = int(np.random.SeedSequence([play.seed, 1]).generate_state(1)[0])
    watched = replace(play, lineup=lineup, num_games=games, seed=seed)
    runner = BatchedEnvRunner(config=make_config(watched, TrainConfig(gamma=1, lambda_=1)), worker_index=0)
    runner.teacher = fixed_opponent(spec, runner.reader)
    runner.make_env()
    episodes, done = [], 0
    for number, count in enumerate(watched.pieces):
        episodes += runner.sample_piece(number, number)
        done += count
        on_progress(done, games)
    outputs = [episode.extra_model_outputs for episode in episodes]
    observations = np.concatenate([episode.observations.data[:-1] for episode in episodes])
    actions = np.concatenate([episode.actions.data for episode in episodes])
    columns = [np.concatenate([each[name].data for each in outputs]) for name in (VALUE_TARGETS, POSITION)]
    is_word = observations[:, -2] > 0 if runner.reader.message_rounds else np.zeros(len(actions), np.bool_)
    kept = ~is_word | actions[is_word].any()
    if not kept.all():  # a copy only if it is needed
        observations, actions = observations[kept], actions[kept]
        columns = [column[kept] for column in columns]
    return Lesson(observations, actions, *columns)


def imitate(
    network: BoardNetwork,
    reader: InputEncoder,
    lesson: Lesson,
    seed: int,
    minibatch: int = 512,
    lr: float = 2e-3,
    on_progress: Callable[[int, int], None] = lambda step, steps: None,
) -> float:
    """Fit the network's orders to the decisions of a lesson, and its values to the returns.

    It takes 4 passes over the lesson, or more for a small lesson, to reach `LEAST_STEPS` steps.

    Args:
        on_progress: called after every optimizer step with its number and the number of all steps.

    Returns:
        The mean loss of the last epoch: the negative log probability of an order or a word.
    """
    rng, optimizer = np.random.default_rng([seed, 2]), torch.optim.Adam(network.parameters(), lr=lr)
    steps_of_epoch = math.ceil(len(lesson) / minibatch)
    epochs = max(EPOCHS, math.ceil(LEAST_STEPS / max(1, steps_of_epoch)))
    steps, losses = 0, [0.0]
    for _ in range(epochs):
        losses = []
        order = shuffled(rng, lesson.positions)
        for first in range(0, len(order), minibatch):
            picked = order[first : first + minibatch]
            inputs = reader.read(lesson.observations[picked])
            decision, slot = rows(inputs)
            judged = network.judge(inputs, lesson.actions[picked][decision, slot])
            orders = len(inputs.provinces)  # rows of words follow these; orders and words have equal weight
            words = None if len(judged.logp) == orders else torch.arange(len(judged.logp)) >= orders
            loss = -means_by_kind(judged.logp, words).sum()
            value_loss = (judged.values - torch.from_numpy(lesson.returns[picked])).square().mean()
            optimizer.zero_grad()
            (loss + 0.5 * value_loss).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            steps += 1
            on_progress(steps, epochs * steps_of_epoch)
    return float(np.mean(losses))
