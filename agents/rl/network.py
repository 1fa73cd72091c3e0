"""The network of learned players: plain torch, for any map.

A graph network over provinces encodes a position, once for all powers that decide in it; for each power its own units
and centers are then marked (`Perspective`). A power's units get their orders in sequence: each legal order is scored
from its features (kind, unit, coast) and the provinces it names, given the orders already chosen for the power's other
units. A value head estimates the points still to come.

In games with tokens a network also reads and sends messages: see `Talk`. Otherwise the network is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from agents.rl.inputs import FEATURES, Inputs, coordinate, draw, order_places, rate
from welfare_env.board.board import Board
from welfare_env.board.orders import GIVE
from welfare_env.checks import check_whole
from welfare_env.envs.observation import earlier_features
from welfare_env.errors import WelfareEnvError
from welfare_env.game.press import COLUMNS, TOKENS

CHUNK = 128  # boards at a time, so that intermediate results stay in the CPU cache
KINDS = 6 * (GIVE + 1)
WORDS = 1 + len(TOKENS)  # including silence
MARKS = 5  # of a power in a province, see `Perspective.marks`
WIDEST, MOST_LAYERS = 1024, 16


class SizeError(WelfareEnvError, ValueError):
    """A network cannot have this size."""


@dataclass(frozen=True)
class Size:
    """The size of a network.

    Attributes:
        width: length of a province's vector.
        layers: rounds of message passing between neighboring provinces.

    Raises:
        SizeError: not a whole number from 1, or more than `WIDEST` or `MOST_LAYERS`.
    """

    width: int = 32
    layers: int = 2

    def __post_init__(self) -> None:
        for name, most in (("width", WIDEST), ("layers", MOST_LAYERS)):
            check_whole(name, getattr(self, name), 1, most, SizeError)

    def to_dict(self) -> dict[str, int]:
        """The sizes by name, as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judged:
    """Probabilities and values of answered decisions; see `BoardNetwork.judge`."""

    logp: Tensor
    entropy: Tensor
    values: Tensor


class Exchange(nn.Linear):
    """A linear map of a province's vector and the mean of its neighbors', without concatenating them."""

    def __init__(self, width: int) -> None:
        super().__init__(2 * width, width)

    def forward(self, x: Tensor, neighbors: Tensor) -> Tensor:
        own, near = self.weight.split(x.shape[-1], dim=1)
        return nn.functional.linear(x, own, self.bias) + torch.matmul(neighbors, nn.functional.linear(x, near))


@dataclass(frozen=True, slots=True)
class Scene:
    """Decisions, and the positions they are taken in, as vectors.

    Attributes:
        provinces: float32 [U, provinces, width], by position, or [B, provinces, width], by decision.
        whole: float32 [B, width], the whole position as the deciding power sees it.
        voices: float32 [B, powers, width], the words sent by and to each power; without words [B, 0, width].
        inputs, boards: its sources; boards float32 [U or B, provinces, features].
    """

    provinces: Tensor
    whole: Tensor
    voices: Tensor
    inputs: Inputs
    boards: Tensor


