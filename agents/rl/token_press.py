"""Messages that are words, in many games at once: speakers, the words of a phase, and recipients.

For games with ``press="tokens"``. Message rounds are simultaneous, as in `welfare_env.envs.parallel`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from welfare_env.board.board import Board
from welfare_env.engine import DISLODGED, PHASE, PHASE_TYPES, RETREATS, UNITS, layout_of
from welfare_env.game.press import GLOBAL, TOKENS, Message
from welfare_env.rules import Rules

_HAS_ROUNDS = np.array([kind != RETREATS for kind in PHASE_TYPES])


def word_rounds(rules: Rules) -> int:
    """Message rounds with words of `press.TOKENS`; 0 without press, and with free text."""
    return rules.message_rounds if rules.has_tokens else 0


def speakers(board: Board, states: np.ndarray) -> np.ndarray:
    """The speakers: in phases with message rounds all powers with a unit or a center. bool [games, powers].

    Args:
        states: int32 [games, state size].
    """
    layout, powers = layout_of(board), np.arange(len(board.powers))
    present = [states[:, layout.owner : layout.owner + len(board.centers)]]
    for first, room, count in (
        (layout.power, layout.most_units, UNITS),
        (layout.lost_power, layout.most_dislodged, DISLODGED),
    ):
        present.append(np.where(np.arange(room) < states[:, count, None], states[:, first : first + room], -1))
    alive = (np.concatenate(present, axis=1)[:, :, None] == powers).any(axis=1)
    return alive & _HAS_ROUNDS[states[:, PHASE], None]


def recipients(powers: int) -> np.ndarray:
    """The recipients of the rows of a power's decisions of words: int64 [powers, powers].

    First the other powers, in the sequence of seats from its own, then GLOBAL, whose number is `powers`.
    """
    seats = np.arange(powers)
    return np.where(seats < powers - 1, (seats[:, None] + seats + 1) % powers, powers)


def to_send(board: Board, power: int, words: np.ndarray) -> list[tuple[str, str]]:
    """The answers int [powers] of a decision of words as (recipient, word) pairs, without silences."""
    names, order = (*board.powers, GLOBAL), recipients(len(board.powers))[power]
    return [
        (names[to], TOKENS[word - 1]) for to, word in sorted(zip(order.tolist(), words.tolist(), strict=True)) if word
    ]


def as_words(board: Board, power: int, spoken: Mapping[str, str]) -> np.ndarray:
    """Words by recipient as the answers of a decision of words: int64 [powers]. The inverse of `to_send`.

    Anything that is not a word, or for another recipient, counts as silence.
    """
    names, order = (*board.powers, GLOBAL), recipients(len(board.powers))[power]
    said = [spoken.get(names[to]) for to in order.tolist()]
    return np.array(
        [1 + TOKENS.index(word) if isinstance(word, str) and word in TOKENS else 0 for word in said], np.int64
    )


class Said:
    """The words sent in the current phase of many games.

    Attributes:
        words: int8 [games, rounds, powers, powers + 1], [game, round, sender, recipient]: 0 is silence, i + 1 is
            ``TOKENS[i]``. The last recipient is GLOBAL.
    """

    def __init__(self, board: Board, rules: Rules, games: int) -> None:
        powers = len(board.powers)
        self._names = (*board.powers, GLOBAL)
        self.words = np.zeros((games, word_rounds(rules), powers, powers + 1), np.int8)
        self._seats = (np.arange(powers)[:, None] + np.arange(powers)) % powers
        self._recipients = recipients(powers)

    def copy(self) -> Said:
        """A copy, which later words do not change."""
        other = copy.copy(self)
        other.words = self.words.copy()
        return other

    def clear(self) -> None:
        """Clear all words, for a new phase."""
        self.words[:] = 0

    def say(self, message_round: int, games: np.ndarray, powers: np.ndarray, words: np.ndarray) -> None:
        """Record `words` int [k, powers] of `powers` [k] in `games` [k]: one word per row of a decision of words."""
        self.words[games[:, None], message_round - 1, powers[:, None], self._recipients[powers]] = words

    def heard(self, games: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """The words that `powers` [k] of `games` [k] got and sent: int8 [k, powers, 3 * rounds], see `Inputs.heard`."""
        return self._gathered(self.words, games, powers)

    def _gathered(self, words: np.ndarray, games: np.ndarray, powers: np.ndarray) -> np.ndarray:
        game, me = games[:, None], powers[:, None]
        other = self._seats[powers]
        columns = (words[game, :, other, me], words[game, :, other, -1], words[game, :, me, other])
        return np.stack(columns, axis=-1).reshape(len(games), other.shape[1], -1)

    def messages(self, game: int, phase: str) -> list[Message]:
        """All messages of a game's phase, as `welfare_env.game.game.Game.messages`."""
        words, names = self.words[game], self._names
        return [
            Message(names[sender], names[recipient], TOKENS[words[number, sender, recipient] - 1], phase, number + 1)
            for number, sender, recipient in np.argwhere(words).tolist()
        ]
