"""The rounds that both environments play: choices, pairs, payoffs and observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from modal_env.envs.action_modes import ContestTurn
from modal_env.envs.setting import Setting
from modal_env.errors import FormulaError
from modal_env.games.game import meet
from modal_env.logic.library import DefectBot
from modal_env.logic.notation import Agent

MOVE_CODES = {"-": 0, "D": 1, "C": 2}
meeting_of = lru_cache(maxsize=10_000)(meet)
"""The outcome of two programs; cached, as the same pairs meet often."""


class MaskedSpace(spaces.Dict):
    """Observations with an action mask; as `welfare_env.envs.observation.MaskedSpace`."""

    def __getitem__(self, key: str) -> spaces.Space[Any]:
        if key == "observations" and key not in self.spaces:
            raise KeyError(f"no {key!r} among {sorted(self.spaces)}: make the environment with flat=True")
        return super().__getitem__(key)

    def __repr__(self) -> str:
        return f"{super().__repr__()} (RLlib: for a network that keeps to the mask give training.LegalOrdersModule)"


@dataclass(frozen=True)
class Round:
    """A round that was played; public knowledge afterwards. All fields have one entry per player, in their sequence.

    Attributes:
        programs: the programs that played.
        partners: the number of the player that each was paired with; its own number if the player sat out.
        moves: "C" or "D", after coins are tossed; "-" for the player that sat out.
        payoffs: payoffs, cost deducted; 0 for the player that sat out.
        written: the programs as numbers, see `ContestTurn`.
        seats: "row" or "column", "" for the player that sat out; they matter only in asymmetric games.
    """

    programs: tuple[Agent, ...]
    partners: tuple[int, ...]
    moves: tuple[str, ...]
    payoffs: tuple[float, ...]
    written: tuple[tuple[int, ...], ...]
    seats: tuple[str, ...] = ()


class History(Sequence[Round]):
    """The rounds so far: the first `count` of a list to which later ones are added."""

    def __init__(self, rounds: list[Round], count: int) -> None:
        self._rounds, self._count = rounds, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        found = range(self._count)[index]
        return tuple(self._rounds[i] for i in found) if isinstance(found, range) else self._rounds[found]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, History | tuple | list) else NotImplemented

    def __repr__(self) -> str:
        return repr(tuple(self))


class Contest:
    """A game of several rounds, independent of PettingZoo. Players are numbers here.

    Attributes:
        mode: how programs are chosen.
        rounds: the rounds played.
        turns: what every player has chosen in this round.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.mode = setting.mode()
        self._rng = np.random.default_rng()
        self.begin(None)

    def begin(self, seed: int | None) -> None:
        """Begin a new game; without a seed the generator continues."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.rounds: list[Round] = []
        self.turns = [ContestTurn() for _ in range(self.setting.players)]
        self._last = np.zeros((self.setting.players, 2 + self.mode.width), np.int32)

    @property
    def history(self) -> History:
        """The rounds played so far; later ones do not change it."""
        return History(self.rounds, len(self.rounds))

    @property
    def is_over(self) -> bool:
        return len(self.rounds) >= self.setting.rounds

    @property
    def all_ready(self) -> bool:
        """Whether all players have chosen."""
        return all(turn.program for turn in self.turns)

    def is_ready(self, player: int) -> bool:
        """Whether a player has chosen."""
        return self.turns[player].program is not None

    def take(self, actions: Mapping[int, Any]) -> None:
        """Carry out the actions of some players.

        Raises:
            ProgramActionError: a value is not an action.
            FormulaError: strict, and a formula or token is not allowed. After any error nothing has changed.
        """
        turns = {player: self._after(self.turns[player], action) for player, action in actions.items()}
        for player, turn in turns.items():
            self.turns[player] = turn

    def _after(self, turn: ContestTurn, action: Any) -> ContestTurn:
        """The turn after an action; DefectBot, if there is no program yet, after one that is not allowed."""
        try:
            return self.mode.take(turn, action)
        except FormulaError as error:
            if self.setting.strict:
                raise
            return replace(turn if turn.program else ContestTurn(DefectBot), refused=(str(error),))

    def play(self) -> list[float]:
        """Draw pairs, let them play, and begin the next round. Returns every player's payoff.

        If the number of players is odd, the last one drawn sits out.
        """
        number = self.setting.players
        programs = tuple(turn.program for turn in self.turns if turn.program)
        partners, moves, payoffs, seats = list(range(number)), ["-"] * number, [0.0] * number, [""] * number
        for pair in self._pairs():
            played = self._meet(programs[pair[0]], programs[pair[1]])
            for player, partner, move, payoff, seat in zip(pair, pair[::-1], *played, ("row", "column"), strict=True):
                partners[player], moves[player], payoffs[player], seats[player] = partner, move, payoff, seat
        written = tuple(turn.written for turn in self.turns)
        self.rounds.append(Round(programs, tuple(partners), tuple(moves), tuple(payoffs), written, tuple(seats)))
        self.turns = [ContestTurn(refused=turn.refused) for turn in self.turns]
        self._last[:] = 0
        for row, partner, move, tokens in zip(self._last, partners, moves, written, strict=True):
            row[: 2 + len(tokens)] = partner, MOVE_CODES[move], *tokens
        return payoffs

    def _pairs(self) -> list[list[int]]:
        """Pairs drawn at random, the row player first; in an asymmetric game of two players, player 0 is first."""
        number = self.setting.players
        drawn = self._rng.permutation(number)[: number - number % 2].reshape(-1, 2).tolist()
        return [[0, 1]] if number == 2 and not self.setting.payoffs.is_symmetric else drawn

    def _meet(self, a: Agent, b: Agent) -> tuple[str, list[float]]:
        """The moves, coins tossed, and payoffs of two programs."""
        setting = self.setting
        meeting = meeting_of(a, b, setting.cost, setting.payoffs)
        moves = "".join(("D" if self._rng.random() < 0.5 else "C") if move == "?" else move for move in meeting.moves)
        won = setting.payoffs[moves], setting.payoffs.turned[moves[::-1]]
        return moves, [float(points - setting.epsilon * cost) for points, cost in zip(won, meeting.costs, strict=True)]

    @property
    def _high(self) -> NDArray[np.int32]:
        """[1 + players, 2 + width] the largest numbers of an observation."""
        players, width = self.setting.players, self.mode.width
        high = np.empty((1 + players, 2 + width), np.int32)
        high[0, :2], high[1:, :2], high[:, 2:] = self.setting.rounds, (players, 2), self.mode.largest
        return high

    def observation_space(self) -> spaces.Space:
        """A new observation space for one player."""
        high = self._high
        seen: dict[str, spaces.Space] = {"observation": spaces.Box(np.zeros_like(high), high, dtype=np.int32)}
        if self.setting.flat:
            seen = {"observations": spaces.Box(0.0, 1.0, (len(self.flattened(np.zeros_like(high))),), np.float32)}
        mask = self.mode.mask(ContestTurn())
        if mask is not None:
            seen["action_mask"] = spaces.Box(0, 1, mask.shape, np.int8)
        return MaskedSpace(seen)

    def observe(self, player: int) -> dict[str, np.ndarray]:
        """The observation of a player, see `modal_env.envs.aec`."""
        turn, players = self.turns[player], self.setting.players
        rows = np.concatenate((self._now(turn), self._last[player:], self._last[:player]))
        if self.rounds:
            last = rows[1:]
            last[:, 0] = 1 + (last[:, 0] - player) % players
            last[last[:, 1] == MOVE_CODES["-"], 0] = 0  # sat out
        mask = self.mode.mask(turn)
        seen = {"observations": self.flattened(rows)} if self.setting.flat else {"observation": rows}
        return seen if mask is None else {**seen, "action_mask": mask}

    def _now(self, turn: ContestTurn) -> NDArray[np.int32]:
        """[1, 2 + width] rounds played, rounds of the game, and what a player has written."""
        now = np.zeros((1, self._last.shape[1]), np.int32)
        now[0, : 2 + len(turn.written)] = len(self.rounds), self.setting.rounds, *turn.written
        return now

    def flattened(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Observations [..., 1 + players, 2 + width] as vectors of numbers from 0 to 1.

        First the part of the rounds that is over, then one-hot: the tokens of all rows, the partners and the moves of
        all rows but the first.
        """
        written = _one_hot(rows[..., 2:], self.mode.largest)
        partners, moves = _one_hot(rows[..., 1:, :1], self.setting.players), _one_hot(rows[..., 1:, 1:2], 2)
        begun = rows[..., :1, 0] / self.setting.rounds
        parts = [begun, *(part.reshape(*rows.shape[:-2], -1) for part in (written, partners, moves))]
        return np.concatenate(parts, axis=-1).astype(np.float32)

    def state(self) -> NDArray[np.int32]:
        """[2 players, 2 + width] a row of what each player has written in this round, then one of its last round."""
        return np.concatenate([*(self._now(turn) for turn in self.turns), self._last])

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state`."""
        high = self._high[[0] * self.setting.players + [*range(1, 1 + self.setting.players)]]
        return spaces.Box(np.zeros_like(high), high, dtype=np.int32)

    def info(self, player: int) -> dict[str, Any]:
        """The info of a player; empty if the setting has `infos` off."""
        if not self.setting.infos:
            return {}
        return {"history": self.history, "setting": self.setting, "refused": self.turns[player].refused}


def _one_hot(numbers: NDArray[np.int32], largest: int) -> NDArray[np.bool_]:
    return numbers[..., None] == np.arange(1 + largest)
