"""The inputs of a network: boards, and the legal orders of the deciding powers, as flat arrays.

A *decision* is all that a power orders in one phase: a *row* for each unit (dislodged unit; in Winter each unit that
may be disbanded, then each center where a unit may be built), in the order of `welfare_env.envs.vector.LegalLists`. A
row's *candidates* are its legal orders; in Winter WAIVE (no order) comes first. The answer to a decision is one index
into the candidates per row.

If messages are tokens, a power's messages in a message round are also a decision, *of words*: a row for each other
power, in the sequence of seats from its own, then one for GLOBAL; the candidates are silence and `TOKENS`. Rounds are
simultaneous, as in `welfare_env.envs.parallel`: a power sees the words of earlier rounds of the phase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from agents.rl.token_press import word_rounds
from welfare_env.board.board import Board
from welfare_env.board.orders import BUILD, CONVOY, DISBAND, HOLD, SUPPORT_HOLD, WAIVE
from welfare_env.engine import PHASE, WINTER, kernels, layout_of
from welfare_env.engine.fast import Scratch, room_for_orders, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.envs.observation import earlier_features, fill_many
from welfare_env.envs.parallel import legal_shape
from welfare_env.envs.vector import LegalLists
from welfare_env.game.press import COLUMNS
from welfare_env.rules import Rules

FEATURES = 5  # of a candidate, besides the places it names: see `coordinate`


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A batch of B decisions with R rows of orders and M candidates.

    Decisions of words have none of these rows; their own, one per power, come after all others.

    Attributes:
        reader: the encoder that made it.
        states: int32 [U, state size], the positions; decisions in the same position are adjacent.
        position_of: int64 [B], the position of each decision. powers: int64 [B], the deciding powers.
        first_rows: int64 [B + 1], where each decision's rows begin.
        starts: int64 [R + 1], where each row's candidates begin.
        orders: int64 [M], order numbers.
        provinces: int64 [R], the province of a row's unit or center.
        heard: int8 [B, powers, 3 * message rounds], the words of the phase (`welfare_env.game.press.observe_messages`,
            without the mediator); None if there are no words.
        rounds: int64 [B], the message round that a decision of words is for; 0 for orders.
    """

    reader: InputEncoder
    states: np.ndarray
    position_of: np.ndarray
    powers: np.ndarray
    first_rows: np.ndarray
    starts: np.ndarray
    orders: np.ndarray
    provinces: np.ndarray
    heard: np.ndarray | None = None
    rounds: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.powers)

    @property
    def positions(self) -> np.ndarray:
        """Each position as the first power sees it: float32 [U, provinces, features], a new array."""
        first_power = np.zeros(len(self.states), np.int64)
        return self.reader.observe(self.states, np.arange(len(self.states)), first_power)

    @property
    def boards(self) -> np.ndarray:
        """The board as each deciding power sees it: float32 [B, provinces, features], a new array."""
        return self.reader.observe(self.states, self.position_of, self.powers)

    @property
    def speaking(self) -> np.ndarray:
        """The decisions of words: int64 [k]."""
        return np.zeros(0, np.int64) if self.rounds is None else np.flatnonzero(self.rounds)

    @property
    def num_rows(self) -> int:
        """Rows of orders and of words."""
        powers = 0 if self.heard is None else self.heard.shape[1]
        return len(self.provinces) + powers * len(self.speaking)


