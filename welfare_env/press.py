"""Press: messages, who may write to whom, and who may read what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from welfare_env.board import Board
from welfare_env.errors import PressError
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.position import Position

GLOBAL = "GLOBAL"
MEDIATOR = "MEDIATOR"
MAX_MESSAGE_LENGTH = 4000  # characters


@dataclass(frozen=True)
class Message:
    """A message: data, never instructions. Visible to its sender, its recipient, and to all if sent to GLOBAL.

    Attributes:
        phase: short name of the phase in which it was sent.
        round: message round, from 1.
    """

    sender: str
    recipient: str
    text: str
    phase: str
    round: int

    def is_visible_to(self, player: str) -> bool:
        return player in (self.sender, self.recipient) or self.recipient == GLOBAL


def players(board: Board, rules: Rules) -> tuple[str, ...]:
    """Everybody who takes part: the powers, and the mediator where the rules have one."""
    return (*board.powers, MEDIATOR) if rules.mediator else board.powers


def recipients(board: Board, rules: Rules, sender: str) -> tuple[str, ...]:
    """Whom `sender` may write to."""
    return (*(player for player in players(board, rules) if player != sender), GLOBAL)


def speakers(position: Position) -> list[str]:
    """Who is asked for messages: the mediator, and powers that are not eliminated."""
    everybody = players(position.board, position.engine.rules)
    return [player for player in everybody if player == MEDIATOR or position.is_alive(player)]


def check_message(
    board: Board, rules: Rules, sender: object, recipient: object, text: object, message_round: object
) -> None:
    """Refuse what must not be sent.

    Raises:
        PressError: no press in this game, unknown sender, recipient or round, or a text that is empty, too long or no
            text.
    """
    if not rules.has_press:
        raise PressError("this game has no press: make it with press='text' and message_rounds >= 1")
    everybody = players(board, rules)
    if sender not in everybody:
        raise PressError(f"sender {sender!r}: choose one of {', '.join(everybody)}")
    if recipient not in recipients(board, rules, str(sender)):
        possible = ", ".join(recipients(board, rules, str(sender)))
        raise PressError(f"{sender} cannot write to {recipient!r}: choose one of {possible}")
    _check_text(str(sender), str(recipient), text)
    if type(message_round) is not int or not 1 <= message_round <= rules.message_rounds:
        raise PressError(f"message round {message_round!r}: give a whole number from 1 to {rules.message_rounds}")


def _check_text(sender: str, recipient: str, text: object) -> None:
    where = f"message from {sender} to {recipient}"
    if not isinstance(text, str):
        raise PressError(f"{where} is {type(text).__name__}: give a string")
    if not text.strip():
        raise PressError(f"{where} is empty")
    if len(text) > MAX_MESSAGE_LENGTH:
        raise PressError(
            f"{where} has {len(text)} characters, at most {MAX_MESSAGE_LENGTH} are allowed: {text[:40]!r}..."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PressError(f"{where} is no valid Unicode text: {error}") from error
