"""Many games at once, as arrays, for training.

>>> import welfare_env
>>> games = welfare_env.vector_env(64, years=3)
>>> games.reset(seed=0)
>>> rewards, done = games.step(games.sample())
>>> rewards.shape, done.shape
((64, 7), (64,))

`VectorEnv` steps N games with the same board and rules together, without press. After `reset` and every `step`, `legal`
holds the legal orders of all games in compact form: a *row* per slot (a unit; a dislodged unit; in Winter a unit that
may be disbanded, or a center where a unit may be built) with its orders. A step takes one choice per row: an index into
the row's orders, or -1 for no order; other values are refused. Games that end are reset in the same step.

Choices are as in `welfare_env.envs.parallel`: in Winter a power's first choice decides whether it builds or disbands
(unless the rules have ``build_and_disband``), and excess choices are dropped. Transfers (`GIVE`) are not available
here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.engine import Frozen, State, initial_state, kernels, layout_of
from welfare_env.engine.fast import Scratch, room_for_orders, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.envs.observation import fill_many, num_features
from welfare_env.errors import ActionError, RulesError
from welfare_env.game.scoring import scores
from welfare_env.rules import Rules

INT32 = np.dtype(np.int32)
ORDERS_A_GAME = 600  # initial buffer size per game; a movement phase has about 500, buffers grow when needed
MAX_THREADS = 256
MAX_GAMES = 2**17  # on all boards of the fast engine they have fewer than 2**31 legal orders
MAX_WIDTH = 2**16  # of padded lists; on all boards of the fast engine a unit has fewer orders


@dataclass(frozen=True, slots=True, eq=False)
class LegalLists(Frozen):
    """The legal orders of many games. All arrays are read-only and valid until the next step.

    Attributes:
        orders: int32 [n], order numbers, row by row.
        starts: int32 [rows + 1], where each row begins in `orders`.
        games, powers, slots: int32 [rows], game, power and slot of each row (see `engine.Legal`).
    """

    orders: np.ndarray
    starts: np.ndarray
    games: np.ndarray
    powers: np.ndarray
    slots: np.ndarray

    def __len__(self) -> int:
        return len(self.games)

    def padded(self, width: int | None = None) -> np.ndarray:
        """The order numbers of each row, padded with -1 or truncated: int32 [rows, width].

        Raises:
            ActionError: `width` is not a whole number, or above MAX_WIDTH.
        """
        lengths = np.diff(self.starts)
        most = int(lengths.max(initial=0))
        columns = np.arange(most if width is None else checks.whole("width", width, 0, MAX_WIDTH, ActionError))
        table = self.orders[np.minimum(self.starts[:-1, None] + columns, max(len(self.orders) - 1, 0))]
        return np.where(columns < lengths[:, None], table, -1)


def _joined(parts: Sequence[LegalLists]) -> LegalLists:
    """Concatenate the lists of several chunks of games."""
    shifts = np.cumsum([0, *(len(part.orders) for part in parts)], dtype=np.int32)
    starts = [part.starts[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return LegalLists(
        np.concatenate([part.orders for part in parts]),
        np.concatenate([*starts, shifts[-1:]]),
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("games", "powers", "slots")),
    )


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view: kernels trust these arrays."""
    view = array.view()
    view.setflags(write=False)
    return view


