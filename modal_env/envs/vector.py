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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modal_env.checks import brief, integer, items, seed_of
from modal_env.envs.action_modes import TokenMode
from modal_env.envs.rounds import Contest
from modal_env.envs.setting import Setting
from modal_env.envs.tokens import Written
from modal_env.errors import GameError, ProgramActionError
from modal_env.games.game import meet
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
        self._paid: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        self._turned = setting.payoffs.turned
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Begin all games. The seed is that of `sample`; the games themselves draw nothing.

        Raises:
            GameError: the seed is not a whole number from 0.
        """
        self._rng = np.random.default_rng(None if seed is None else seed_of(seed))
        self.written = np.zeros((self.num_games, 2, self.budget), np.int32)
        self._length = np.zeros((self.num_games, 2), np.int64)
        self._places = np.ones((self.num_games, 2), np.int64)
        self._boxed = np.zeros((self.num_games, 2, self.budget + 1), np.int64)  # of each open place, the next one last
        self._ended: dict[int, tuple[Tokens, Tokens]] = {}

    @property
    def masks(self) -> NDArray[np.int8]:
        """int8 [N, 2, tokens]: the tokens that each player may write next."""
        spare = np.where(self._places, np.minimum(self.budget - self._length - self._places, 2), 3)
        top = np.maximum(self._places - 1, 0)[..., None]
        return self.vocabulary.masks[spare, np.take_along_axis(self._boxed, top, axis=2)[..., 0]]

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
        top, boxes = self._places[games, players] - 1, self.vocabulary.boxes[wrote]
        inside = np.where(boxes < 0, self._boxed[games, players, top], boxes)
        self._boxed[games, players, top] = inside
        self._boxed[games, players, np.minimum(top + 1, self.budget)] = inside  # read only if it is open
        self._places[games, players] = top + self.vocabulary.parts[wrote]
        done: NDArray[np.bool_] = np.logical_not(self._places.any(axis=1))
        ended = np.flatnonzero(done).tolist()
        self._ended = {game: (self._tokens(game, 0), self._tokens(game, 1)) for game in ended}
        rewards = np.zeros((self.num_games, 2))
        rewards[done] = np.reshape([_kept(self._paid, self._ended[game], self._payoffs) for game in ended], (-1, 2))
        self.written[done], self._length[done], self._places[done], self._boxed[done] = 0, 0, 1, 0
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
        found = np.where(inside, tokens, 0).astype(np.int64)
        allowed = inside & (np.take_along_axis(self.masks, found[..., None], axis=2)[..., 0] > 0)
        if not allowed.all():
            game, player = np.argwhere(~allowed)[0].tolist()
            wrong = f"actions[{game}, {player}] = {tokens[game, player]}"
            raise ProgramActionError(f"{wrong}: not among the allowed tokens, see `masks`")
        return found

    def program(self, game: int, player: int) -> Agent:
        """The program of a player, 0 or 1, in a game that ended in the last step.

        Raises:
            ProgramActionError: the game did not end in the last step.
        """
        if integer(game) not in self._ended or integer(player) not in (0, 1):
            raise ProgramActionError(f"game {brief(game)}, player {brief(player)}: it did not end in the last step")
        return self.vocabulary.agent(self._ended[game][player])

    def _tokens(self, game: int, player: int) -> Tokens:
        return tuple(self.written[game, player, : self._length[game, player]].tolist())

    def _payoffs(self, pair: tuple[Tokens, Tokens]) -> tuple[float, ...]:
        """The payoffs of two complete formulas."""
        paid = (self._played if self.setting.cost == "depth" else self._met)(pair)
        return tuple(float(points - self.setting.epsilon * cost) for points, cost in paid)

    def _met(self, pair: tuple[Tokens, Tokens]) -> Iterator[tuple[Fraction, Fraction]]:
        """The points and the cost of each formula, at any cost."""
        one, other = map(self.vocabulary.agent, pair)
        meeting = meet(one, other, self.setting.cost, self.setting.payoffs)
        return zip(meeting.points, meeting.costs, strict=True)

    def _played(self, pair: tuple[Tokens, Tokens]) -> Iterator[tuple[Fraction, int]]:
        """The same where costs are depths."""
        one, other = (_kept(self._compiled, tokens, self.vocabulary.compiled) for tokens in pair)
        plays = Plays([(one, other), (other, one)])
        solution = solve(plays.equations)
        numbers = plays.number(one, other), plays.number(other, one)
        moves = "".join("DC"[solution.value(number, solution.settles)] for number in numbers)
        points = self.setting.payoffs[moves], self._turned[moves[::-1]]
        return zip(points, (one.depth, other.depth), strict=True)


def _kept(memory: dict[Any, Any], key: Any, make: Callable[[Any], Any]) -> Any:
    """What `make` makes of a key, once; the memory is emptied when it is full."""
    if key not in memory:
        if len(memory) >= MAX_CACHED:
            memory.clear()
        memory[key] = make(key)
    return memory[key]


def _array(actions: object, count: int) -> NDArray[Any]:
    """Lists of rows as an array; an empty one if they are not."""
    rows = [items(row, 3) for row in items(actions, count + 1) or ()]
    is_table = all(row is not None and len(row) == 2 for row in rows)
    return np.array(rows) if is_table else np.empty(0)
