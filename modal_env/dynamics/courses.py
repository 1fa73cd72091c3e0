"""A population over time whose agents are too many to list: shares of groups of agents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal_env.dynamics.populations import Floats
from modal_env.frames import Row, Tabular


@dataclass(frozen=True, eq=False)
class Course(Tabular):
    """A population over time.

    Attributes:
        rule: how it changes.
        names: [n] agents, or groups of agents.
        times: [T] from 0 on.
        shares: [T, n]
        cooperation: [T] the share of pairs that both cooperate.
        gains: [T] how much more than the mean the best reply of the whole class is paid.
        terms: the rule, the price, the start.
    """

    rule: str
    names: tuple[str, ...]
    times: Floats
    shares: Floats
    cooperation: Floats
    gains: Floats
    terms: str

    def __repr__(self) -> str:
        return f"Course({self.terms}; to time {self.times[-1]:g}, cooperation {self.cooperation[-1]:.4f})"

    def _repr_html_(self) -> str:
        """The shares over time, for a notebook."""
        from modal_env.pictures.curves import bands
        from modal_env.pictures.style import notebook

        return notebook(bands(self.names, self.times, self.shares))

    def rows(self) -> list[Row]:
        """One row per time."""
        columns = self.times.tolist(), self.cooperation.tolist(), self.gains.tolist(), self.shares.tolist()
        return [
            {"time": time, "cooperation": both, "gain": gain, **dict(zip(self.names, shares, strict=True))}
            for time, both, gain, shares in zip(*columns, strict=True)
        ]

    @property
    def turns(self) -> tuple[int, ...]:
        """The places in `times` at which another group becomes the largest; the first is 0."""
        largest = self.shares.argmax(axis=1)
        return (0, *(np.flatnonzero(np.diff(largest)) + 1).tolist())
