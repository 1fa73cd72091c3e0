"""Initializing a best response: a network imitates the exact best response in every seat before it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint, CheckpointError
from agents.rl.inputs import InputEncoder
from agents.rl.network import BoardNetwork, Size, one_thread
from training.board.imitation import Lesson, imitate
from training.board.modules import padded
from training.board.runner import Play
from training.population.config import PopulationConfig
from welfare_env.board.loading import load_board
from welfare_env.board.orders import DISBAND, WAIVE
from welfare_env.engine import State, layout_of
from welfare_env.rules import Rules

Plans = Mapping[str, tuple[tuple[np.ndarray, tuple[int, ...], float], ...]]
"""Power -> positions, orders and future points (`evaluation.exact.BestResponse.plan`)."""

STEPS = 500  # optimizer steps
MINIBATCH = 64


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a complete checkpoint."""
    try:
        checkpoint.load(folder)
    except CheckpointError:
        return False
    return True


def imitate_plans(config: PopulationConfig, step: int, plans: Plans, folder: Path) -> None:
    """Write a checkpoint that imitates the plans' orders.

    Args:
        step: number of the response, for the seed.
        plans: the plans to imitate.

    Raises:
        CheckpointError: the checkpoint cannot be written.
    """
    board, rules = load_board(config.map_name), Rules(press=None, years=config.years)
    reader, size = InputEncoder(board, rules, sees_points=False), Size(config.width, config.layers)
    seed = (config.seed * 1000 + step) % 2**32
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = BoardNetwork(board, size)
    network.forget_points()
    found = lesson(reader, plans)
    epochs = max(1, STEPS * MINIBATCH // max(1, len(found)))
    with one_thread():
        loss = imitate(network, reader, found, seed, epochs=epochs, minibatch=MINIBATCH, lr=5e-3)
    weights = {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}
    origin = {"imitated": "exact best response", "decisions": len(found), "loss": loss, "seed": seed}
    words = checkpoint.vocabulary(board)
    checkpoint.save(folder, Checkpoint(weights, size, board.name, rules, words, origin, greedy=True))


def lesson(reader: InputEncoder, plans: Plans) -> Lesson:
    """Plans as decisions to imitate, each with its units in both orders, since games may have units in any order."""
    board, rows, powers, orders, returns = reader.board, [], [], [], []
    for power, plan in plans.items():
        seat = board.power_index[power]
        for row, given, worth in plan:
            for turned in (row, units_turned(State(layout_of(board), row), seat).row):
                rows.append(turned)
                powers.append(seat)
                orders.append(set(given))
                returns.append(worth * Play.reward_scale)
    packed = reader.pack(np.array(rows), np.array(powers))
    inputs = reader.read(packed)
    answers = np.zeros(inputs.num_rows, np.int64)
    for number, ordered in enumerate(orders):
        for line in range(inputs.first_rows[number], inputs.first_rows[number + 1]):
            legal = inputs.orders[inputs.starts[line] : inputs.starts[line + 1]].tolist()
            answers[line] = next((at for at, order in enumerate(legal) if order in ordered), _none(reader, legal))
    actions, _ = padded(inputs, answers, np.zeros(inputs.num_rows, np.float32), reader.slots)
    asked = np.diff(inputs.first_rows) > 0
    return Lesson(packed[asked], actions[asked], np.array(returns, np.float32)[asked], np.flatnonzero(asked))


def _none(reader: InputEncoder, legal: list[int]) -> int:
    """The index of the order that a unit without one gets: hold, disband (when dislodged), or WAIVE (Winter)."""
    is_retreat = legal[0] != WAIVE and reader.board.orders.kind[legal[-1]] == DISBAND
    return len(legal) - 1 if is_retreat else 0


def units_turned(state: State, power: int) -> State:
    """The same position with a power's units in reverse order."""
    units = state.units
    mine = units[:, 0] == power
    units[mine] = units[mine][::-1]
    return state.replaced(units=units)