class Perspective(nn.Module):
    """A power's view of encoded positions: the part of the network that depends on the deciding power.

    A province's vector is summed with a map of its `marks` for the power. The whole position's vector is summed with
    maps of the provinces where the power has units, and centers, and of its balance and welfare points, and with a
    learned vector of the power.

    Args:
        board: see `BoardNetwork`. width: of the network's vectors.
    """

    def __init__(self, board: Board, width: int) -> None:
        super().__init__()
        self.powers, self._share = len(board.powers), len(board.powers) / len(board.centers)
        self.look = nn.Linear(width, width)
        self.mark = nn.Linear(MARKS, width, bias=False)
        self.seat = nn.Parameter(torch.zeros(self.powers, width))
        self.held = nn.Linear(2 * width, width, bias=False)
        self.standing = nn.Linear(2, width, bias=False)

    def marks(self, boards: Tensor, neighbors: Tensor) -> Tensor:
        """For each power whether its unit, center or home is in a province; the means of units and centers nearby.

        Returns:
            float32 [U, provinces, MARKS, powers].
        """
        flags = self._flags(boards)
        near = torch.matmul(neighbors, flags[..., : 2 * self.powers])
        return torch.cat([flags, near], dim=-1).unflatten(-1, (MARKS, self.powers))

    def _flags(self, boards: Tensor) -> Tensor:
        """Units, centers and homes of each power: float32 [U, provinces, 3 * powers]."""
        powers = self.powers
        firsts = 0, powers + 5, 2 * powers + 6  # see `welfare_env.envs.observation`
        return torch.cat([boards[..., first : first + powers] for first in firsts], dim=-1)

    def provinces(self, scene: Scene, marks: Tensor, decisions: np.ndarray, provinces: np.ndarray) -> Tensor:
        """Provinces int [K] as the powers of `decisions` int [K] see them: float32 [K, width]."""
        inputs, count = scene.inputs, scene.boards.shape[1]
        at, powers = torch.from_numpy(inputs.position_of[decisions] * count + provinces), inputs.powers[decisions]
        looked = self.look(scene.provinces).flatten(0, 1).index_select(0, at)
        marked = self.mark(marks.flatten(0, 1)[at, :, torch.from_numpy(powers)])
        seen = torch.relu(looked + marked)
        if not scene.voices.shape[1]:
            return seen
        unit = scene.boards.flatten(0, 1)[at, : self.powers].numpy()
        seats = (unit.argmax(axis=1) - powers) % self.powers
        voices = scene.voices[torch.from_numpy(decisions), torch.from_numpy(seats)]
        return seen + voices * torch.from_numpy(unit.max(axis=1, keepdims=True))

    def whole(self, x: Tensor, boards: Tensor, inputs: Inputs) -> Tensor:
        """The terms added to the whole positions: float32 [B, width]."""
        powers, features = self.powers, boards.shape[2]
        position, power = torch.from_numpy(inputs.position_of), torch.from_numpy(inputs.powers)
        held = self._flags(boards)[..., : 2 * powers]
        sums = torch.matmul(held.transpose(1, 2), x).unflatten(1, (2, powers)) * self._share
        standing = boards[:, 0, features - 2 * powers :].unflatten(1, (2, powers))[position, :, power]
        return self.held(sums[position, :, power].flatten(1)) + self.standing(standing) + self.seat[power]


