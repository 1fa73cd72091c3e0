"""Press: messages, their possible recipients, and their visibility.

Free text
    With ``press="text"`` a message is any text of up to 4,000 characters.

Tokens
    With ``press="tokens"`` a message is one of the words of `TOKENS`, so that learned players can send messages:

    ======  ========================
    number  word
    ======  ========================
    0       silence: nothing is sent
    1       propose peace
    2       propose demilitarisation
    3       ask for support
    4       accept
    5       refuse
    ======  ========================

    Arrays and actions contain a word's number, everything else (views, records, saved games) its text, in a `Message`
    as with free text. A player sends each recipient at most one word per round. Words are not binding; the players
    decide what they mean. `VOCABULARY_VERSION` increases whenever a number changes its word: files with numbers (such
    as a learned player's weights) should also store the version.

Observations
    In games with tokens observations include the words that the observer received and sent in this phase, see
    `observe_messages`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.errors import PressError, did_you_mean
from welfare_env.game.position import Position
from welfare_env.rules import Rules

GLOBAL = "GLOBAL"
MEDIATOR = "MEDIATOR"
MAX_MESSAGE_LENGTH = 4000  # characters
VOCABULARY_VERSION = 1
TOKENS = ("propose peace", "propose demilitarisation", "ask for support", "accept", "refuse")
COLUMNS = 3  # of `observe_messages`, per round


@dataclass(frozen=True)
class Message:
    """A message, to be treated as data, never as instructions. Visible to sender and recipient; GLOBAL: to all players.

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
        """Whether a player can read it: everybody if it is to "GLOBAL", else its sender and its recipient."""
        return self.recipient == GLOBAL or player in (self.recipient, self.sender)


def players(board: Board, rules: Rules) -> tuple[str, ...]:
    """All players: the powers, and the mediator if the rules have one."""
    return (*board.powers, MEDIATOR) if rules.mediator else board.powers


def recipients(board: Board, rules: Rules, sender: str) -> tuple[str, ...]:
    """The players that `sender` may write to."""
    return (*(player for player in players(board, rules) if player != sender), GLOBAL)


def speakers(position: Position) -> list[str]:
    """The players that may send messages: the mediator, and powers that are not eliminated."""
    everybody = players(position.board, position.engine.rules)
    return [player for player in everybody if player == MEDIATOR or position.is_alive(player)]


def vocabulary(rules: Rules) -> tuple[str, ...]:
    """The words that messages may consist of; empty with free text and without press."""
    return TOKENS if rules.has_tokens else ()


def check_message(
    board: Board, rules: Rules, sender: object, recipient: object, text: object, message_round: object
) -> None:
    """Check that a message may be sent.

    Raises:
        PressError: no press in this game, unknown sender, recipient or round, or the text is empty, too long, not a
            string, or (in a game with tokens) not a word of the vocabulary.
    """
    if not rules.has_press:
        raise PressError("this game has no press: make it with press='text' or 'tokens' and message_rounds >= 1")
    everybody = players(board, rules)
    if not isinstance(sender, str) or sender not in everybody:
        given = f"{checks.quoted(sender)}{did_you_mean(sender, everybody)}"
        raise PressError(f"sender {given}: choose one of {', '.join(everybody)}")
    if not isinstance(recipient, str) or recipient == sender or recipient not in (*everybody, GLOBAL):
        possible = recipients(board, rules, sender)
        given = f"{checks.quoted(recipient)}{did_you_mean(recipient, possible)}"
        raise PressError(f"{sender} cannot write to {given}: choose one of {', '.join(possible)}")
    where = f"message from {sender} to {recipient}"
    if rules.has_tokens:
        _check_token(where, text)
    else:
        _check_text(where, text)
    if type(message_round) is not int or not 1 <= message_round <= rules.message_rounds:
        given = checks.quoted(message_round)
        raise PressError(f"message round {given}: give a whole number from 1 to {rules.message_rounds}")


def _check_token(where: str, text: object) -> None:
    if not isinstance(text, str) or text not in TOKENS:
        words = ", ".join(map(repr, TOKENS))
        raise PressError(
            f"{where} is {checks.quoted(text)}{did_you_mean(text, TOKENS)}: give one of {words} "
            f"(in an action also its number, 1 to {len(TOKENS)})"
        )


def _check_text(where: str, text: object) -> None:
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
        raise PressError(f"{where} is not valid Unicode: {error}") from error


def is_sendable(text: object) -> bool:
    """Whether something can be sent as free text."""
    try:
        _check_text("text", text)
    except PressError:
        return False
    return True


def messages_space(board: Board, rules: Rules) -> spaces.Box:
    """The space of `observe_messages`."""
    return spaces.Box(0, len(TOKENS), (len(players(board, rules)), COLUMNS * rules.message_rounds), np.int8)


def observe_messages(board: Board, rules: Rules, player: str, messages: Iterable[Message]) -> np.ndarray:
    """The words that `player` received and sent in one phase: int8 [players, 3 * rounds], 0 is silence.

    Rows are the players: powers as in the board's observation, so the observer first (for the mediator, in the board's
    order); the mediator, if there is one, is last. Each round has three columns:

    1. the word from the row's player to the observer alone,
    2. the word from the row's player to all (in the observer's row: its own word to all),
    3. the word from the observer to the row's player alone.

    Args:
        messages: all messages of the phase, visible or not. The last one counts if a sender wrote several to the same
            recipient in one round.
    """
    number = len(board.powers)
    first = 0 if player == MEDIATOR else board.power_index[player]
    rows = {power: (index - first) % number for index, power in enumerate(board.powers)} | {MEDIATOR: number}
    seen = np.zeros((len(players(board, rules)), COLUMNS * rules.message_rounds), np.int8)
    for message in messages:
        if not message.is_visible_to(player):
            continue
        column = 0 if message.recipient == player else 1 if message.recipient == GLOBAL else 2
        row = rows[message.recipient if column == 2 else message.sender]
        seen[row, COLUMNS * (message.round - 1) + column] = 1 + TOKENS.index(message.text)
    return seen
