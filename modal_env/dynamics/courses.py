"""A population over time whose agents are too many to list: shares of groups of agents."""

from __future__ import annotations

from dataclasses import dataclass

from modal_env.dynamics.populations import Floats
from modal_env.frames import Row, Tabular

TIE = 1e-9


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
    def turns(self) -> tuple[tuple[int, int], ...]:
        """The places in `times` at which another group becomes the largest, and its place in `names`.

        The first is at 0. Shares that differ by less than the fraction `TIE` are equal; of equally large groups the one
        that stays largest for longer counts, or the first. So rounding makes no turn.
        """
        largest = self.shares >= self.shares.max(axis=1, keepdims=True) * (1 - TIE)
        begins, tied, found = 0, largest[0], []
        for place, now in enumerate(largest):
            if not (tied & now).any():
                found.append((begins, int(tied.argmax())))
                begins, tied = place, now
            tied = tied & now
        return (*found, (begins, int(tied.argmax())))
