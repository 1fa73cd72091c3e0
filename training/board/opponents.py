"""Players in the runner that do not learn: any `agents.Policy`, and frozen networks.

Each answers all decisions of its seats at once. Policies get the view only (their observation is None): players that
read arrays are networks here. In games with tokens all hear what is said to them, and may speak: words of the
vocabulary count, anything else is silence.
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
from agents.rl.token_press import Said, as_words
from training.board.games import Transcript
from training.errors import TrainingError
from welfare_env.board.orders import DISBAND, WAIVE
from welfare_env.envs.actions import split_action
from welfare_env.game.view import MESSAGES, ORDERS, View


class Opponent(Protocol):
    """A player of seats in many games."""

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        """New games begin, in which it plays `powers` [k] of `games` [k]."""

    def answer(
        self,
        played: Transcript,
        games: np.ndarray,
        powers: np.ndarray,
        inputs: Inputs,
        chances: np.ndarray,
        said: Said,
    ) -> np.ndarray:
        """Answers int64 [R] to the decisions of `powers` in `games` with these inputs: all about words, or all orders.

        Args:
            played: the games so far.
            chances: float64 [R], see `BoardNetwork.answer`.
            said: what was said in this phase.
        """


class Frozen:
    """A network that does not learn; a greedy one takes its most probable orders and words."""

    def __init__(self, network: BoardNetwork, greedy: bool = False) -> None:
        self.network, self.greedy = network, greedy

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        """Nothing to do: a network has no state in a game."""

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Replace the weights."""
        self.network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})

    def answer(
        self,
        played: Transcript,
        games: np.ndarray,
        powers: np.ndarray,
        inputs: Inputs,
        chances: np.ndarray,
        said: Said,
    ) -> np.ndarray:
        drawn = np.full_like(chances, -1) if self.greedy else chances
        return self.network.answer(inputs, drawn)[0]


class Scripted:
    """Policies made from one spec, one for each seat."""

    _who: Callable[[int, str], agents.Policy] | None = None

    def __init__(self, spec: str, reader: InputEncoder) -> None:
        self.spec, self._reader = spec, reader
        self._policies: dict[tuple[int, int], agents.Policy] = {}
        if isinstance(agents.make(spec), RoundWriter):  # an invalid spec raises here, before any game
            raise TrainingError(
                f"policy {spec!r:.200} writes programs of modal_env; here it would play Diplomacy. Against programs "
                "train with the command modal"
            )

    def meet(self, who: Callable[[int, str], agents.Policy]) -> None:
        """Tell policies that plan (`agents.PlanningPolicy`) who plays a power in a game, from the next games on."""
        self._who = who

    def begin(self, games: np.ndarray, powers: np.ndarray, seeds: np.ndarray) -> None:
        for game, power, seed in zip(games.tolist(), powers.tolist(), seeds.tolist(), strict=True):
            if (game, power) not in self._policies:
                self._policies[game, power] = agents.make(self.spec)
            policy = self._policies[game, power]
            if self._who is not None and isinstance(policy, agents.PlanningPolicy):
                policy.meet(partial(self._who, game))
            policy.reset(self._reader.board.powers[power], seed)

    def answer(
        self,
        played: Transcript,
        games: np.ndarray,
        powers: np.ndarray,
        inputs: Inputs,
        chances: np.ndarray,
        said: Said,
    ) -> np.ndarray:
        answers = np.zeros(inputs.num_rows, np.int64)
        for number, (game, power) in enumerate(zip(games.tolist(), powers.tolist(), strict=True)):
            if inputs.rounds is not None:
                rows = slice(number * len(self._reader.board.powers), (number + 1) * len(self._reader.board.powers))
                answers[rows] = self._words(self._view(played, game, power, said, int(inputs.rounds[number])), game)
                continue
            ordered = self._orders(self._view(played, game, power, said), game)
            for row in range(inputs.first_rows[number], inputs.first_rows[number + 1]):
                legal = inputs.orders[inputs.starts[row] : inputs.starts[row + 1]].tolist()
                answers[row] = next((index for index, order in enumerate(legal) if order in ordered), self._none(legal))
        return answers

    def _view(self, played: Transcript, game: int, power: int, said: Said, message_round: int = 0) -> View:
        """The view of a policy, which is asked for orders unless in a message round."""
        position = played.position(game)
        messages = said.messages(game, position.phase) if self._reader.message_rounds else []
        return View(
            position,
            self._reader.board.powers[power],
            messages,
            played.history(game),
            asked=MESSAGES if message_round else ORDERS,
            message_round=message_round,
        )

    def _none(self, legal: list[int]) -> int:
        """The index of the order that units without one get: hold, disband (when dislodged), or WAIVE (Winter)."""
        is_retreat = legal[0] != WAIVE and self._reader.board.orders.kind[legal[-1]] == DISBAND
        return len(legal) - 1 if is_retreat else 0

    def _orders(self, view: View, game: int) -> set[int]:
        """The order numbers of a policy's orders. Illegal ones are ignored, as in games that are not strict."""
        board = self._reader.board
        action, _ = self._act(view, game)
        if not isinstance(action, (list, tuple)) or not all(isinstance(order, str) for order in action):
            raise TrainingError(
                f"{self.spec!r} answers {action!r:.60} when given the view alone: a frozen opponent must answer with "
                "a list of order strings, as view.encode_orders makes it, or be a checkpoint (rl:PATH)"
            )
        return {board.orders.index[order] for order in action if order in board.orders.index}

    def _words(self, view: View, game: int) -> np.ndarray:
        """A policy's words: int64 [powers]. Anything outside the vocabulary is silence."""
        board = self._reader.board
        return as_words(board, board.power_index[view.power], self._act(view, game)[1])

    def _act(self, view: View, game: int) -> tuple[Any, Mapping[str, str]]:
        """Orders and messages."""
        policy = self._policies[game, view.board.power_index[view.power]]
        try:
            return split_action(view.rules, view.power, policy.act(None, {"view": view}))
        except ValueError as error:  # ActionError, or a player that cannot play Diplomacy
            raise TrainingError(f"{self.spec!r}: {error}") from error


def fixed_opponent(spec: str, reader: InputEncoder) -> Opponent:
    """A player that does not learn: a network, or any other policy."""
    if spec.startswith("rl:"):
        policy: Any = agents.make(spec)
        return Frozen(policy.network_for(reader.board, reader.rules), policy.greedy)
    return Scripted(spec, reader)