class OwnView(nn.Module):
    """In place of `Perspective`, for positions that are encoded as the deciding power sees them."""

    def marks(self, boards: Tensor, neighbors: Tensor) -> Tensor:
        """Nothing is marked."""
        return boards

    def provinces(self, scene: Scene, marks: Tensor, decisions: np.ndarray, provinces: np.ndarray) -> Tensor:
        """Provinces int [K] as encoded for `decisions` int [K]: float32 [K, width]."""
        at = torch.from_numpy(decisions * scene.boards.shape[1] + provinces)
        return scene.provinces.flatten(0, 1).index_select(0, at)


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs torch with one thread, so that sums are the same on every machine; for few positions it is also faster.

    The setting holds for the process: do not use it in several Python threads at once.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class BoardNetwork(nn.Module):
    """Scores legal orders and positions. One network plays every power of its board.

    Args:
        board: source of adjacencies and the order vocabulary, which are not learned.
        size: see `Size`.
        message_rounds: message rounds of the games with tokens that it can play; 0 for a network without messages.
    """

    neighbors: Tensor

    def __init__(self, board: Board, size: Size = Size(), message_rounds: int = 0) -> None:
        super().__init__()
        self.size, width, self.powers = size, size.width, len(board.powers)
        self.register_buffer("neighbors", torch.from_numpy(neighbors(board)), persistent=False)
        self.places = order_places(board)
        self.read = nn.Linear(earlier_features(board), width)
        self.place = nn.Parameter(torch.zeros(len(board.provinces), width))
        self.exchange = nn.ModuleList(Exchange(width) for _ in range(size.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(size.layers))
        self.whole = nn.Linear(2 * width, width)
        self.kind = nn.Embedding(KINDS, width)
        self.target = nn.Linear(width, width, bias=False)
        self.helped = nn.Linear(width, width, bias=False)
        self.unit = nn.Linear(width, width)
        self.position = nn.Linear(width, width, bias=False)
        self.given = nn.Linear(width, width, bias=False)
        self.fit = nn.Linear(FEATURES, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        hidden, points = nn.Linear(width, width), nn.Linear(width, 1)
        self.value = nn.Sequential(hidden, nn.ReLU(), points)
        self.perspective = Perspective(board, width)
        nn.init.normal_(self.kind.weight, std=0.3)
        with torch.no_grad():
            self.score.weight *= 0.1  # nearly uniform play at first
            points.weight *= 0.1
        self.talk = Talk(len(board.powers), message_rounds, width) if message_rounds else None

    @property
    def reads_points(self) -> bool:
        """Whether its play may depend on welfare points besides the position."""
        return any(bool(weights.any()) for weights in self._points())

    def forget_points(self) -> None:
        """Set the weights of welfare points to zero."""
        with torch.no_grad():
            for weights in self._points():
                weights.zero_()

    def _points(self) -> list[Tensor]:
        """The weights of welfare points, the last columns of an observation: float32 [width, n] each."""
        return [self.read.weight[:, -self.powers :], self.perspective.standing.weight[:, 1:]]

    def encode(self, boards: Tensor) -> Tensor:
        """The provinces of boards float32 [U, provinces, features] as vectors: float32 [U, provinces, width]."""
        return torch.cat([self._encode(part) for part in boards.split(CHUNK)])

    def _encode(self, boards: Tensor) -> Tensor:
        x = torch.relu(self.read(boards) + self.place)
        for exchange, norm in zip(self.exchange, self.norms, strict=True):
            x = norm(x + torch.relu(exchange(x, self.neighbors)))
        return x

    def values(self, inputs: Inputs) -> Tensor:
        """Estimates of the points still to come, in units of training: float32 [B]."""
        return self.value(self.see(inputs).whole)[:, 0]

    def see(self, inputs: Inputs) -> Scene:
        """Positions and decisions as vectors, including the words of the phase."""
        boards = torch.from_numpy(inputs.positions)
        x = self.encode(boards)
        whole = self.whole(torch.cat([x.mean(dim=1), x.amax(dim=1)], dim=-1))[torch.from_numpy(inputs.position_of)]
        whole = torch.relu(whole + self.perspective.whole(x, boards, inputs))
        if self.talk is None or inputs.heard is None:
            return Scene(x, whole, x.new_zeros(len(inputs), 0, x.shape[2]), inputs, boards)
        voices = self.talk.voices(inputs)
        return Scene(x, self.talk.hear(inputs, whole, voices), voices, inputs, boards)

    def judge(self, inputs: Inputs, answers: np.ndarray) -> Judged:
        """Probabilities of answers int [R]; differentiable.

        Returns:
            logp and entropy float32 [R] (of each row given the rows before it), values float32 [B].
        """
        count = len(inputs.provinces)
        ordered = answers[:count]
        features = np.zeros((len(inputs.orders), FEATURES), np.float32)
        for _ in self._steps(inputs, ordered, features):
            pass
        scene = self.see(inputs)
        keys, units, row_of = self._keys(scene)
        chosen = keys[torch.from_numpy(inputs.starts[:-1] + ordered)] + units
        logits = self._logits(keys, units + self._context(inputs, chosen), torch.from_numpy(features), row_of)
        logp, entropy = row_statistics(logits, row_of, count)
        taken, values = logp[torch.from_numpy(inputs.starts[:-1] + ordered)], self.value(scene.whole)[:, 0]
        if self.talk is None or not len(inputs.speaking):
            return Judged(taken, entropy, values)
        words = self._speak(scene, self.talk)
        said = words.gather(1, torch.from_numpy(answers[count:, None]))[:, 0]
        return Judged(torch.cat([taken, said]), torch.cat([entropy, -(words.exp() * words).sum(dim=1)]), values)

    @torch.no_grad()
    def answer(self, inputs: Inputs, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw answers.

        Args:
            chances: float64 [R], uniform in [0, 1); below 0: the most probable order.

        Returns:
            Answers int64 [R], their log probabilities float32 [R], values float32 [B].
        """
        scene = self.see(inputs)
        values = self.value(scene.whole)[:, 0].numpy()
        count = len(inputs.provinces)
        answers, logps = np.zeros(inputs.num_rows, np.int64), np.zeros(inputs.num_rows, np.float32)
        if count:
            self._order(scene, chances[:count], answers[:count], logps[:count])
        if self.talk is not None and len(answers) > count:
            logits = self._speak(scene, self.talk).flatten().numpy()
            rows = np.arange(len(answers) - count + 1)
            draw(0, logits, rows * WORDS, rows, chances[count:], answers[count:], logps[count:])
        return answers, logps, values

    def _order(self, scene: Scene, chances: np.ndarray, answers: np.ndarray, logps: np.ndarray) -> None:
        """Draw orders row by row, and write them over answers and logps [R]."""
        inputs = scene.inputs
        keys, units, _ = (part.numpy() for part in self._keys(scene))
        given, fit, score = (part.weight.numpy() for part in (self.given, self.fit, self.score))
        contexts, logits = np.zeros((len(inputs), keys.shape[1]), np.float32), np.zeros(len(keys), np.float32)
        features, rows = np.zeros((len(keys), FEATURES), np.float32), (inputs.starts, inputs.first_rows)
        for step in self._steps(inputs, answers, features):
            rate(step, keys, units, given, fit, score[0], features, *rows, answers, contexts, logits)
            draw(step, logits, *rows, chances, answers, logps)

    def _keys(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        """Candidates as vectors [M, width], rows as vectors [R, width], and each candidate's row [M]."""
        inputs = scene.inputs
        rows = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
        row_of = np.repeat(np.arange(len(rows)), np.diff(inputs.starts))
        named = self.places[inputs.orders]
        helping = np.flatnonzero(named[:, 3] >= 0)
        target = np.where(inputs.orders != 0, named[:, 2], inputs.provinces[row_of])
        decisions = np.concatenate([rows, rows[row_of], rows[row_of[helping]]])
        provinces = np.concatenate([inputs.provinces, target, named[helping, 3]])
        marks = self.perspective.marks(scene.boards, self.neighbors)
        seen = self.perspective.provinces(scene, marks, decisions, provinces)
        own, to, helped = seen.split([len(rows), len(target), len(helping)])
        keys = self.kind(torch.from_numpy(named[:, 0])) + self.target(to)
        keys = keys.index_add(0, torch.from_numpy(helping), self.helped(helped))
        units = self.unit(own) + self.position(scene.whole)[torch.from_numpy(rows)]
        return keys, units, torch.from_numpy(row_of)

    def _speak(self, scene: Scene, talk: Talk) -> Tensor:
        """Log probabilities of silence and words, for each row of the decisions of words: float32 [rows, words]."""
        speaking, powers = scene.inputs.speaking, np.arange(self.powers)
        stand = scene.boards[:, :, : self.powers].transpose(1, 2)
        units = torch.matmul(stand, scene.provinces) / stand.sum(dim=2, keepdim=True).clamp(min=1)
        seats = (scene.inputs.powers[speaking, None] + powers) % self.powers
        at = scene.inputs.position_of[speaking, None]
        return talk.speak(speaking, units[at, torch.from_numpy(seats)], scene.voices, scene.whole)

    def _context(self, inputs: Inputs, chosen: Tensor) -> Tensor:
        """A row's summary of its power's orders before it: [R, width]."""
        orders = torch.relu(chosen)
        before = torch.cumsum(orders, dim=0, dtype=torch.float64) - orders  # float32 is too inaccurate: long batches
        first = np.repeat(inputs.first_rows[:-1], np.diff(inputs.first_rows))
        return self.given((before - before[torch.from_numpy(first)]).float()) if len(orders) else orders

    def _logits(self, keys: Tensor, queries: Tensor, fit: Tensor, row_of: Tensor) -> Tensor:
        """Scores of candidates [M], given their rows' vectors [R, width]."""
        return self.score(torch.relu(keys + queries[row_of] + self.fit(fit)))[:, 0]

    def _steps(self, inputs: Inputs, answers: np.ndarray, features: np.ndarray) -> Iterator[int]:
        """The numbers of rows in a decision: for each, the rows' coordination features (`inputs.coordinate`) are
        written, given the answers to the rows before.
        """
        going, helping = np.full((2, len(inputs), len(self.place)), -1, np.int64)
        rows = inputs.starts, inputs.orders, inputs.first_rows
        for step in range(int(np.diff(inputs.first_rows).max(initial=0))):
            coordinate(step, self.places, *rows, answers, going, helping, features)
            yield step


class ByPowerNetwork(BoardNetwork):
    """Encodes the board once for each deciding power, as that power sees it; without messages.

    The package's two checkpoints are such networks. Trained anew, the best response would be a weaker attack: in points
    a year, mean of the seven seats, 20 games each, 8.1 in place of 8.9 against prosocial and 4.0 in place of 5.4
    against dove.
    """

    perspective: OwnView

    def __init__(self, board: Board, size: Size = Size(), message_rounds: int = 0) -> None:
        super().__init__(board, size)
        self.perspective = OwnView()

    def _points(self) -> list[Tensor]:
        return [self.read.weight[:, -self.powers :]]

    def see(self, inputs: Inputs) -> Scene:
        boards = torch.from_numpy(inputs.boards)
        x = self.encode(boards)
        whole = torch.relu(self.whole(torch.cat([x.mean(dim=1), x.amax(dim=1)], dim=-1)))
        return Scene(x, whole, x.new_zeros(len(inputs), 0, x.shape[2]), inputs, boards)


class Talk(nn.Module):
    """Reads the words of a phase, and chooses words to send.

    The words sent by and to a power become one vector, the power's voice. It is added to the vectors of the provinces
    where the power's units stand, and to that of the whole position. Silence is zero, so that a phase without words is
    like a board without press. The word for each recipient is drawn independently, from the whole position, the
    recipient's units and its voice; for GLOBAL, the speaker's own units and voice are used.

    It follows the encoding of the board, which is therefore the same in all message rounds of a phase.

    Args:
        powers: of the board. message_rounds: of the games. width: of the network's vectors.
    """

    def __init__(self, powers: int, message_rounds: int, width: int) -> None:
        super().__init__()
        self.voice = nn.Linear(COLUMNS * message_rounds * len(TOKENS), width, bias=False)
        self.told = nn.Linear(powers * width, width, bias=False)
        self.round = nn.Embedding(message_rounds + 1, width, padding_idx=0)  # 0: orders
        self.speaker = nn.Linear(width, width)
        self.recipient = nn.Linear(width, width, bias=False)
        self.seat = nn.Parameter(torch.zeros(powers, width))
        self.word = nn.Linear(width, WORDS)
        nn.init.normal_(self.voice.weight, std=0.3)
        with torch.no_grad():
            self.round.weight *= 0.3
            self.word.weight *= 0.1  # nearly uniform words at first

    def voices(self, inputs: Inputs) -> Tensor:
        """The words sent by and to each power, as vectors: float32 [B, powers, width]."""
        heard = torch.from_numpy(inputs.heard)
        spoken = heard[..., None] == torch.arange(1, WORDS, dtype=torch.int8)
        return torch.relu(self.voice(spoken.flatten(2).float()))

    def hear(self, inputs: Inputs, whole: Tensor, voices: Tensor) -> Tensor:
        """Whole positions float32 [B, width] with the words of the phase."""
        whole = whole + self.told(voices.flatten(1))
        return whole if inputs.rounds is None else whole + self.round(torch.from_numpy(inputs.rounds))

    def speak(self, speaking: np.ndarray, units: Tensor, voices: Tensor, whole: Tensor) -> Tensor:
        """Log probabilities of silence and words, for each row of the decisions of words: float32 [rows, words].

        Args:
            speaking: int [k], the decisions of words.
            units: float32 [k, powers, width], the mean of the provinces with each power's units.
            voices, whole: of all decisions.
        """
        at = torch.from_numpy(speaking)
        recipients = self.recipient(units + voices[at]) + self.seat
        states = torch.relu(self.speaker(whole[at])[:, None] + recipients.roll(-1, dims=1))
        return torch.log_softmax(self.word(states), dim=-1).flatten(0, 1)


def row_statistics(logits: Tensor, row_of: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Log probabilities [M] of candidates within their rows, and the rows' entropies [R]."""
    most = torch.full((rows,), -torch.inf).scatter_reduce(0, row_of, logits.detach(), "amax")
    shifted = logits - most[row_of]
    total = torch.zeros(rows).index_add(0, row_of, shifted.exp())
    logp = shifted - total.log()[row_of]
    return logp, torch.zeros(rows).index_add(0, row_of, -logp.exp() * logp)


def neighbors(board: Board) -> np.ndarray:
    """Adjacency by army or fleet, each row summing to one: float32 [provinces, provinces]."""
    table = np.zeros((len(board.provinces), len(board.provinces)), np.float32)
    index = {province: number for number, province in enumerate(board.provinces)}
    for piece, places in board.moves.items():
        for place in places:
            table[index[piece[2:5]], index[place[:3]]] = 1
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)
