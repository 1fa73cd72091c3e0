"""Players in the runner that do not learn: any `agents.Policy`, and frozen networks.

Each answers all decisions of its seats at once. Policies get only the view (their observation is None); only networks
read arrays here. In games with tokens all players receive messages and may send them; any text that is not in the
vocabulary counts as silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

import agents
from agents.modal.players import RoundWriter
from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork
from agents.rl.player import LearnedPolicy
from agents.rl.token_press import as_words
from training.board.games import GameBatch
from training.errors import TrainingError
from welfare_env.board.orders import DISBAND, WAIVE
from welfare_env.envs.actions import split_action
from welfare_env.game.view import MESSAGES, ORDERS, View


class Opponent(Protocol):
    """A player of seats in many games."""

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        """Begin new games, in which the player has the seats `powers` [k] of `games` [k]."""

    def answer(self, batch: GameBatch, games: np.ndarray, inputs: Inputs, chances: np.ndarray) -> np.ndarray:
        """Answers int64 [R] to decisions in `games` [k] of a batch: all about words, or all about orders.

        Args:
            chances: float64 [R], see `BoardNetwork.answer`.
        """


class FrozenNetwork:
    """A network that does not learn; if greedy, it takes its most probable orders and words."""

    def __init__(self, network: BoardNetwork, greedy: bool = False) -> None:
        self.network, self.greedy = network, greedy

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        """Does nothing: a network has no state."""

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Replace the weights."""
        self.network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})

    def answer(self, batch: GameBatch, games: np.ndarray, inputs: Inputs, chances: np.ndarray) -> np.ndarray:
        drawn = np.full_like(chances, -1) if self.greedy else chances
        return self.network.answer(inputs, drawn)[0]


class Scripted:
    """Policies made from one spec, one for each seat."""

    _who: Callable[[int, str], agents.Policy] | None = None

    def __init__(self, spec: str, reader: InputEncoder) -> None:
        self.spec, self._reader = spec, reader
        self._policies: dict[tuple[int, int], agents.Policy] = {}
        if isinstance(agents.make(spec), RoundWriter):  # an invalid spec raises here, before any game is played
            raise TrainingError(
                f"policy {spec!r:.200} writes programs for modal_env and cannot play Diplomacy. To train against "
                "programs use the command modal"
            )

    def meet(self, who: Callable[[int, str], agents.Policy]) -> None:
        """Set, for planning policies (`agents.PlanningPolicy`), who plays each power in the next games."""
        self._who = who

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        for game, power, seed in zip(games.tolist(), powers.tolist(), seeds.tolist(), strict=True):
            if (game, power) not in self._policies:
                self._policies[game, power] = agents.make(self.spec)
            policy = self._policies[game, power]
            if self._who is not None and isinstance(policy, agents.PlanningPolicy):
                policy.meet(partial(self._who, game))
            policy.reset(self._reader.board.powers[power], seed)

    def answer(self, batch: GameBatch, games: np.ndarray, inputs: Inputs, chances: np.ndarray) -> np.ndarray:
        answers, powers = np.zeros(inputs.num_rows, np.int64), len(self._reader.board.powers)
        for number, (game, power) in enumerate(zip(games.tolist(), inputs.powers.tolist(), strict=True)):
            if inputs.rounds is not None:
                view = self._view(batch, game, power, int(inputs.rounds[number]))
                answers[number * powers : (number + 1) * powers] = self._words(view, game)
                continue
            ordered = self._orders(self._view(batch, game, power), game)
            for row in range(inputs.first_rows[number], inputs.first_rows[number + 1]):
                legal = inputs.orders[inputs.starts[row] : inputs.starts[row + 1]].tolist()
                answers[row] = next((index for index, order in enumerate(legal) if order in ordered), self._none(legal))
        return answers

    def _view(self, batch: GameBatch, game: int, power: int, message_round: int = 0) -> View:
        """The view of a policy, asked for messages in a message round, else for orders."""
        position, history = batch.transcript.position(game), batch.transcript.history(game)
        messages = batch.said.messages(game, position.phase) if self._reader.message_rounds else []
        asked = MESSAGES if message_round else ORDERS
        return View(position, self._reader.board.powers[power], messages, history, asked, message_round)

    def _none(self, legal: list[int]) -> int:
        """The index of the order that units without one get: hold, disband (when dislodged), or WAIVE (Winter)."""
        is_retreat = legal[0] != WAIVE and self._reader.board.orders.kind[legal[-1]] == DISBAND
        return len(legal) - 1 if is_retreat else 0

    def _orders(self, view: View, game: int) -> set[int]:
        """The numbers of a policy's orders. Illegal orders are ignored, as in non-strict games."""
        board = self._reader.board
        action, _ = self._act(view, game)
        if not isinstance(action, (list, tuple)) or not all(isinstance(order, str) for order in action):
            raise TrainingError(
                f"{self.spec!r} returns {action!r:.60} when given only the view: a frozen opponent must return a list "
                "of order strings, as view.encode_orders does, or be a checkpoint (rl:PATH)"
            )
        return {board.orders.index[order] for order in action if order in board.orders.index}

    def _words(self, view: View, game: int) -> np.ndarray:
        """A policy's words: int64 [powers]. Text that is not in the vocabulary is silence."""
        board = self._reader.board
        return as_words(board, board.power_index[view.power], self._act(view, game)[1])

    def _act(self, view: View, game: int) -> tuple[Any, Mapping[str, str]]:
        """A policy's orders and messages."""
        policy = self._policies[game, view.board.power_index[view.power]]
        try:
            return split_action(view.rules, view.power, policy.act(None, {"view": view}))
        except ValueError as error:  # ActionError, or a policy that cannot play Diplomacy
            raise TrainingError(f"{self.spec!r}: {error}") from error


def fixed_opponent(spec: str, reader: InputEncoder) -> Opponent:
    """Make a player that does not learn: a network, or any other policy."""
    policy: Any = agents.make(spec) if spec.startswith("rl:") else None
    if isinstance(policy, LearnedPolicy):
        return FrozenNetwork(policy.network_for(reader.board, reader.rules), policy.greedy)
    return Scripted(spec, reader)
