"""The network of learned players: plain torch, for any map.

A graph network over provinces reads the board. A power's units are answered in sequence: each legal order is scored
from its features (kind, unit, coast) and the provinces it names, given the orders already chosen for the power's other
units. A value head estimates the points still to come.

In games with tokens a network also hears and speaks: see `Talk`. Otherwise the network is the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from agents.rl.inputs import FEATURES, Inputs, coordinate, draw, order_places
from welfare_env.board.board import Board
from welfare_env.board.orders import GIVE
from welfare_env.checks import check_whole
from welfare_env.envs.observation import num_features
from welfare_env.errors import WelfareEnvError
from welfare_env.game.press import COLUMNS, TOKENS

Encoded = tuple[Tensor, Tensor]  # provinces and whole positions as vectors, see `BoardNetwork.encode`
CHUNK = 128  # boards at a time, so that intermediate results stay in the CPU cache
KINDS = 6 * (GIVE + 1)
WORDS = 1 + len(TOKENS)  # including silence
WIDEST, MOST_LAYERS = 1024, 16


class SizeError(WelfareEnvError, ValueError):
    """A network cannot have this size."""


@dataclass(frozen=True)
class Size:
    """The size of a network.

    Attributes:
        width: length of a province's vector.
        layers: rounds of message passing between neighbouring provinces.

    Raises:
        SizeError: not a whole number from 1, or more than `WIDEST` or `MOST_LAYERS`.
    """

    width: int = 32
    layers: int = 2

    def __post_init__(self) -> None:
        for name, most in (("width", WIDEST), ("layers", MOST_LAYERS)):
            check_whole(name, getattr(self, name), 1, most, SizeError)

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judged:
    """Probabilities and values of answered decisions; see `BoardNetwork.judge`."""

    logp: Tensor
    entropy: Tensor
    values: Tensor


class Exchange(nn.Linear):
    """A linear map of a province's vector and the mean of its neighbours', without concatenating them."""

    def __init__(self, width: int) -> None:
        super().__init__(2 * width, width)

    def forward(self, x: Tensor, neighbours: Tensor) -> Tensor:  # type: ignore[override]
        own, near = self.weight.split(x.shape[-1], dim=1)
        return nn.functional.linear(x, own, self.bias) + torch.matmul(neighbours, nn.functional.linear(x, near))


class BoardNetwork(nn.Module):
    """Scores legal orders and positions. One network plays every power of its board.

    Args:
        board: source of adjacencies and the order vocabulary, which are not learned.
        size: see `Size`.
        message_rounds: message rounds of the games with tokens that it can play; 0: it neither hears nor speaks.
    """

    neighbours: Tensor
    _places: Tensor

    def __init__(self, board: Board, size: Size = Size(), message_rounds: int = 0) -> None:
        super().__init__()
        self.size, width, self.powers = size, size.width, len(board.powers)
        self.register_buffer("neighbours", torch.from_numpy(neighbours(board)), persistent=False)
        self.places = order_places(board)
        self.register_buffer("_places", torch.from_numpy(self.places), persistent=False)
        self.read = nn.Linear(num_features(board), width)
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
        nn.init.normal_(self.kind.weight, std=0.3)
        with torch.no_grad():
            self.score.weight *= 0.1  # nearly uniform play at first
            points.weight *= 0.1
        self.talk = Talk(len(board.powers), message_rounds, width) if message_rounds else None

    @property
    def reads_points(self) -> bool:
        """Whether its play may depend on welfare points, and not on the position alone."""
        return bool(self._points().any())

    def forget_points(self) -> None:
        """Set the weights of welfare points to zero."""
        with torch.no_grad():
            self._points().zero_()

    def _points(self) -> Tensor:
        """The weights of welfare points, the last columns of an observation: float32 [width, powers]."""
        return self.read.weight[:, -self.powers :]

    def encode(self, boards: Tensor) -> Encoded:
        """Provinces and whole positions as vectors, from float32 [B, provinces, features].

        Returns:
            float32 [B, provinces, width] and [B, width].
        """
        parts = [self._encode(part) for part in boards.split(CHUNK)]
        return torch.cat([x for x, _ in parts]), torch.cat([whole for _, whole in parts])

    def _encode(self, boards: Tensor) -> Encoded:
        x = torch.relu(self.read(boards) + self.place)
        for exchange, norm in zip(self.exchange, self.norms, strict=True):
            x = norm(x + torch.relu(exchange(x, self.neighbours)))
        return x, torch.relu(self.whole(torch.cat([x.mean(dim=1), x.amax(dim=1)], dim=-1)))

    def values(self, boards: Tensor) -> Tensor:
        """Points still to come, in units of training, for boards without words: float32 [B]."""
        return self.value(self.encode(boards)[1])[:, 0]

    def values_of(self, inputs: Inputs) -> Tensor:
        """Points still to come, given the words of the phase: float32 [B]."""
        return self.value(self._seen(inputs, None)[1])[:, 0]

    def _seen(self, inputs: Inputs, encoded: Encoded | None) -> Encoded:
        """Encoded boards, including the words of the phase."""
        boards = torch.from_numpy(inputs.boards)
        x, whole = self.encode(boards) if encoded is None else encoded
        return (x, whole) if self.talk is None or inputs.heard is None else self.talk.hear(inputs, boards, x, whole)

    def judge(self, inputs: Inputs, answers: np.ndarray) -> Judged:
        """Probabilities of answers int [R]; differentiable.

        Returns:
            logp and entropy float32 [R] (of each row given the rows before it), values float32 [B].
        """
        count = len(inputs.provinces)
        ordered = answers[:count]
        features = self._fit(inputs, ordered)
        x, whole = self._seen(inputs, None)
        keys, units, row_of = self._keys(inputs, x, whole)
        chosen = keys[torch.from_numpy(inputs.starts[:-1] + ordered)] + units
        logits = self._logits(keys, units + self._context(inputs, chosen), torch.from_numpy(features), row_of)
        logp, entropy = row_statistics(logits, row_of, count)
        taken, values = logp[torch.from_numpy(inputs.starts[:-1] + ordered)], self.value(whole)[:, 0]
        if self.talk is None or not len(inputs.speaking):
            return Judged(taken, entropy, values)
        words = self.talk.speak(inputs, x, whole)
        said = words.gather(1, torch.from_numpy(answers[count:, None]))[:, 0]
        return Judged(torch.cat([taken, said]), torch.cat([entropy, -(words.exp() * words).sum(dim=1)]), values)

    @torch.no_grad()
    def answer(
        self, inputs: Inputs, chances: np.ndarray, encoded: Encoded | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw answers.

        Args:
            chances: float64 [R], uniform in [0, 1); below 0: the most probable order.
            encoded: the result of `encode` for these boards, if known.

        Returns:
            Answers int64 [R], their log probabilities float32 [R], values float32 [B].
        """
        x, whole = self._seen(inputs, encoded)
        values = self.value(whole)[:, 0].numpy()
        count = len(inputs.provinces)
        answers, logps = np.zeros(inputs.num_rows, np.int64), np.zeros(inputs.num_rows, np.float32)
        if count:
            self._order(inputs, x, whole, chances[:count], answers[:count], logps[:count])
        if self.talk is not None and len(answers) > count:
            logits = self.talk.speak(inputs, x, whole).flatten().numpy()
            rows = np.arange(len(answers) - count + 1)
            draw(0, logits, rows * WORDS, rows, chances[count:], answers[count:], logps[count:])
        return answers, logps, values

    def _order(
        self,
        inputs: Inputs,
        x: Tensor,
        whole: Tensor,
        chances: np.ndarray,
        answers: np.ndarray,
        logps: np.ndarray,
    ) -> None:
        """Draw orders row by row, and write them over answers and logps [R]."""
        keys, units, _ = self._keys(inputs, x, whole)
        lengths = np.diff(inputs.first_rows)
        context = torch.zeros(len(inputs), keys.shape[1])
        logits = np.zeros(len(inputs.orders), np.float32)
        fitting = Fitting(self.places, inputs, x.shape[1])
        for step in range(int(lengths.max())):
            fitting.step(step, answers)
            asked = np.flatnonzero(lengths > step)
            at = inputs.first_rows[asked] + step
            which, owner = ranges(inputs.starts[at], inputs.starts[at + 1])
            query = units[torch.from_numpy(at)] + self.given(context[torch.from_numpy(asked)])
            picked = torch.from_numpy(which)
            fit = torch.from_numpy(fitting.features[which])
            logits[which] = self._logits(keys[picked], query, fit, torch.from_numpy(owner)).numpy()
            draw(step, logits, inputs.starts, inputs.first_rows, chances, answers, logps)
            chosen = keys[torch.from_numpy(inputs.starts[at] + answers[at])] + units[torch.from_numpy(at)]
            context[torch.from_numpy(asked)] += torch.relu(chosen)

    def _keys(self, inputs: Inputs, x: Tensor, whole: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Candidates as vectors [M, width], rows as vectors [R, width], and each candidate's row [M]."""
        rows = np.repeat(np.arange(len(inputs)), np.diff(inputs.first_rows))
        row_of = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(inputs.starts)))
        board, province = torch.from_numpy(rows), torch.from_numpy(inputs.provinces)
        provinces = x.shape[1]
        named = self._places[torch.from_numpy(inputs.orders)]
        is_order = torch.from_numpy(inputs.orders != 0)
        base = board[row_of] * provinces
        target = torch.where(is_order, named[:, 2], province[row_of])
        helped = (self.helped(x)).flatten(0, 1)[base + named[:, 3].clamp(min=0)] * (named[:, 3:] >= 0)
        keys = self.kind(named[:, 0]) + self.target(x).flatten(0, 1)[base + target] + helped
        units = self.unit(x).flatten(0, 1)[board * provinces + province] + self.position(whole)[board]
        return keys, units, row_of

    def _context(self, inputs: Inputs, chosen: Tensor) -> Tensor:
        """A row's summary of its power's orders before it: [R, width]."""
        told = torch.relu(chosen)
        before = torch.cumsum(told, dim=0, dtype=torch.float64) - told  # float32 is too inaccurate for long batches
        first = np.repeat(inputs.first_rows[:-1], np.diff(inputs.first_rows))
        return self.given((before - before[torch.from_numpy(first)]).float()) if len(told) else told

    def _logits(self, keys: Tensor, queries: Tensor, fit: Tensor, row_of: Tensor) -> Tensor:
        """Scores of candidates [M], given their rows' vectors [R, width]."""
        return self.score(torch.relu(keys + queries[row_of] + self.fit(fit)))[:, 0]

    def _fit(self, inputs: Inputs, answers: np.ndarray) -> np.ndarray:
        fitting = Fitting(self.places, inputs, self.neighbours.shape[0])
        for step in range(int(np.diff(inputs.first_rows).max(initial=0))):
            fitting.step(step, answers)
        return fitting.features


