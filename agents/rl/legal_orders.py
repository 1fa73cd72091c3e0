"""A small network that scores legal choices: `LegalOrdersNetwork`. Plain torch, for any trainer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

MASKED = -1e9
KEYS = ("observation", "observations")  # what may be seen, besides the legal choices


@dataclass(frozen=True)
class Shape:
    """The inputs and the size of a `LegalOrdersNetwork`.

    Attributes:
        seen: key -> numbers in that entry of an observation, in the order of the network's input.
        categories: of whole numbers: key -> the largest of each, which are seen one-hot.
        choices: things to choose from: orders, programs or tokens.
        is_listed: whether an observation lists the numbers of its choices ("legal", in the parallel form of Diplomacy).
        hidden, width: units of the hidden layer and of an embedding.
    """

    seen: dict[str, int]
    categories: dict[str, list[int]]
    choices: int
    is_listed: bool
    hidden: int
    width: int

    @property
    def inputs(self) -> int:
        """Numbers that the first layer takes."""
        return sum(
            sum(self.categories[key]) + count if key in self.categories else count for key, count in self.seen.items()
        )

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class LegalOrdersNetwork(nn.Module):
    """Every choice has a learned vector; its score is the product with a vector of the observation.

    Where choices mean other orders in every position, the observation's ``legal`` has them: int32 [slots, choices].
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.orders = nn.Embedding(1 + shape.choices, shape.width)  # 0: no order
        self.board = nn.Sequential(nn.Linear(shape.inputs, shape.hidden), nn.Tanh())
        self.query, self.value = nn.Linear(shape.hidden, shape.width), nn.Linear(shape.hidden, 1)
        for key, largest in shape.categories.items():
            column = np.repeat(np.arange(len(largest)), np.array(largest) + 1)
            value = np.concatenate([np.arange(most + 1) for most in largest])
            self.register_buffer(f"{key}_column", torch.from_numpy(column), persistent=False)
            self.register_buffer(f"{key}_value", torch.from_numpy(value), persistent=False)
        with torch.no_grad():
            self.query.weight *= 0.1  # nearly uniform play at first

    @classmethod
    def for_space(cls, space: spaces.Dict, hidden: int, width: int) -> LegalOrdersNetwork:
        """The network for observations of this space, which has a mask."""
        given = {key: space.spaces[key] for key in KEYS if key in space.spaces}
        categories = {
            key: box.high.ravel().tolist()
            for key, box in given.items()
            if isinstance(box, spaces.Box) and np.issubdtype(box.dtype, np.integer)
        }
        legal = space.spaces.get("legal")
        listed = int(legal.high.max()) + 1 if isinstance(legal, spaces.Box) else 0
        choices = listed or math.prod(space.spaces["action_mask"].shape or ())
        seen = {key: math.prod(box.shape or ()) for key, box in given.items()}
        return cls(Shape(seen, categories, choices, listed > 0, hidden, width))

    def forward(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Logits of all choices: float32 [B, choices], slot by slot where there are several."""
        scores, mask = self.query(self.board(self._inputs(seen))) @ self.orders.weight.T, seen["action_mask"].flatten(1)
        listed = seen["legal"].flatten(1).long() + 1 if self.shape.is_listed else None
        scores = scores[:, 1:] if listed is None else scores.gather(1, listed)
        return scores.masked_fill(mask == 0, MASKED)

    def values(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Expected returns: float32 [B]."""
        value: Tensor = self.value(self.board(self._inputs(seen)))
        return value[:, 0]

    def _inputs(self, seen: Mapping[str, Tensor]) -> Tensor:
        parts = []
        for key in self.shape.seen:
            part = seen[key].flatten(1)
            if key in self.shape.categories:
                column, value = self.get_buffer(f"{key}_column"), self.get_buffer(f"{key}_value")
                part = part[:, column] == value
            parts.append(part.float())
        return torch.cat(parts, dim=1)
