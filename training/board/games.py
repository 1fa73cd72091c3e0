"""A batch of games over arrays, and their transcript as strings for scripted players.

With tokens, all living powers choose words in every message round before they choose orders, as in
`welfare_env.envs.parallel`. Words do not affect the rules, so they are stored here, outside the vector environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

import welfare_env
from agents.rl.inputs import InputEncoder, Inputs, as_choices
from agents.rl.token_press import Said, speakers
from training.errors import TrainingError
from welfare_env.board.board import Board
from welfare_env.engine import State, layout_of
from welfare_env.engine.fast import FastEngine
from welfare_env.envs.vector import LegalLists
from welfare_env.game.history import PhaseRecord, play_phase
from welfare_env.game.position import Position
from welfare_env.rules import Rules

Answer = Callable[[int, np.ndarray, Inputs, np.ndarray], np.ndarray]
"""(player number, games [k], inputs of k decisions, random numbers [R]) -> answers int64 [R]."""


class GameBatch:
    """Games that begin together and play phase by phase in lockstep.

    Args:
        reader: the encoder of inputs.

    Attributes:
        env: a `welfare_env.envs.vector.VectorEnv`. live: bool [games], the games that are not over.
        said: the words of the phase. transcript: positions, and with `keeps_transcript` also the earlier phases.

    Raises:
        TrainingError: press other than tokens, or a mediator.
    """

    def __init__(self, map_name: str, rules: Rules, num_games: int, reader: InputEncoder) -> None:
        check_press(rules)
        self.env = welfare_env.vector_env(num_games, map_name, rules)
        self.said = Said(self.env.board, rules, num_games)
        self.transcript, self.keeps_transcript = TextHistory(self.env.board, rules), True
        self._reader = reader

    def phases(
        self, seats: np.ndarray, answer: Answer, draw: Callable[[int], np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Play from the beginning to the end, phase by phase.

        Args:
            seats: int64 [games, powers], the player number of each seat, passed to `answer`.
            draw: returns this many random numbers from 0 to 1, for `answer`.

        Yields:
            The states before and after the phase, int32 [games, size], and the games that ended, bool [games]. `live`
            are the games that played the phase.
        """
        self.env.reset(seed=0)
        self.transcript.clear()
        self.live = np.ones(self.env.num_games, np.bool_)
        while self.live.any():
            before = self.env.rows.copy()
            self.transcript.begin_phase(before)
            self._talk(seats, answer, draw)
            choices = self._choices(seats, answer, draw)
            if self.keeps_transcript:
                self.transcript.add(self.env.legal, choices, self.said)
            _, done = self.env.step(choices)
            yield before, np.where(done[:, None], self.env.final, self.env.rows), done & self.live
            self.live &= ~done
        self.transcript.clear()  # frees memory

    def _talk(self, seats: np.ndarray, answer: Answer, draw: Callable[[int], np.ndarray]) -> None:
        """Play the message rounds of a phase; in each, all players speak simultaneously."""
        self.said.clear()
        if not self._reader.message_rounds:
            return
        is_speaking = speakers(self.env.board, self.env.rows) & self.live[:, None]
        for message_round in range(1, 1 + self._reader.message_rounds):
            spoken = []
            for number in np.unique(seats[is_speaking]).tolist():
                games, powers = np.nonzero(is_speaking & (seats == number))
                heard = self.said.heard(games, powers)
                inputs = self._reader.words(self.env.rows, games, powers, heard, message_round)
                words = answer(number, games, inputs, draw(inputs.num_rows))
                spoken.append((games, powers, words.reshape(len(games), -1)))
            for games, powers, words in spoken:
                self.said.say(message_round, games, powers, words)

    def _choices(self, seats: np.ndarray, answer: Answer, draw: Callable[[int], np.ndarray]) -> np.ndarray:
        """A choice for every row of the legal lists: int32 [rows]."""
        legal, states = self.env.legal, self.env.rows
        choices = np.full(len(legal), -1, np.int32)
        is_live, who, chances = self.live[legal.games], seats[legal.games, legal.powers], draw(len(legal))
        for number in np.unique(who[is_live]).tolist():
            rows = by_decision(legal, np.flatnonzero(is_live & (who == number)))
            games, powers = decisions(legal.games[rows], legal.powers[rows])
            heard = self.said.heard(games, powers) if self._reader.message_rounds else None
            inputs = self._reader.select(states, legal, games, powers, heard)
            answers = answer(number, games, inputs, chances[rows])
            choices[rows] = as_choices(answers, states[legal.games[rows]])
        return choices


