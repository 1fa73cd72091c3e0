"""A learned network as a policy: ``agents.make("rl:PATH")``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from agents.policy import ScriptedPolicy
from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import BoardNetwork, one_thread
from agents.rl.token_press import to_send
from welfare_env.board.board import Board
from welfare_env.board.orders import WAIVE
from welfare_env.engine import ADJUSTMENTS, layout_of
from welfare_env.engine.winter import adjustments
from welfare_env.game.press import MEDIATOR, observe_messages
from welfare_env.game.view import MESSAGES
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.game.view import View


class LearnedPolicy(ScriptedPolicy):
    """Plays a checkpoint's network: takes its most probable orders, or samples them with the network's probabilities.

    It plays in every environment of its map and variant; a network of the standard variant also plays welfare games, as
    if they were standard (`agents.rl.checkpoint.Checkpoint.rules_of_play`). If messages are tokens and it was trained
    with them, it reads and sends messages; otherwise (also with free text) it neither reads nor sends any. It reads the
    messages of earlier rounds only, as in training, where rounds are simultaneous: a message sent before its turn in
    the same round (`welfare_env.make`) is read in the next round. The same seed replays the same game.

    Args:
        path: a folder that `training` wrote.
        greedy: whether it takes the most probable orders and words; None for the checkpoint's default. The package's
            checkpoints and those trained against fixed players are greedy; those of self-play sample, as in training.

    Raises:
        CheckpointError: at once if the folder is not a checkpoint; with the first action if it does not fit the game.
    """

    def __init__(self, path: str, greedy: bool | None = None) -> None:
        self.path = path
        self._checkpoint = checkpoint.load(path)
        self.greedy = self._checkpoint.greedy if greedy is None else greedy

    def network_for(self, board: Board, rules: Rules) -> BoardNetwork:
        """A new network for games on `board` with `rules`.

        Raises:
            CheckpointError: the checkpoint does not fit.
        """
        return self._checkpoint.network_for(board, rules)

    def orders(self, view: View) -> list[str]:
        """All orders of the power for this phase."""
        if view.power == MEDIATOR:
            return []
        reader, inputs, answers = self._answers(view)
        if not inputs.num_rows:  # a Winter of a welfare game in which the standard game has nothing to adjust
            return []
        texts = view.board.orders.texts
        orders = [texts[order] for order in reader.choices(inputs, answers).tolist() if order != WAIVE]
        return _consistent(view, reader.rules, orders) if view.phase_type == ADJUSTMENTS else orders

    def messages(self, view: View) -> list[tuple[str, str]]:
        """Words for the others; none if it was not trained with messages."""
        if view.power == MEDIATOR or not view.rules.has_tokens or not self._checkpoint.rules.has_tokens:
            return []
        _, _, words = self._answers(view)
        return to_send(view.board, view.board.power_index[view.power], words)

    def _answers(self, view: View) -> tuple[InputEncoder, Inputs, np.ndarray]:
        """The answers for the current turn."""
        reader, network = _made(self._checkpoint, view.board, view.rules)
        power = np.array([view.board.power_index[view.power]])
        packed = reader.pack(_seen(view, reader.rules)[None], power, _heard(view), view.message_round)
        inputs = reader.read(packed)
        rows = inputs.num_rows
        chances = np.full(rows, -1.0) if self.greedy else self.rng.random(rows)
        with one_thread():
            answers, _, _ = network.answer(inputs, chances)
        return reader, inputs, answers


def _seen(view: View, rules: Rules) -> np.ndarray:
    """The state's row as in a game with `rules`: without welfare points where there are none. int32 [state size]."""
    row, layout = view.state.row, layout_of(view.board)
    if not rules.is_welfare:
        row = row.copy()
        row[layout.welfare : layout.influence] = 0
    return row


def _consistent(view: View, rules: Rules, orders: list[str]) -> list[str]:
    """The Winter orders that would count in training (`welfare_env.vector_env`), in games with `rules`.

    The first one decides whether the power builds or disbands, unless the rules allow both; orders of the other kind,
    and those beyond the limit, are dropped.
    """
    builds, disbands = (
        int(limit[view.board.power_index[view.power]]) for limit in adjustments(view.board, rules, view.state)
    )
    most = {"B": builds, "D": len(orders) if rules.is_welfare else disbands}
    given = orders if rules.build_and_disband else [order for order in orders if order[-1] == orders[0][-1]]
    of_kind = {kind: [order for order in given if order[-1] == kind] for kind in most}
    return [order for kind, room in most.items() for order in of_kind[kind][:room]]


def _heard(view: View) -> np.ndarray | None:
    """The words of the phase's earlier rounds: int8 [1, powers, 3 * rounds]."""
    if not view.rules.has_tokens:
        return None
    last = view.message_round - 1 if view.asked == MESSAGES else view.rules.message_rounds
    earlier = [message for message in view.messages if message.round <= last]
    return observe_messages(view.board, view.rules, view.power, earlier)[None, : len(view.powers)]


@functools.lru_cache(maxsize=8)
def _made(played: Checkpoint, board: Board, rules: Rules) -> tuple[InputEncoder, BoardNetwork]:
    """A reader and a network for this game, shared by all policies of the checkpoint."""
    known = played.rules_of_play(board, rules)
    return InputEncoder(board, known), played.network_for(board, known)
