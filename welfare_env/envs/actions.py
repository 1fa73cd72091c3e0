"""Actions of the environments: order numbers or strings, with messages (texts or token numbers) if there is press."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.errors import ActionError
from welfare_env.game.press import MAX_MESSAGE_LENGTH, TOKENS, is_sendable, recipients
from welfare_env.game.submitted import MOST_ORDERS
from welfare_env.rules import Rules

FORM = 'give {"orders": number or list of strings, "messages": {recipient: text}}'
# Characters of sampled messages, which are never blank; any Unicode text can be sent.
CHARACTERS = string.ascii_letters + string.digits + string.punctuation


class PressSpace(spaces.Dict):
    """``{"orders": ..., "messages": {recipient: text or token number}}``; `sample` takes the mask of the orders."""

    def __init__(self, orders: spaces.Space, board: Board, rules: Rules, player: str) -> None:
        messages = {recipient: _message_space(rules) for recipient in recipients(board, rules, player)}
        super().__init__({"orders": orders, "messages": spaces.Dict(messages)})

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A random action whose orders respect the observation's action mask."""
        return {"orders": self["orders"].sample(mask), "messages": self["messages"].sample()}


class MessageSpace(spaces.Text):
    """Texts that can be sent, and "", which is silence. Samples use only `CHARACTERS`."""

    def __init__(self) -> None:
        super().__init__(MAX_MESSAGE_LENGTH, min_length=0, charset=CHARACTERS)

    def contains(self, x: Any) -> bool:
        """Whether x is silence or can be sent."""
        return _is_silence(x) or is_sendable(x)


class ListSpace(spaces.MultiDiscrete):
    """One choice from a legal list per slot; `sample` takes a mask int8 [slots, choices], or flat [slots * choices]."""

    def contains(self, x: Any) -> bool:
        """Whether x is a choice for every slot; Gymnasium's own raises an error for lists of different lengths."""
        choices = checks.whole_array(x, self.nvec.shape)
        return choices is not None and bool(np.all((choices >= 0) & (choices < self.nvec)))

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        """A random choice per slot that the mask allows."""
        rows = None if mask is None else tuple(np.asarray(mask, np.int8).reshape(len(self.nvec), -1))
        return super().sample(mask=rows)


def _message_space(rules: Rules) -> spaces.Space[Any]:
    """The space of a message to one recipient: a text ("" is silence) or a token's number (0 is silence)."""
    return spaces.Discrete(1 + len(TOKENS)) if rules.has_tokens else MessageSpace()


def split_action(rules: Rules, player: str, action: Any) -> tuple[Any, Mapping[str, str]]:
    """The orders and messages of an action. Token numbers become words; silences are dropped.

    A list of strings is an action without messages.

    Raises:
        ActionError: the action is malformed.
    """
    if not rules.has_press or is_text(action):
        return action, {}
    if not isinstance(action, Mapping) or "orders" not in action or not action.keys() <= {"orders", "messages"}:
        raise ActionError(f"action {checks.quoted(action)} of {player}: {FORM}, or a list of strings")
    messages = action.get("messages", {})
    if not isinstance(messages, Mapping):
        raise ActionError(f"messages {checks.quoted(messages)} of {player}: {FORM}")
    said = {recipient: _in_words(rules, message) for recipient, message in messages.items()}
    return action["orders"], {recipient: text for recipient, text in said.items() if not _is_silence(text)}


def _in_words(rules: Rules, message: Any) -> Any:
    """The word of a token's number; anything else is returned unchanged, for the check of messages to refuse."""
    number = _whole(message) if rules.has_tokens else None
    return message if number is None or not 0 <= number <= len(TOKENS) else ("", *TOKENS)[number]


def _is_silence(text: object) -> bool:
    return isinstance(text, str) and text == ""


def check_number(action: Any, count: int, player: str) -> int:
    """Check an action that is an order number.

    Raises:
        ActionError: not a whole number from 0 to count - 1.
    """
    number = _whole(action)
    if number is not None and 0 <= number < count:
        return number
    raise ActionError(
        f"action {checks.quoted(action)} of {player}: give an order number from 0 to {count - 1}, or a list of strings"
    )


def _whole(value: Any) -> int | None:
    """A Python or numpy integer as an int; None for anything else."""
    number = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
    return int(number) if checks.is_whole(number) else None


def is_text(orders: Any) -> bool:
    """Whether orders are given as a list of strings, of which there are not too many."""
    is_list = isinstance(orders, (list, tuple)) and len(orders) <= MOST_ORDERS
    return is_list and all(isinstance(order, str) for order in orders)
