"""Many games at once over arrays, for training: two players write one formula each, token by token, in every game.

>>> import modal_env
>>> games = modal_env.vector_env(64, epsilon=0.1)
>>> games.reset(seed=0)
>>> rewards, done = games.step(games.sample())
>>> rewards.shape, done.shape, games.masks.shape
((64, 2), (64,), (64, 2, 16))

The rules are those of `modal_env.parallel_env` with actions="tokens" and one round: players who are done wait with
token 0, and a game is played when both are. Then its rewards are not 0, it is marked as done, and it begins anew in the
same step. A token that the mask does not allow is an error, and nothing changes.

A player who draws allowed tokens uniformly writes ``true`` or ``false`` in 22% of games, and an agent of depth 0 or 1
in 68%. `modal_env.envs.tokens.Vocabulary.sample` draws formulas of a given size uniformly, to begin elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modal_env.checks import items
from modal_env.envs.action_modes import TokenMode
from modal_env.envs.rounds import Contest, meeting_of
from modal_env.envs.setting import Setting
from modal_env.envs.tokens import Written
from modal_env.errors import GameError, ProgramActionError
from modal_env.logic.notation import Agent
from modal_env.logic.provability import Plays, solve

MAX_CACHED = 100_000  # formulas, and pairs of formulas
Tokens = tuple[int, ...]


class VectorEnv:
    """N games stepped at once. See the module's documentation.

    Attributes:
        num_games: number of games, N.
        vocabulary: the tokens, see `modal_env.envs.tokens`.
        written: int32 [N, 2, budget], the tokens that each player has written, padded with 0.

    Raises:
        GameError: the setting does not have two players, one round and actions="tokens".
    """

    def __init__(self, setting: Setting, num_games: int) -> None:
        mode = setting.mode()
        if not isinstance(mode, TokenMode) or (setting.players, setting.rounds) != (2, 1):
            raise GameError("vector_env: games have two players, one round and actions='tokens'")
        self.setting, self.num_games, self.vocabulary, self.budget = setting, num_games, mode.vocabulary, mode.width
        self._contest = Contest(setting)
        self._compiled: dict[Tokens, Written] = {}
        self._known: dict[tuple[str, int, bool], float] = {}
        self._paid: dict[tuple[Tokens, Tokens], tuple[float, float]] = {}
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Begin all games. The seed is that of `sample`; the games themselves draw nothing."""
        self._rng = np.random.default_rng(seed)
        self.written = np.zeros((self.num_games, 2, self.budget), np.int32)
        self._length = np.zeros((self.num_games, 2), np.int64)
        self._places = np.ones((self.num_games, 2), np.int64)
        self._boxed = np.zeros((self.num_games, 2, self.budget + 1), np.bool_)  # of each open place, the next one last
        self._ended: dict[int, tuple[Tokens, Tokens]] = {}

    @property
    def masks(self) -> NDArray[np.int8]:
        """int8 [N, 2, tokens]: the tokens that each player may write next."""
        spare = self.budget - self._length - self._places
        top = np.maximum(self._places - 1, 0)[..., None]
        boxed = np.take_along_axis(self._boxed, top, axis=2)
        found = self.vocabulary.masks(spare.ravel(), self._places.ravel(), boxed.ravel())
        return found.reshape(self.num_games, 2, len(self.vocabulary))

    def observe(self) -> NDArray[Any]:
        """The observations of all players as in `modal_env.parallel_env`, without the masks.

        int32 [N, 2, 3, 2 + budget]; with flat=True float32 [N, 2, numbers].
        """
        rows = np.zeros((self.num_games, 2, 3, 2 + self.budget), np.int32)
        rows[:, :, 0, 1] = 1
        rows[:, :, 0, 2:] = self.written
        return self._contest.flattened(rows) if self.setting.flat else rows

    def sample(self) -> NDArray[np.int64]:
        """int64 [N, 2]: allowed tokens, drawn uniformly."""
        masks = self.masks
        return np.argmax(self._rng.random(masks.shape) * masks, axis=2)

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Every player writes a token. Returns rewards, float64 [N, 2], and which games ended, bool [N].

        Args:
            actions: whole numbers [N, 2].

        Raises:
            ProgramActionError: another shape or type, or a token that is not allowed.
        """
        tokens = self._checked(actions)
        games, players = np.nonzero(self._places)
        wrote = tokens[games, players]
        self.written[games, players, self._length[games, players]] = wrote
        self._length[games, players] += 1
        top, opened = self._places[games, players] - 1, self.vocabulary.parts[wrote]
        inside = np.where(
            self.vocabulary.boxes[wrote] < 0, self._boxed[games, players, top], self.vocabulary.boxes[wrote]
        )
        self._boxed[games, players, top] = inside
        self._boxed[games, players, np.minimum(top + 1, self.budget)] = inside  # read only if it is open
        self._places[games, players] = top + opened
        done: NDArray[np.bool_] = np.logical_not(self._places.any(axis=1))
        rewards = np.zeros((self.num_games, 2))
        self._ended = {}
        for game in np.flatnonzero(done).tolist():
            rewards[game] = self._play(game)
        self.written[done], self._length[done], self._places[done] = 0, 0, 1
        self._boxed[done] = False
        return rewards, done

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        """Check the actions.

        Raises:
            ProgramActionError: see `step`.
        """
        tokens = actions if isinstance(actions, np.ndarray) else _array(actions, self.num_games)
        if tokens.shape != (self.num_games, 2) or tokens.dtype.kind not in "iu":
            shape = f"{tokens.dtype} {list(tokens.shape)}"
            raise ProgramActionError(f"actions: {shape}: give whole numbers [{self.num_games}, 2]")
        inside = (tokens >= 0) & (tokens < len(self.vocabulary))
        allowed = np.take_along_axis(self.masks, np.where(inside, tokens, 0).astype(np.int64)[..., None], axis=2)[
            ..., 0
        ]
        if not (inside & (allowed > 0)).all():
            game, player = np.argwhere(~(inside & (allowed > 0)))[0].tolist()
            raise ProgramActionError(
                f"actions[{game}, {player}] = {tokens[game, player]}: not among the allowed tokens, see `masks`"
            )
        return tokens.astype(np.int64)

    def program(self, game: int, player: int) -> Agent:
        """The program of a player in a game that ended in the last step.

        Raises:
            ProgramActionError: the game did not end in the last step.
        """
        if game not in self._ended:
            raise ProgramActionError(f"game {game}: it did not end in the last step")
        return self.vocabulary.agent(self._ended[game][player])

    def _play(self, game: int) -> tuple[float, float]:
        """The payoffs of a game whose formulas are complete."""
        one, other = (tuple(self.written[game, player, : self._length[game, player]].tolist()) for player in (0, 1))
        self._ended[game] = one, other
        if (one, other) not in self._paid:
            if len(self._paid) >= MAX_CACHED:
                self._paid.clear()
            self._paid[one, other] = self._fast(one, other) if self.setting.cost == "depth" else self._exact(one, other)
        return self._paid[one, other]

    def _exact(self, one: Tokens, other: Tokens) -> tuple[float, float]:
        """The payoffs at any cost."""
        programs = self.vocabulary.agent(one), self.vocabulary.agent(other)
        setting = self.setting
        meetings = (
            meeting_of(*programs, setting.cost, setting.payoffs),
            meeting_of(*programs[::-1], setting.cost, setting.payoffs.turned),
        )
        return float(meetings[0].paid(setting.epsilon)), float(meetings[1].paid(setting.epsilon))

    def _fast(self, one: Tokens, other: Tokens) -> tuple[float, float]:
        """The payoffs where costs are depths."""
        first, second = self._written(one), self._written(other)
        plays = Plays([(first, second), (second, first)])
        solution = solve(plays.equations)
        numbers = plays.number(first, second), plays.number(second, first)
        own, theirs = ("DC"[solution.value(number, solution.settles)] for number in numbers)
        return self._points(own + theirs, first.depth), self._points(theirs + own, second.depth, is_column=True)

    def _points(self, moves: str, depth: int, is_column: bool = False) -> float:
        """A player's payoff, given its move and the other's."""
        key = moves, depth, is_column
        if key not in self._known:
            table = self.setting.payoffs.turned if is_column else self.setting.payoffs
            self._known[key] = float(table[moves] - self.setting.epsilon * depth)
        return self._known[key]

    def _written(self, tokens: Tokens) -> Written:
        if tokens not in self._compiled:
            if len(self._compiled) >= MAX_CACHED:
                self._compiled.clear()
            self._compiled[tokens] = self.vocabulary.compiled(tokens)
        return self._compiled[tokens]


def _array(actions: object, count: int) -> NDArray[Any]:
    """Lists of rows as an array; an empty one if they are not."""
    rows = [items(row, 3) for row in items(actions, count + 1) or ()]
    is_table = all(row is not None and len(row) == 2 for row in rows)
    return np.array(rows) if is_table else np.empty(0)
