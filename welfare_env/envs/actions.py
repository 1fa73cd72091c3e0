"""Actions of the environments: order numbers or strings, with messages (texts or token numbers) if there is press."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.board.orders import WAIVE
from welfare_env.errors import ActionError, IllegalOrderError, PressError
from welfare_env.game.game import Game
from welfare_env.game.press import MAX_MESSAGE_LENGTH, TOKENS, is_sendable, recipients
from welfare_env.rules import Rules

FORM = 'give {"orders": number or list of strings, "messages": {recipient: text}}'
PARTS = {"orders", "messages"}  # keys of an action with press
# Characters of sampled messages; any Unicode text is allowed.
CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"


class PressSpace(spaces.Dict):
    """``{"orders": ..., "messages": {recipient: text or token number}}``; `sample` takes the mask of the orders."""

    def __init__(self, orders: spaces.Space, board: Board, rules: Rules, player: str) -> None:
        said: dict[str, spaces.Space[Any]] = {
            recipient: _message_space(rules) for recipient in recipients(board, rules, player)
        }
        super().__init__({"orders": orders, "messages": spaces.Dict(said)})

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A random action whose orders respect the observation's action mask."""
        return {"orders": self["orders"].sample(mask), "messages": self["messages"].sample()}


# These spaces contain exactly what `step` accepts. Gymnasium's own contain booleans, fail for huge numbers, and limit
# texts to given characters.


class NumberSpace(spaces.Discrete):
    """Whole numbers from 0, of Python or numpy."""

    def contains(self, x: Any) -> bool:
        """Whether x is a whole number (not a boolean) in the space."""
        number = _whole(x)
        return number is not None and 0 <= number < int(self.n)


class MessageSpace(spaces.Text):
    """Texts that can be sent, and "", which is silence. Samples use only `CHARACTERS`."""

    def __init__(self) -> None:
        super().__init__(MAX_MESSAGE_LENGTH, min_length=0, charset=CHARACTERS)

    def contains(self, x: Any) -> bool:
        """Whether x is silence or can be sent."""
        return _is_silence(x) or is_sendable(x)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random text; "" instead of a blank one."""
        text = super().sample(mask, probability)
        return text if text in self else ""


class ListSpace(spaces.MultiDiscrete):
    """One choice from a legal list per slot; `sample` takes a mask int8 [slots, choices]."""

    def contains(self, x: Any) -> bool:
        """Whether x is a choice for every slot."""
        choices = checks.whole_array(x, self.nvec.shape)
        return choices is not None and bool(np.all((choices >= 0) & (choices < self.nvec)))

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        """A random choice per slot that the mask allows."""
        return super().sample(mask=None if mask is None else tuple(np.asarray(mask, np.int8)))


def _message_space(rules: Rules) -> spaces.Space[Any]:
    """The space of a message to one recipient: a text ("" is silence) or a token's number (0 is silence)."""
    if rules.has_tokens:
        return NumberSpace(1 + len(TOKENS))
    return MessageSpace()


def with_press(orders: spaces.Space, board: Board, rules: Rules, player: str) -> spaces.Space:
    """A player's action space: the order space `orders`, with messages if the rules have press."""
    return PressSpace(orders, board, rules, player) if rules.has_press else orders


def split_action(rules: Rules, player: str, action: Any) -> tuple[Any, Mapping[str, str]]:
    """The orders and messages of an action. Token numbers become words; silences are dropped.

    A list of strings is an action without messages.

    Raises:
        ActionError: the action is malformed.
    """
    if not rules.has_press or is_text(action):
        return action, {}
    if not isinstance(action, (dict, Mapping)) or not action.keys() <= PARTS or "orders" not in action:
        raise ActionError(f"action {checks.quoted(action)} of {player}: {FORM}, or a list of strings")
    messages = action.get("messages", {})
    if not isinstance(messages, (dict, Mapping)):
        raise ActionError(f"messages {checks.quoted(messages)} of {player}: {FORM}")
    if not messages:
        return action["orders"], {}
    said = {recipient: _in_words(rules, message) for recipient, message in messages.items()}
    return action["orders"], {recipient: text for recipient, text in said.items() if not _is_silence(text)}


def _in_words(rules: Rules, message: Any) -> Any:
    """The word of a token's number; anything else is returned unchanged, for the check of messages to refuse."""
    number = _whole(message) if rules.has_tokens else None
    return message if number is None or not 0 <= number <= len(TOKENS) else ("", *TOKENS)[number]


def _is_silence(text: object) -> bool:
    return isinstance(text, str) and text == ""


def send_all(game: Game, sender: str, messages: Mapping[str, str], message_round: int) -> list[str]:
    """Send messages. Returns the errors of those that could not be sent."""
    refused = []
    for recipient, text in messages.items():
        try:
            game.send(sender, recipient, text, message_round)
        except PressError as error:
            refused.append(str(error))
    return refused


def check_all(game: Game, sender: str, messages: Mapping[str, str]) -> None:
    """Check that messages could be sent, without sending them.

    Raises:
        PressError: a message cannot be sent.
    """
    for recipient, text in messages.items():
        game.check_send(sender, recipient, text)


def refuse_messages(player: str, messages: Mapping[str, str], strict: bool) -> list[str]:
    """Errors for messages sent outside a message round.

    Raises:
        PressError: `strict`, and there are messages.
    """
    refused = [f"message from {player} to {checks.quoted(to)}: this is not a message round" for to in messages]
    if strict and refused:
        raise PressError(refused[0])
    return refused


def refuse_number(player: str, orders: Any, strict: bool) -> list[str]:
    """Errors for orders given as numbers in a message round, where only lists of strings are accepted.

    Raises:
        IllegalOrderError: `strict`, and an order number other than WAIVE is given.
    """
    if not np.any(np.asarray(orders) != WAIVE):
        return []
    given = checks.quoted(orders)
    reason = f"orders {given} of {player} in a message round: give strings, or wait for the order turn"
    if strict:
        raise IllegalOrderError(reason)
    return [reason]


def refuse_mediator(strict: bool) -> list[str]:
    """The error for orders of the mediator.

    Raises:
        IllegalOrderError: `strict`.
    """
    reason = "the mediator has no units to order"
    if strict:
        raise IllegalOrderError(reason)
    return [reason]


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
    """Whether orders are given as a list of strings."""
    return isinstance(orders, (list, tuple)) and all(isinstance(order, str) for order in orders)