def check_press(rules: Rules) -> None:
    """Check that press is off or tokens, without a mediator.

    Raises:
        TrainingError: free text, or a mediator.
    """
    if rules.mediator:
        raise TrainingError("mediator=True: training has no policy for the mediator; leave it out")
    if rules.has_press and not rules.has_tokens:
        raise TrainingError(f"press={rules.press!r}: learners can only speak tokens; give press='tokens' or None")


def by_decision(legal: LegalLists, rows: np.ndarray) -> np.ndarray:
    """Sort rows of legal lists in the order of decisions: by game, power and row."""
    return rows[np.lexsort((rows, legal.powers[rows], legal.games[rows]))]


def decisions(games: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct (game, power) pairs of rows, sorted: two int64 arrays."""
    pairs = np.unique(games.astype(np.int64) * 1000 + powers)
    return pairs // 1000, pairs % 1000


@dataclass(frozen=True)
class _Phase:
    """A phase of all games: their states [games, size], the orders given, as columns [orders], and the words."""

    states: np.ndarray
    games: np.ndarray
    powers: np.ndarray
    numbers: np.ndarray
    said: Said


class TextHistory:
    """The history of games that play in lockstep.

    It is stored as arrays, and turned into strings when read.

    Attributes:
        states: int32 [games, size], the current positions; set by `begin_phase`.
    """

    states: np.ndarray

    def __init__(self, board: Board, rules: Rules) -> None:
        self._engine, self._layout = FastEngine(board, rules), layout_of(board)
        self._phases: list[_Phase] = []
        self._records: dict[int, list[PhaseRecord]] = {}
        self._positions: dict[int, Position] = {}

    def clear(self) -> None:
        """Forget the history, because new games begin."""
        self._phases, self._records, self._positions = [], {}, {}

    def begin_phase(self, states: np.ndarray) -> None:
        """Begin a phase in states int32 [games, size]. The array is stored, not copied."""
        self.states, self._positions = states, {}

    def add(self, legal: LegalLists, choices: np.ndarray, said: Said) -> None:
        """Add a phase of all games: these choices of `vector_env`, and the words said in it."""
        rows = np.flatnonzero(choices >= 0)
        numbers = legal.orders[legal.starts[rows] + choices[rows]]
        self._phases.append(_Phase(self.states, legal.games[rows], legal.powers[rows], numbers, said.copy()))

    def position(self, game: int) -> Position:
        """The current position of a game."""
        if game not in self._positions:
            self._positions[game] = Position(self._engine, State(self._layout, self.states[game].copy()))
        return self._positions[game]

    def history(self, game: int) -> Sequence[PhaseRecord]:
        """The phases that a game has played."""
        return _History(self, game, len(self._phases))

    def record(self, game: int, number: int) -> PhaseRecord:
        """Phase `number`, from 0, that a game has played."""
        known = self._records.setdefault(game, [])
        while len(known) <= number:
            known.append(self._read(self._phases[len(known)], game))
        return known[number]

    def _read(self, phase: _Phase, game: int) -> PhaseRecord:
        position = Position(self._engine, State(self._layout, phase.states[game].copy()))
        rows = np.flatnonzero(phase.games == game)
        powers, numbers = phase.powers[rows], phase.numbers[rows]
        orders = {name: numbers[powers == power].tolist() for power, name in enumerate(position.board.powers)}
        return play_phase(position, orders, messages=tuple(phase.said.messages(game, position.phase)))


class _History(Sequence[PhaseRecord]):
    """The records of a game, each made when it is read."""

    def __init__(self, transcript: TextHistory, game: int, length: int) -> None:
        self._transcript, self._game, self._length = transcript, game, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> PhaseRecord: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[PhaseRecord]: ...
    def __getitem__(self, at: int | slice) -> PhaseRecord | Sequence[PhaseRecord]:
        if isinstance(at, slice):
            return [self._transcript.record(self._game, number) for number in range(*at.indices(self._length))]
        return self._transcript.record(self._game, range(self._length)[at])
