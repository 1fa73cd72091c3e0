"""The network as an RLModule, so that RLlib can train it.

Observations are packed (`agents.rl.inputs.InputEncoder.pack`): int32 [size], a state's row and the observing power;
3.2 KB on the standard map, where boards and legal orders as arrays take 150 KB. The network's inputs are made from them
on demand, in 5 microseconds. Actions are int64 [slots]: for each row of the decision an index into its candidates,
padded with zeros. With tokens, the words of the phase and the message round come between state and power; decisions
about orders and about words have the same shape.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule

from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork, Size
from agents.rl.token_press import word_rounds
from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

ENTROPY, ROW_DECISION, ROW_SLOT, ROW_WORD = "entropy", "row_decision", "row_slot", "row_word"


def spaces(reader: InputEncoder) -> tuple[gym.Space, gym.Space]:
    """The spaces of packed observations and of actions."""
    limits = np.iinfo(np.int32)
    most = len(reader.board.orders)
    return (
        gym.spaces.Box(limits.min, limits.max, (reader.observation_size,), np.int32),
        gym.spaces.MultiDiscrete([most] * reader.slots),
    )


class BoardModule(TorchRLModule, ValueFunctionAPI, InferenceOnlyAPI):
    """`agents.rl.network.BoardNetwork` behind RLlib's interface.

    ``model_config``: {"map_name": ..., "rules": Rules(...).to_dict(), "size": Size().to_dict(), "seed": ...,
    "sees_points": True}. If False, the weights of welfare points are fixed at 0: the network sees only the position.
    """

    def setup(self) -> None:
        given: Any = self.model_config
        board, rules = load_board(given["map_name"]), Rules.from_dict(given["rules"])
        self.reader = InputEncoder(board, rules, given["sees_points"])
        with torch.random.fork_rng():
            torch.manual_seed(given["seed"])
            self.network = BoardNetwork(board, Size(**given["size"]), word_rounds(rules))
        if not given["sees_points"]:
            self.network.forget_points()
        self.rng = np.random.default_rng(given["seed"])

    def get_non_inference_attributes(self) -> list[str]:
        return []  # keeps the value head, which is small and used in evaluation

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """float32 [B]."""
        return self.network.values(self.reader.read(as_numpy(batch[Columns.OBS])))

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        inputs = self.reader.read(as_numpy(batch[Columns.OBS]))
        decision, slot = rows(inputs)
        judged = self.network.judge(inputs, as_numpy(batch[Columns.ACTIONS])[decision, slot])
        output = {
            Columns.ACTION_LOGP: judged.logp,
            ENTROPY: judged.entropy,
            Columns.VF_PREDS: judged.values,
            ROW_DECISION: torch.from_numpy(decision),
            ROW_SLOT: torch.from_numpy(slot),
        }
        if inputs.rounds is not None:
            output[ROW_WORD] = torch.from_numpy(inputs.rounds[decision] > 0)
        return output

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._decide(batch, chances=None)

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._decide(batch, chances=-1.0)

    def _decide(self, batch: dict[str, Any], chances: float | None) -> dict[str, Any]:
        """Actions and their log probabilities, one per slot; only for RLlib's own EnvRunners."""
        inputs = self.reader.read(as_numpy(batch[Columns.OBS]))
        drawn = self.rng.random(inputs.num_rows) if chances is None else np.full(inputs.num_rows, chances)
        answers, logp, values = self.network.answer(inputs, drawn)
        actions, logps = padded(inputs, answers, logp, self.reader.slots)
        return {
            Columns.ACTIONS: torch.from_numpy(actions),
            Columns.ACTION_LOGP: torch.from_numpy(logps),
            Columns.VF_PREDS: torch.from_numpy(values),
        }


def rows(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Each row's decision, and its number within the decision (a row is an order or a word): two int64 [R]."""
    decision = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
    slot = np.arange(len(decision)) - inputs.first_rows[decision]
    speaking = inputs.speaking
    if not len(speaking):
        return decision, slot
    powers = (inputs.num_rows - len(decision)) // len(speaking)
    words = np.repeat(speaking, powers), np.tile(np.arange(powers), len(speaking))
    return np.concatenate([decision, words[0]]), np.concatenate([slot, words[1]])


def padded(inputs: Inputs, answers: np.ndarray, logp: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers and log probabilities by decision: int64 and float32 [B, slots], padded with zeros."""
    decision, slot = rows(inputs)
    actions, logps = np.zeros((len(inputs), slots), np.int64), np.zeros((len(inputs), slots), np.float32)
    actions[decision, slot], logps[decision, slot] = answers, logp
    return actions, logps


def as_numpy(values: Any) -> np.ndarray:
    return values.numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def model_config(board: Board, rules: Rules, size: Size, seed: int, sees_points: bool = True) -> dict[str, Any]:
    """The ``model_config`` of a `BoardModule`."""
    return {
        "map_name": board.name,
        "rules": rules.to_dict(),
        "size": size.to_dict(),
        "seed": seed,
        "sees_points": sees_points,
    }
