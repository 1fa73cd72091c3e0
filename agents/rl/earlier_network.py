"""The network of checkpoints of format 1, so that they play as before. It is not used for new training.

It encodes the board once for each deciding power, as that power sees it; `agents.rl.network` once for all powers.

The package's two checkpoints need it. Retrained in format 2 by the same commands, the attacker is as good (7.0 centers
with six dumbbots, 6.8 in format 1), but the best response is a weaker attack. Mean gain of the seven seats, 20 games
each, in points a year: against prosocial 8.1 (its best iterate: 9.3) where format 1 gains 8.9, against dove 4.0 (3.9)
where format 1 gains 5.4, against random 8.1 (8.5) where format 1 gains 8.2.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.rl.inputs import Inputs, draw
from agents.rl.network import BoardNetwork, Fitting, Scene, Size, Talk
from welfare_env.board.board import Board


class EarlierNetwork(BoardNetwork):
    """See the module's documentation; arguments are those of `BoardNetwork`."""

    _places: Tensor

    def __init__(self, board: Board, size: Size, message_rounds: int = 0) -> None:
        super().__init__(board, size, message_rounds)
        del self.perspective
        self.register_buffer("_places", torch.from_numpy(self.places), persistent=False)

    def _points(self) -> list[Tensor]:
        return [self.read.weight[:, -self.powers :]]

    def see(self, inputs: Inputs) -> Scene:
        boards = torch.from_numpy(inputs.boards)
        x = self.encode(boards)
        whole = torch.relu(self.whole(torch.cat([x.mean(dim=1), x.amax(dim=1)], dim=-1)))
        if self.talk is None or inputs.heard is None:
            return Scene(x, whole, x.new_zeros(len(inputs), 0, x.shape[2]), inputs, boards)
        voices = self.talk.voices(inputs)
        heard = x + torch.matmul(boards[:, :, : self.powers], voices)
        return Scene(heard, self.talk.hear(inputs, whole, voices), voices, inputs, boards)

    def _order(self, scene: Scene, chances: np.ndarray, answers: np.ndarray, logps: np.ndarray) -> None:
        """Draw orders row by row, and write them over answers and logps [R]."""
        inputs = scene.inputs
        keys, units, _ = self._keys(scene)
        lengths = np.diff(inputs.first_rows)
        context = torch.zeros(len(inputs), keys.shape[1])
        logits = np.zeros(len(inputs.orders), np.float32)
        fitting = Fitting(self.places, inputs, len(self.place))
        for step in range(int(lengths.max())):
            fitting.step(step, answers)
            asked = np.flatnonzero(lengths > step)
            at = inputs.first_rows[asked] + step
            which, owner = ranges(inputs.starts[at], inputs.starts[at + 1])
            query = units[torch.from_numpy(at)] + self.given(context[torch.from_numpy(asked)])
            picked = torch.from_numpy(which)
            fit = torch.from_numpy(fitting.features[which])
            logits[which] = self._logits(keys[picked], query, fit, torch.from_numpy(owner)).numpy()
            draw(step, logits, inputs.starts, inputs.first_rows, chances, answers, logps)
            chosen = keys[torch.from_numpy(inputs.starts[at] + answers[at])] + units[torch.from_numpy(at)]
            context[torch.from_numpy(asked)] += torch.relu(chosen)

    def _keys(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        inputs, x = scene.inputs, scene.provinces
        rows = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
        row_of = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(inputs.starts)))
        board, province = torch.from_numpy(rows), torch.from_numpy(inputs.provinces)
        provinces = x.shape[1]
        named = self._places[torch.from_numpy(inputs.orders)]
        is_order = torch.from_numpy(inputs.orders != 0)
        base = board[row_of] * provinces
        target = torch.where(is_order, named[:, 2], province[row_of])
        helped = (self.helped(x)).flatten(0, 1)[base + named[:, 3].clamp(min=0)] * (named[:, 3:] >= 0)
        keys = self.kind(named[:, 0]) + self.target(x).flatten(0, 1)[base + target] + helped
        units = self.unit(x).flatten(0, 1)[board * provinces + province] + self.position(scene.whole)[board]
        return keys, units, row_of

    def _speak(self, scene: Scene, talk: Talk) -> Tensor:
        speaking = scene.inputs.speaking
        at = torch.from_numpy(speaking)
        stand = scene.boards[at, :, : self.powers].transpose(1, 2)
        units = torch.matmul(stand, scene.provinces[at]) / stand.sum(dim=2, keepdim=True).clamp(min=1)
        return talk.speak(speaking, units, scene.voices, scene.whole)


def ranges(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of several ranges, concatenated, and the range that each belongs to."""
    lengths = last - first
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths - first, lengths), owner
