"""Rightful owners of supply centres, as deterrents see them."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

from agents.scripted.centre_partition import planned_owners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

    Centers = Mapping[str, tuple[str, ...]]  # power -> the centres that it owns


@functools.lru_cache(maxsize=32)
def fair_shares(board: Board) -> Mapping[str, int]:
    """Power -> its number of centres in the fairest peaceful partition of the opening.

    On the standard map 5, and 4 for Italy (`agents.scripted.centre_partition.partition`).
    """
    owners = list(planned_owners(board).values())
    return MappingProxyType({power: owners.count(power) for power in board.powers})


class RightfulOwners:
    """The rightful owner of every centre, from public information, so that all players who track it agree.

    - At the opening, each centre belongs to its owner, and each neutral centre to the power that gets it in the fairest
      peaceful partition. In a game that starts from another position, neutral centres belong to nobody.
    - A power that takes another's neutral centre becomes its rightful owner if it then owns no more than its fair
      share. A power that takes a centre of nobody's always does.
    - A centre taken from a thief belongs to the power that took it.
    - Any other centre taken from its rightful owner is stolen. A power is a thief until it has lost the stolen centre.

    Attributes:
        share: power -> its fair share; if the game starts from another position, at least what it owned there.
        first: power -> number of centres it owned after the first Fall; empty before.
    """

    def __init__(self) -> None:
        self.share: dict[str, int] = {}
        self.first: dict[str, int] = {}
        self._owner: dict[str, str] = {}
        self._seen: Centers = {}
        self._thieves: frozenset[str] = frozenset()
        self._records = 0

    def update(self, view: View) -> None:
        """Update from everything that happened since the last call."""
        history = view.history
        for record in history[self._records :]:
            self._take(view.board, record.position.units, record.position.centers)
            if not self.first and record.after.state.phase_type == "A":
                self.first = {power: len(owned) for power, owned in record.after.centers.items()}
        self._records = len(history)
        self._take(view.board, view.units, view.centers)
        if not history and (view.year_index or view.phase_type == "A"):  # the game starts from a later position
            self.first = self.first or {power: len(owned) for power, owned in view.centers.items()}

    def of(self, center: str) -> str | None:
        """The rightful owner of a centre."""
        return self._owner.get(center)

    def stolen(self, power: str) -> tuple[str, ...]:
        """The centres of a power that rightfully belong to another."""
        return tuple(center for center in self._seen.get(power, ()) if self._owner.get(center, power) != power)

    def lost(self, power: str) -> int:
        """The number of the power's rightful centres that others own."""
        return sum(self._owner.get(c) == power for other in self._seen if other != power for c in self._seen[other])

    def _take(self, board: Board, units: Centers, centers: Centers) -> None:
        if not self._seen:
            self._begin(board, units, centers)
        if centers != self._seen:
            before = {center: power for power, owned in self._seen.items() for center in owned}
            for power, owned in centers.items():
                for center in owned:
                    if before.get(center) != power and self._is_rightful(center, before.get(center), power, len(owned)):
                        self._owner[center] = power
            self._seen = dict(centers)
            self._thieves = frozenset(power for power in centers if self.stolen(power))

    def _begin(self, board: Board, units: Centers, centers: Centers) -> None:
        is_opening = dict(centers) == dict(board.start_centers) and {p: set(u) for p, u in units.items()} == {
            p: set(u) for p, u in board.start_units.items()
        }
        fair = fair_shares(board)
        self._owner = {center: power for power, owned in centers.items() for center in owned}
        if is_opening:
            self._owner = dict(planned_owners(board))
        self.share = {power: max(fair[power], len(owned)) for power, owned in centers.items()}
        self._seen = dict(centers)

    def _is_rightful(self, center: str, before: str | None, now: str, count: int) -> bool:
        """Whether `now`, which took the centre from `before` and owns `count` centres, becomes its rightful owner."""
        owner = self._owner.get(center)
        if owner in (None, now) or before in self._thieves:
            return True
        return before is None and (count <= self.share[now] or owner in self._thieves)