class Talk(nn.Module):
    """Hears the words of a phase, and chooses words.

    The words said by and to a power become one vector, the power's voice. It is added to the vectors of the provinces
    where the power's units stand, and to that of the whole position. Silence is zero, so that a phase without words is
    like a board without press. The word for each recipient is drawn independently, from the whole position, the
    recipient's units and its voice; for GLOBAL, the speaker's own units and voice are used.

    It comes after the encoding of the board, which is therefore the same in all message rounds of a phase.

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

    def hear(self, inputs: Inputs, boards: Tensor, x: Tensor, whole: Tensor) -> Encoded:
        """Encoded boards with the words of the phase: float32 [B, provinces, width] and [B, width]."""
        voices = self._voices(inputs)
        heard = x + torch.matmul(boards[:, :, : voices.shape[1]], voices)  # first columns: owner of the unit here
        whole = whole + self.told(voices.flatten(1))
        return heard, whole if inputs.rounds is None else whole + self.round(torch.from_numpy(inputs.rounds))

    def speak(self, inputs: Inputs, x: Tensor, whole: Tensor) -> Tensor:
        """Log probabilities of silence and words, for each row of the decisions of words: float32 [rows, words].

        Args:
            x, whole: the result of `hear`.
        """
        speaking = torch.from_numpy(inputs.speaking)
        stand = torch.from_numpy(inputs.boards)[speaking, :, : len(self.seat)].transpose(1, 2)
        units = torch.matmul(stand, x[speaking]) / stand.sum(dim=2, keepdim=True).clamp(min=1)
        recipients = self.recipient(units + self._voices(inputs)[speaking]) + self.seat
        states = torch.relu(self.speaker(whole[speaking])[:, None] + recipients.roll(-1, dims=1))
        return torch.log_softmax(self.word(states), dim=-1).flatten(0, 1)

    def _voices(self, inputs: Inputs) -> Tensor:
        """The words said by and to each power, as vectors: float32 [B, powers, width]."""
        heard = torch.from_numpy(inputs.heard)
        spoken = heard[..., None] == torch.arange(1, WORDS, dtype=torch.int8)
        return torch.relu(self.voice(spoken.flatten(2).float()))


class Fitting:
    """The coordination features of a batch, row by row; see `inputs.coordinate`."""

    def __init__(self, places: np.ndarray, inputs: Inputs, provinces: int) -> None:
        self.inputs, self._places = inputs, places
        self.features = np.zeros((len(inputs.orders), FEATURES), np.float32)
        self._going = np.full((len(inputs), provinces), -1, np.int64)
        self._helping = np.full((len(inputs), provinces), -1, np.int64)

    def step(self, step: int, answers: np.ndarray) -> None:
        """The features of row number `step` of each decision."""
        at = self.inputs
        coordinate(
            step,
            self._places,
            at.starts,
            at.orders,
            at.first_rows,
            answers,
            self._going,
            self._helping,
            self.features,
        )


def row_statistics(logits: Tensor, row_of: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Log probabilities [M] of candidates within their rows, and the rows' entropies [R]."""
    most = torch.full((rows,), -torch.inf).scatter_reduce(0, row_of, logits.detach(), "amax")
    shifted = logits - most[row_of]
    total = torch.zeros(rows).index_add(0, row_of, shifted.exp())
    logp = shifted - total.log()[row_of]
    return logp, torch.zeros(rows).index_add(0, row_of, -logp.exp() * logp)


def ranges(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of several ranges, concatenated, and the range that each belongs to."""
    lengths = last - first
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths - first, lengths), owner


def neighbours(board: Board) -> np.ndarray:
    """Adjacency by army or fleet, each row summing to one: float32 [provinces, provinces]."""
    table = np.zeros((len(board.provinces), len(board.provinces)), np.float32)
    index = {province: number for number, province in enumerate(board.provinces)}
    for piece, places in board.moves.items():
        for place in places:
            table[index[piece[2:5]], index[place[:3]]] = 1
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1)
