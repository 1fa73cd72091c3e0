"""A warm start by imitation (behavioural cloning): a network learns to play as a scripted policy does.

In games with tokens it also learns the policy's words, unless the policy is always silent: a network that has learned
silence would never explore words, so then only orders are learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import welfare_env
from agents.rl.inputs import InputEncoder, Inputs, as_choices
from agents.rl.network import BoardNetwork
from agents.rl.token_press import Said, speakers
from training.board.learner import means
from training.board.modules import padded, rows
from training.board.opponents import Scripted
from training.board.runner import Play, by_decision, check_press, decisions
from training.board.tape import POSITION, VALUE_TARGETS, Tape, shuffled
from training.board.transcript import Transcript
from welfare_env.engine import YEAR


@dataclass(frozen=True)
class Lesson:
    """Decisions of a policy in all seats of some games.

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
        """The decisions about orders, without those about words; in games with tokens."""
        kept = self.observations[:, -2] == 0
        return Lesson(self.observations[kept], self.actions[kept], self.returns[kept], self.positions[kept])


def watch(
    play: Play, spec: str, games: int, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Lesson:
    """Play games with a policy in all seats, and record its decisions.

    Args:
        on_progress: called in every phase with how many years all games have finished, and of how many.
    """
    check_press(play.rules)
    env = welfare_env.vector_env(games, play.map_name, play.rules)
    reader = InputEncoder(env.board, play.rules)
    policy, powers = Scripted(spec, reader), len(env.board.powers)
    seats = np.array([(game, power) for game in range(games) for power in range(powers)])
    policy.begin(seats[:, 0], seats[:, 1], np.random.default_rng([play.seed, 1]).integers(2**31, size=len(seats)))
    env.reset()
    said, live = Said(env.board, play.rules, games), np.ones(games, np.bool_)
    tape, has_spoken = Tape(games, powers, play.reward_scale), False
    played = Transcript(env.board, play.rules)
    while live.any():
        legal, before = env.legal, env.rows.copy()
        played.turn(before)
        has_spoken |= _hear(policy, reader, played, live, said, tape)
        asked = by_decision(legal, np.flatnonzero(live[legal.games]))
        which, who = decisions(legal.games[asked], legal.powers[asked])
        heard = said.heard(which, who) if reader.message_rounds else None
        inputs = reader.select(before, legal, which, who, heard)
        answers = _noted(policy, reader, played, which, who, inputs, said, tape)
        chosen = np.full(len(legal), -1, np.int32)
        chosen[asked] = as_choices(answers, before[legal.games[asked]])
        played.add(legal, chosen, said)
        _, done = env.step(chosen)
        after = np.where(done[:, None], env.final, env.rows)
        tape.pay(play.reward.pay(env.board, play.rules, before, after) * live[:, None])
        live &= ~done
        finished = int(env.rows[live, YEAR].min()) if live.any() else play.rules.years
        on_progress(finished, play.rules.years)
    columns = tape.columns(gamma=1.0, lambda_=1.0)
    lesson = Lesson(columns["observations"], columns["actions"], columns[VALUE_TARGETS], columns[POSITION])
    return lesson if has_spoken or not reader.message_rounds else lesson.orders()


def _hear(
    policy: Scripted,
    reader: InputEncoder,
    played: Transcript,
    live: np.ndarray,
    said: Said,
    tape: Tape,
) -> bool:
    """Play the message rounds of a phase. Returns whether anything was said."""
    said.clear()
    which, who = np.nonzero(speakers(reader.board, played.states) & live[:, None])
    for message_round in range(1, 1 + reader.message_rounds if len(which) else 1):
        inputs = reader.words(played.states, which, who, said.heard(which, who), message_round)
        words = _noted(policy, reader, played, which, who, inputs, said, tape)
        said.say(message_round, which, who, words.reshape(len(which), -1))
    return bool(said.words.any())


def _noted(
    policy: Scripted,
    reader: InputEncoder,
    played: Transcript,
    games: np.ndarray,
    powers: np.ndarray,
    inputs: Inputs,
    said: Said,
    tape: Tape,
) -> np.ndarray:
    """A policy's answers int64 [R], which are recorded on the tape."""
    answers = policy.answer(played, games, powers, inputs, np.zeros(0), said)
    actions, logps = padded(inputs, answers, np.zeros(inputs.num_rows, np.float32), reader.slots)
    packed = reader.pack(played.states[games], powers, inputs.heard, inputs.rounds)
    tape.decide(games, powers, packed, actions, logps, np.zeros(len(games), np.float32))
    return answers


def imitate(
    network: BoardNetwork,
    reader: InputEncoder,
    lesson: Lesson,
    seed: int,
    epochs: int = 4,
    minibatch: int = 512,
    lr: float = 2e-3,
    on_progress: Callable[[int, int], None] = lambda step, steps: None,
) -> float:
    """Fit the network's orders to a lesson's, and its values to the lesson's returns.

    Args:
        on_progress: called after every step of the optimiser with its number, and how many there will be.

    Returns:
        The mean loss of the last epoch: the negative log probability of an order or a word.
    """
    rng, optimizer = np.random.default_rng([seed, 2]), torch.optim.Adam(network.parameters(), lr=lr)
    steps, total, losses = 0, epochs * math.ceil(len(lesson) / minibatch), [0.0]
    for _ in range(epochs):
        losses = []
        order = shuffled(rng, lesson.positions)
        for first in range(0, len(order), minibatch):
            picked = order[first : first + minibatch]
            inputs = reader.read(lesson.observations[picked])
            decision, slot = rows(inputs)
            judged = network.judge(inputs, lesson.actions[picked][decision, slot])
            orders = len(inputs.provinces)  # rows of words follow; both kinds have the same weight
            words = None if len(judged.logp) == orders else torch.arange(len(judged.logp)) >= orders
            loss = -means(judged.logp, words).sum()
            value_loss = (judged.values - torch.from_numpy(lesson.returns[picked])).square().mean()
            optimizer.zero_grad()
            (loss + 0.5 * value_loss).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            steps += 1
            on_progress(steps, total)
    return float(np.mean(losses))