class InputEncoder:
    """Turns states into `Inputs`, for one board and set of rules. Not thread-safe.

    Args:
        sees_points: whether observations contain welfare points; otherwise these are 0.

    Attributes:
        message_rounds: rounds of words before orders (`word_rounds`).
        slots: enough rows for any decision.
        observation_size: numbers in a packed observation: a state's row; with words, those heard in the phase and the
            message round (0 for orders); and the observing power.
    """

    def __init__(self, board: Board, rules: Rules, sees_points: bool = True) -> None:
        self.board, self.rules, self._sees_points = board, rules, sees_points
        powers = len(board.powers)
        self.message_rounds = word_rounds(rules)
        self._words = powers * COLUMNS * self.message_rounds
        self.slots = max(legal_shape(board, rules)[0], powers if self.message_rounds else 0)
        self.observation_size = layout_of(board).size + 1 + (self._words + 1 if self.message_rounds else 0)
        self._scratch = Scratch(tables_of(board))
        self._rules = rules_array(board, rules)

    def pack(
        self,
        states: np.ndarray,
        powers: np.ndarray,
        heard: np.ndarray | None = None,
        rounds: np.ndarray | int | None = None,
    ) -> np.ndarray:
        """Packed observations: int32 [B, observation_size].

        Args:
            states: int32 [B, state size]. powers: int [B].
            heard: int8 [B, powers, 3 * message rounds] (`Inputs.heard`); None: no words were sent.
            rounds: int [B], or one number for all (`Inputs.rounds`); None: orders are asked for.
        """
        if not self.message_rounds:
            return np.concatenate([states, powers[:, None].astype(np.int32)], axis=1)
        packed = np.zeros((len(states), self.observation_size), np.int32)
        packed[:, : states.shape[1]] = states
        if heard is not None:
            packed[:, states.shape[1] : -2] = heard.reshape(len(states), -1)
        packed[:, -2], packed[:, -1] = 0 if rounds is None else rounds, powers
        return packed

    def read(self, packed: np.ndarray) -> Inputs:
        """The inputs of packed observations, int32 [B, observation_size].

        Adjacent decisions in the same position share it.
        """
        size, powers = layout_of(self.board).size, packed[:, -1].astype(np.int64)
        is_new = np.ones(len(packed), np.bool_)
        is_new[1:] = (packed[1:, :size] != packed[:-1, :size]).any(axis=1)
        states, position_of = np.ascontiguousarray(packed[is_new, :size], np.int32), np.cumsum(is_new) - 1
        legal = self._legal(states)
        if not self.message_rounds:
            return Inputs(self, states, position_of, powers, *self._rows(states, legal, position_of, powers))
        rounds = packed[:, -2].astype(np.int64)
        heard = packed[:, size:-2].reshape(len(packed), len(self.board.powers), -1).astype(np.int8)
        asked = np.flatnonzero(rounds == 0)
        first_rows, starts, orders, provinces = self._rows(states, legal, position_of[asked], powers[asked])
        lengths = np.zeros(len(packed), np.int64)
        lengths[asked] = np.diff(first_rows)
        first_rows = np.concatenate([[0], np.cumsum(lengths)])
        return Inputs(self, states, position_of, powers, first_rows, starts, orders, provinces, heard, rounds)

    def select(
        self,
        states: np.ndarray,
        legal: LegalLists,
        games: np.ndarray,
        powers: np.ndarray,
        heard: np.ndarray | None = None,
    ) -> Inputs:
        """The inputs for orders of `powers` [B] in `games` [B], given states with these legal lists."""
        decided, position_of = np.unique(games, return_inverse=True)
        rows = self._rows(states, legal, games, powers)
        return Inputs(self, states[decided], position_of, powers, *rows, heard)

    def words(
        self, states: np.ndarray, games: np.ndarray, powers: np.ndarray, heard: np.ndarray, message_round: int
    ) -> Inputs:
        """The inputs for words of `powers` [B] in a message round of `games` [B]."""
        none = np.zeros(0, np.int64)
        decided, position_of = np.unique(games, return_inverse=True)
        first_rows, rounds = np.zeros(len(games) + 1, np.int64), np.full(len(games), message_round, np.int64)
        rows = first_rows, np.zeros(1, np.int64), none, none
        return Inputs(self, states[decided], position_of, powers, *rows, heard, rounds)

    def observe(self, states: np.ndarray, games: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """The states of `games` [k] as `powers` [k] see them: float32 [k, provinces, earlier_features]."""
        seen = np.empty((len(games), len(self.board.provinces), earlier_features(self.board)), np.float32)
        fill_many(self.board, states, self.rules.years, games, powers, seen)
        if not self._sees_points:
            seen[..., -len(self.board.powers) :] = 0
        return seen

    def _rows(
        self, states: np.ndarray, legal: LegalLists, games: np.ndarray, powers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`Inputs.first_rows`, `starts`, `orders` and `provinces`."""
        first = np.searchsorted(legal.games, np.arange(len(states) + 1)).astype(np.int64)
        winter = states[:, PHASE] == WINTER
        first_rows, rows, size = count(first, legal.powers, legal.starts, winter, games, powers)
        starts, orders = lists(rows, first_rows, winter[games], legal.starts, legal.orders, size)
        table = self.board.orders
        provinces = self.board.piece_province[table.piece[legal.orders[legal.starts[rows]]]].astype(np.int64)
        return first_rows, starts, orders, provinces

    def _legal(self, states: np.ndarray) -> LegalLists:
        at, tables = self._scratch, tables_of(self.board)
        rows = len(states) * (len(self.board.provinces) + len(self.board.centers)) + 1
        orders = np.zeros(len(states) * 600 + room_for_orders(tables), np.int32)
        starts, games, slots, powers = (np.zeros(rows, np.int32) for _ in range(4))
        first_row, done = np.zeros(len(states) + 1, np.int32), 0
        given = tables.numbers, tables.masks, self._rules, states, at.w, at.b, at.x
        lists = starts, games, slots, powers, first_row
        while done < len(states):
            done = kernels.legal_games(*given, done, len(states), orders, *lists)
            if done < len(states):
                orders = np.concatenate([orders, np.zeros_like(orders)])
        rows = first_row[len(states)]
        return LegalLists(orders[: starts[rows]], starts[: rows + 1], games[:rows], powers[:rows], slots[:rows])

    def choices(self, inputs: Inputs, answers: np.ndarray) -> np.ndarray:
        """Answers int [R] as order numbers, int64 [R]; WAIVE means no order."""
        return inputs.orders[inputs.starts[:-1] + answers]


def as_choices(answers: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Answers [R] as choices of `VectorEnv.step`: in Winter one less, since WAIVE is candidate 0 here and -1 there.

    Args:
        states: int32 [R, state size], the state of each row.
    """
    return answers - (states[:, PHASE] == WINTER)


@njit(cache=True, nogil=True)
def count(first, owners, starts, winter, games, powers):  # type: ignore[no-untyped-def]
    """Rows of each decision: their starts [B + 1], their numbers [R], and the number of candidates."""
    rows = 0
    for d in range(len(games)):
        for r in range(first[games[d]], first[games[d] + 1]):
            rows += owners[r] == powers[d]
    first_rows, chosen = np.zeros(len(games) + 1, np.int64), np.zeros(rows, np.int64)
    n = size = 0
    for d in range(len(games)):
        for r in range(first[games[d]], first[games[d] + 1]):
            if owners[r] == powers[d]:
                chosen[n] = r
                n += 1
                size += starts[r + 1] - starts[r] + winter[games[d]]
        first_rows[d + 1] = n
    return first_rows, chosen, size


@njit(cache=True, nogil=True)
def lists(rows, first_rows, winter, starts, orders, size):  # type: ignore[no-untyped-def]
    """The candidates of rows: the start of each row's [R + 1], and order numbers [size]."""
    begin, found = np.zeros(len(rows) + 1, np.int64), np.zeros(size, np.int64)
    n = 0
    for d in range(len(first_rows) - 1):
        for i in range(first_rows[d], first_rows[d + 1]):
            if winter[d]:
                found[n] = WAIVE
                n += 1
            for k in range(starts[rows[i]], starts[rows[i] + 1]):
                found[n] = orders[k]
                n += 1
            begin[i + 1] = n
    return begin, found


def order_places(board: Board) -> np.ndarray:
    """The places that each order names, int64 [orders, 4]: kind, province ordered, destination, province helped or -1.

    The kind includes the unit's type and the destination's coast: 6 * kind + 3 * type + coast. WAIVE and GIVE name no
    province: they have 0, which a row replaces by its own province.
    """
    table = board.orders
    piece, other, dest = table.piece.astype(np.int64), table.other.astype(np.int64), table.dest.astype(np.int64)
    kind = table.kind.astype(np.int64)
    source = np.where(piece >= 0, board.piece_province[piece], 0).astype(np.int64)
    helped = np.where(other >= 0, board.piece_province[other], -1).astype(np.int64)
    goes = (dest >= 0) & (piece >= 0)
    target = np.where(goes, board.location_province[np.where(goes, dest, 0)], np.where(other >= 0, helped, source))
    location = np.where(goes, dest, np.where(kind == BUILD, board.piece_location[piece], -1))
    coast = np.where(location >= 0, _coasts(board)[location], 0)
    fleet = np.where(piece >= 0, board.piece_type[piece], 0).astype(np.int64)
    return np.stack([6 * kind + 3 * fleet + coast, source, target, helped], axis=1)


def _coasts(board: Board) -> np.ndarray:
    """0 for a province as a whole, 1 and 2 (or more: 2) for its named coasts: int64 [locations]."""
    seen: dict[str, int] = {}
    coasts = []
    for location in board.locations:
        province, _, coast = location.partition("/")
        seen[province] = seen.get(province, 0) + bool(coast)
        coasts.append(min(2, seen[province]) if coast else 0)
    return np.array(coasts, np.int64)


@njit(cache=True, nogil=True)
def coordinate(step, places, starts, orders, first_rows, answers, going, helping, features):  # type: ignore[no-untyped-def]
    """Features of the candidates in row number `step` of each decision: how they fit the orders of earlier rows.

    Call it with step = 0, 1, 2 ...; it first records the answers of row step - 1.

    Args:
        places: int64 [orders, 4], see `order_places`.
        answers: int64 [R]; those of rows before `step` are read.
        going: int64 [B, provinces], the destination of the own unit in a province (-1: not ordered yet).
        helping: int64 [B, provinces], the destination to which an own order helps the unit in a province (-1: none).
        features: float32 [M, FEATURES], written: an own unit goes to this order's destination; one stays there; own
            help is given to exactly this order; this order helps exactly what was ordered; it helps what was ordered
            otherwise.
    """
    for d in range(len(first_rows) - 1):
        row = first_rows[d] + step
        if row >= first_rows[d + 1]:
            continue
        if step > 0:
            _note(places, orders[starts[row - 1] + answers[row - 1]], going[d], helping[d])
        for c in range(starts[row], starts[row + 1]):
            order = orders[c]
            if order == WAIVE:
                continue
            kind, source = places[order, 0] // 6, places[order, 1]
            target, helped = places[order, 2], places[order, 3]
            if SUPPORT_HOLD <= kind <= CONVOY:
                features[c, 3] = going[d, helped] == target
                features[c, 4] = going[d, helped] >= 0 and going[d, helped] != target
                continue
            if kind != HOLD and kind != DISBAND:
                for p in range(going.shape[1]):
                    if going[d, p] == target:
                        features[c, 0 if p != target else 1] = 1
            features[c, 2] = helping[d, source] == target and kind != DISBAND


@njit(cache=True, nogil=True)
def _note(places, order, going, helping):  # type: ignore[no-untyped-def]
    """Record an order."""
    if order == WAIVE:
        return
    kind, source, target, helped = places[order, 0] // 6, places[order, 1], places[order, 2], places[order, 3]
    if SUPPORT_HOLD <= kind <= CONVOY:
        helping[helped] = target
        going[source] = source
    elif kind == DISBAND:
        going[source] = -2
    else:
        going[source] = target


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})  # sums may be vectorized
def rate(step, keys, units, given, fit, score, features, starts, first_rows, answers, contexts, logits):  # type: ignore[no-untyped-def]
    """Scores of the candidates in row number `step` of each decision, as `agents.rl.network.BoardNetwork.judge` does.

    Call it with step = 0, 1, 2 ..., each after the answers of the row before are known.

    Args:
        keys: float32 [M, width], candidates. units: float32 [R, width], rows.
        given [width, width], fit [width, FEATURES], score [width]: float32, weights of the network.
        features: float32 [M, FEATURES], see `coordinate`.
        contexts: float32 [B, width], the orders before; logits: float32 [M]; both written.
    """
    width = len(score)
    query, hidden = np.empty(width, np.float32), np.empty(width, np.float32)
    for d in range(len(first_rows) - 1):
        row = first_rows[d] + step
        if row >= first_rows[d + 1]:
            continue
        query[:] = units[row]
        if step > 0:
            chosen = starts[row - 1] + answers[row - 1]
            for i in range(width):
                contexts[d, i] += max(keys[chosen, i] + units[row - 1, i], np.float32(0))
            for i in range(width):
                total = np.float32(0)
                for j in range(width):
                    total += given[i, j] * contexts[d, j]
                query[i] += total
        for c in range(starts[row], starts[row + 1]):
            for i in range(width):
                hidden[i] = keys[c, i] + query[i]
            for f in range(FEATURES):
                if features[c, f] != 0:
                    for i in range(width):
                        hidden[i] += fit[i, f]
            total = np.float32(0)
            for i in range(width):
                total += score[i] * max(hidden[i], np.float32(0))
            logits[c] = total


@njit(cache=True, nogil=True)
def draw(step, logits, starts, first_rows, chances, answers, logps):  # type: ignore[no-untyped-def]
    """Draw an answer for row number `step` of each decision, and its log probability.

    Args:
        logits: float32 [M]; only those of the rows in question are read.
        chances: float64 [R], uniform in [0, 1); a value below 0 takes the most probable answer.
        answers: int64 [R]; logps: float32 [R]; both written.
    """
    for d in range(len(first_rows) - 1):
        row = first_rows[d] + step
        if row >= first_rows[d + 1]:
            continue
        first, last = starts[row], starts[row + 1]
        best = first
        for c in range(first + 1, last):
            if logits[c] > logits[best]:
                best = c
        total = 0.0
        for c in range(first, last):
            total += np.exp(np.float64(logits[c]) - logits[best])
        chosen = best
        if chances[row] >= 0:
            left = chances[row] * total
            chosen = last - 1
            for c in range(first, last):
                left -= np.exp(np.float64(logits[c]) - logits[best])
                if left < 0:
                    chosen = c
                    break
        answers[row] = chosen - first
        logps[row] = np.float64(logits[chosen]) - logits[best] - np.log(total)