class _Chunk:
    """The games of one thread, with their working memory and buffers of legal lists."""

    def __init__(self, board: Board, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.scratch = Scratch(tables_of(board))
        most = (last - first) * (len(board.provinces) + len(board.centers)) + 1
        self.orders = np.zeros((last - first) * ORDERS_A_GAME + room_for_orders(tables_of(board)), np.int32)
        self.starts, self.games, self.slots, self.powers, self.choices = (np.zeros(most, np.int32) for _ in range(5))
        self.first_row = np.zeros(last + 1, np.int32)
        self._shown = [_read_only(array) for array in (self.orders, self.starts, self.games, self.powers, self.slots)]

    @property
    def rows(self) -> int:
        return int(self.first_row[self.last])

    def lists(self) -> LegalLists:
        """The chunk's legal lists; `starts` counts from its own first order."""
        rows, (orders, starts, games, powers, slots) = self.rows, self._shown
        return LegalLists(orders[: starts[rows]], starts[: rows + 1], games[:rows], powers[:rows], slots[:rows])

    def grow(self) -> None:
        self.orders = np.concatenate([self.orders, np.zeros_like(self.orders)])
        self._shown[0] = _read_only(self.orders)


class VectorEnv:
    """N games stepped at once. See the module's documentation.

    A copy (`copy.copy`, `copy.deepcopy` or pickle) is independent of its original and continues identically.

    Attributes:
        board, rules: of all games.
        num_games: number of games.

    Raises:
        RulesError: number of threads or games out of bounds, or rules with press.
    """

    def __init__(self, board: Board, rules: Rules, num_games: int, threads: int = 1) -> None:
        if rules.has_press:
            raise RulesError("vector_env plays without press: use press=None")
        self.board, self.rules = board, rules
        self.num_games = checks.whole("num_games", num_games, 1, MAX_GAMES)
        self._threads = checks.whole("threads", threads, 1, MAX_THREADS)
        self._numbers, self._masks = tables_of(board).numbers, tables_of(board).masks
        self._rules = rules_array(board, rules)
        size = layout_of(board).size
        self._rows = np.zeros((self.num_games, size), np.int32)
        self._final = np.zeros((self.num_games + 1, size), np.int32)
        self._final[-1] = initial_state(board).row
        self._gains = np.zeros((self.num_games, len(board.powers)), np.int32)
        self._done = np.zeros(self.num_games, np.bool_)
        self._streams: np.ndarray = np.zeros(self.num_games, np.uint64)
        edges = np.linspace(0, self.num_games, min(self._threads, self.num_games) + 1).astype(int).tolist()
        self._chunks = [_Chunk(board, first, last) for first, last in pairwise(edges)]
        self._begun = False
        self._pool: tuple[int, ThreadPoolExecutor] | None = None  # (id of the process that owns the threads, pool)

    def __repr__(self) -> str:
        return f"<VectorEnv of {self.num_games} games on {self.board.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = [getattr(self, name).copy() for name in STATE]
        return _again, (self.board, self.rules, self.num_games, self._threads, self._begun, arrays)

    @property
    def rows(self) -> np.ndarray:
        """int32 [num_games, state size], the games' states (`engine.Layout`). Read-only; every step overwrites it."""
        return _read_only(self._rows)

    @property
    def final(self) -> np.ndarray:
        """int32 [num_games, state size], the final states of games that ended in the last step; otherwise as `rows`."""
        return _read_only(self._final[:-1])

    @property
    def legal(self) -> LegalLists:
        """The legal lists of the current positions.

        Raises:
            ActionError: before `reset`.
        """
        self._check_begun()
        return self._legal

    def reset(self, seed: int = 0) -> None:
        """Restart all games. The seed and a game's index determine its random stream (for `sample`).

        Raises:
            RulesError: invalid seed.
        """
        self._streams = np.random.SeedSequence(checks.seed(seed)).generate_state(len(self._rows), np.uint64)
        self._rows[:] = self._final[-1]
        self._done[:] = False
        self._begin()

    def _begin(self) -> None:
        """List the legal orders of the current positions."""
        self._begun = True
        self._each(self._list)
        self._show()

    def sample(self) -> np.ndarray:
        """Random legal choices, as by the random policy: int32 [rows], a new array.

        Raises:
            ActionError: before `reset`.
        """
        self._check_begun()
        self._each(self._sample)
        parts = [chunk.choices[: chunk.rows] for chunk in self._chunks]
        return parts[0].copy() if len(parts) == 1 else np.concatenate(parts)

    def step(self, choices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Play one phase of every game.

        Args:
            choices: int [rows], for each row of `legal` an index into its list, or -1 for no order.

        Returns:
            Rewards float32 [num_games, powers] (as in the AEC environment: points gained; standard: final scores), and
            bool [num_games], the games that ended and were restarted.

        Raises:
            ActionError: wrong shape or type of choices, a choice out of its row's range, or called before `reset`. The
                games are then unchanged.
        """
        self._check_begun()
        given = self._checked(choices)
        first = 0
        for chunk in self._chunks:
            rows = chunk.rows
            chunk.choices[:rows] = given[first : first + rows]
            first += rows
        ended = sum(self._each(self._step))
        self._show()
        return self._rewards(ended), self._done.copy()

    def _checked(self, choices: np.ndarray) -> np.ndarray:
        """The choices as int32 [rows].

        Raises:
            ActionError: as `step`.
        """
        given = checks.whole_array(choices, self._legal.games.shape)
        if given is None:
            kind = f"{choices.dtype} {choices.shape}" if isinstance(choices, np.ndarray) else checks.quoted(choices)
            raise ActionError(f"choices {kind}: give {len(self._legal)} whole numbers, one per row of legal")
        small = given
        if given.dtype != INT32:  # larger numbers must not wrap around to valid choices
            small = np.where((given >= -1) & (given < 2**31), given, -2).astype(np.int32)
        # One comparison for both bounds: as unsigned numbers, -1 + 1 is 0, and smaller numbers are huge.
        starts = self._legal.starts
        is_wrong = (small + 1).view(np.uint32) > (starts[1:] - starts[:-1]).view(np.uint32)
        if is_wrong.any():
            self._refuse(given, int(is_wrong.argmax()))
        return small

    def _refuse(self, given: np.ndarray, row: int) -> NoReturn:
        """Raise ActionError for a row's invalid choice."""
        legal = self._legal
        count, power = int(legal.starts[row + 1] - legal.starts[row]), self.board.powers[legal.powers[row]]
        raise ActionError(
            f"choice {given[row]} in row {row} (game {legal.games[row]}, {power}, slot {legal.slots[row]}): "
            f"it has {count} choices; give 0 to {count - 1}, or -1 for no order"
        )

    def _check_begun(self) -> None:
        if not self._begun:
            raise ActionError("the games have not begun: call reset() first")

    def observe(
        self, games: np.ndarray | Sequence[int], powers: np.ndarray | Sequence[int], out: np.ndarray | None = None
    ) -> np.ndarray:
        """Observations of powers (`welfare_env.envs.observation`): float32 [k, provinces, features].

        Args:
            games, powers: int [k], the observers.
            out: array to write to; C-contiguous.

        Raises:
            ActionError: wrong shape or type of `out`, unknown games or powers, or called before `reset`.
        """
        self._check_begun()
        which = checks.indices("games", games, len(self._rows))
        who = checks.indices("powers", powers, len(self.board.powers))
        if len(which) != len(who):
            raise ActionError(f"{len(which)} games and {len(who)} powers: give the same number of both")
        shape = (len(which), len(self.board.provinces), num_features(self.board))
        if out is None:
            out = np.empty(shape, np.float32)
        elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float32 or not out.flags.carray:
            given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else checks.quoted(out)
            raise ActionError(f"out is {given}: give a writable C-contiguous float32 array of shape {shape}")
        fill_many(self.board, self._rows, self.rules.years, which, who, np.asarray(out))
        return out

    def state(self, game: int) -> State:
        """The state of one game as an `engine.State`.

        Raises:
            ActionError: no such game, or called before `reset`.
        """
        self._check_begun()
        number = checks.whole("game", game, 0, len(self._rows) - 1, ActionError)
        return State(layout_of(self.board), self._rows[number].copy())

    def _rewards(self, ended: int) -> np.ndarray:
        if self.rules.is_welfare:
            return self._gains.astype(np.float32)
        rewards = np.zeros(self._gains.shape, np.float32)
        for game in np.flatnonzero(self._done) if ended else ():
            rewards[game] = scores(self.board, self.rules, State(layout_of(self.board), self._final[game].copy()))
        return rewards

    def _show(self) -> None:
        parts = [chunk.lists() for chunk in self._chunks]
        self._legal = parts[0] if len(parts) == 1 else _joined(parts)

    def _each(self, work: Callable[[_Chunk], Any]) -> list[Any]:
        """The results of `work` for every chunk, each run in its own thread."""
        if len(self._chunks) == 1:
            return [work(self._chunks[0])]
        if self._pool is None or self._pool[0] != os.getpid():  # a fork does not inherit the threads
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._chunks))
        return list(self._pool[1].map(work, self._chunks))

    def _list(self, chunk: _Chunk) -> None:
        at, game = chunk.scratch, chunk.first
        games = self._numbers, self._masks, self._rules, self._rows
        lists = chunk.starts, chunk.games, chunk.slots, chunk.powers, chunk.first_row
        chunk.first_row[game] = chunk.starts[0] = 0
        while game < chunk.last:
            game = kernels.legal_games(*games, at.w, at.b, at.x, game, chunk.last, chunk.orders, *lists)
            if game < chunk.last:
                chunk.grow()

    def _sample(self, chunk: _Chunk) -> None:
        games = self._numbers, self._rules, self._rows, chunk.scratch.w, self._streams
        lists = chunk.starts, chunk.slots, chunk.powers, chunk.first_row, chunk.choices
        kernels.sample_games(*games, chunk.first, chunk.last, *lists)

    def _step(self, chunk: _Chunk) -> int:
        """Play a phase and list the legal orders of the next. Returns the number of games that ended."""
        at = chunk.scratch
        games = self._numbers, self._masks, self._rules, self._rows, at.w, at.b
        lists = chunk.orders, chunk.starts, chunk.slots, chunk.powers, chunk.first_row, chunk.choices
        told = at.flags, self._final, self._gains, self._done
        ended = kernels.step_games(*games, chunk.first, chunk.last, *lists, *told)
        self._list(chunk)
        return int(ended)


STATE = ("_rows", "_final", "_gains", "_done", "_streams")  # changes in play; legal lists are derived from it


def _again(
    board: Board, rules: Rules, num_games: int, threads: int, begun: bool, arrays: Sequence[np.ndarray]
) -> VectorEnv:
    """Build a copy from the values of `VectorEnv.__reduce__`."""
    env = VectorEnv(board, rules, num_games, threads)
    for name, array in zip(STATE, arrays, strict=True):
        getattr(env, name)[:] = array
    if begun:
        env._begin()
    return env
