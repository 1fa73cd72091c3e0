"""A warm start by imitation (behavioral cloning): a network learns to imitate a policy in the learning seats, against
the opponents of the training; in self-play, in all seats.

In games with tokens it also learns the policy's words, unless the policy is always silent: a network that has learned
silence would never explore words, so then it learns only orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import agents
from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork
from training.board.games import GameBatch
from training.board.learner import means_by_kind
from training.board.modules import padded, rows
from training.board.opponents import Scripted, fixed_opponent
from training.board.runner import Play
from training.board.tape import POSITION, VALUE_TARGETS, Tape, shuffled
from welfare_env.board.loading import load_board
from welfare_env.engine import YEAR

EPOCHS, LEAST_STEPS = 4, 500  # minimum numbers of epochs and of optimizer steps
IMITATED = -1  # player number of imitated seats; the runner uses it for the learner


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

    def orders(self) -> Lesson:
        """Only the decisions about orders, without those about words; for games with tokens."""
        kept = self.observations[:, -2] == 0
        return Lesson(self.observations[kept], self.actions[kept], self.returns[kept], self.positions[kept])


def watch(
    play: Play, spec: str, games: int, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Lesson:
    """Play games with a policy in the learning seats, one instance per seat, and record its decisions.

    If any opponent learns, too (self-play, a league), the policy plays all seats.

    Args:
        on_progress: called after every phase with the years that all games have finished, and the years of a game.
    """
    reader = InputEncoder(load_board(play.map_name), play.rules)
    batch = GameBatch(play.map_name, play.rules, games, reader)
    rng, powers = np.random.default_rng([play.seed, 1]), reader.board.powers
    seeds = rng.integers(2**31, size=(games, len(powers)))
    seats, specs = _seating(play, spec, games, rng)
    players = {number: fixed_opponent(each, reader) for number, each in specs.items()}
    if isinstance(imitated := players[IMITATED], Scripted):
        imitated.meet(lambda game, power: agents.make(specs[seats[game, powers.index(power)].item()]))
    for number, player in players.items():
        games_of, powers_of = np.nonzero(seats == number)
        player.begin(games_of, powers_of, seeds[games_of, 0])  # one seed per game, so that players can coordinate
    tape, has_spoken = Tape(games, len(powers), play.reward_scale), False
    which_games, which_powers = np.nonzero(seats == IMITATED)

    def answer(number: int, which: np.ndarray, who: np.ndarray, inputs: Inputs, chances: np.ndarray) -> np.ndarray:
        """The players' answers; the imitated policy's answers are recorded."""
        answers = players[number].answer(batch.transcript, which, who, inputs, chances, batch.said)
        if number == IMITATED:
            actions, logps = padded(inputs, answers, np.zeros(inputs.num_rows, np.float32), reader.slots)
            packed = reader.pack(batch.env.rows[which], who, inputs.heard, inputs.rounds)
            tape.decide(which, who, packed, actions, logps, np.zeros(len(which), np.float32))
        return answers

    for before, after, ended in batch.phases(seats, answer, rng.random):
        has_spoken |= bool(batch.said.words[which_games, :, which_powers].any())
        tape.pay(play.reward.pay(reader.board, play.rules, before, after) * batch.live[:, None])
        live = batch.live & ~ended
        on_progress(int(batch.env.rows[live, YEAR].min()) if live.any() else play.rules.years, play.rules.years)
    columns = tape.columns(gamma=1.0, lambda_=1.0)
    lesson = Lesson(columns["observations"], columns["actions"], columns[VALUE_TARGETS], columns[POSITION])
    return lesson if has_spoken or not reader.message_rounds else lesson.orders()


def _seating(play: Play, spec: str, games: int, rng: np.random.Generator) -> tuple[np.ndarray, dict[int, str]]:
    """The player number of each seat, int64 [games, powers], and the spec of each number. Opponents with the imitated
    policy's spec are imitated, too.
    """
    powers = load_board(play.map_name).powers
    if not play.lineup.is_fixed:
        return np.full((games, len(powers)), IMITATED), {IMITATED: spec}
    seats, _, _ = play.lineup.seats(rng, games, powers)
    specs = {number: player for number, player in enumerate(play.lineup.players) if player != spec}
    seats[~np.isin(seats, list(specs))] = IMITATED
    return seats, {IMITATED: spec, **specs}


def imitate(
    network: BoardNetwork,
    reader: InputEncoder,
    lesson: Lesson,
    seed: int,
    epochs: int | None = None,
    minibatch: int = 512,
    lr: float = 2e-3,
    on_progress: Callable[[int, int], None] = lambda step, steps: None,
) -> float:
    """Fit the network's orders to the decisions of a lesson, and its values to the returns.

    Args:
        epochs: passes over the lesson; by default 4, or more for a small lesson, to reach `LEAST_STEPS` steps.
        on_progress: called after every optimizer step with its number and the number of all steps.

    Returns:
        The mean loss of the last epoch: the negative log probability of an order or a word.
    """
    rng, optimizer = np.random.default_rng([seed, 2]), torch.optim.Adam(network.parameters(), lr=lr)
    steps_of_epoch = math.ceil(len(lesson) / minibatch)
    epochs = epochs or max(EPOCHS, math.ceil(LEAST_STEPS / max(1, steps_of_epoch)))
    steps, total, losses = 0, epochs * steps_of_epoch, [0.0]
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
            on_progress(steps, total)
    return float(np.mean(losses))
