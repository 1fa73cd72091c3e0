"""The rightful owner of each supply center, by which deterrents judge other powers."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

from agents.scripted.center_partition import planned_owners

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

    Centers = Mapping[str, tuple[str, ...]]  # power -> the centers that it owns


@functools.lru_cache(maxsize=32)
def fair_shares(board: Board) -> Mapping[str, int]:
    """Power -> its number of centers in the fairest peaceful partition of the opening.

    On the standard map 5, and 4 for Italy (`agents.scripted.center_partition.partition`).
    """
    owners = list(planned_owners(board).values())
    return MappingProxyType({power: owners.count(power) for power in board.powers})


class RightfulOwners:
    """The rightful owner of every center, from public information, so that all players who track it agree.

    - At the opening each center is due to the power that owns it, and each neutral one to the power that gets it in the
      fairest peaceful partition. In a game that begins at another position, neutral centers are due to nobody.
    - A neutral center that is due to nobody, or to a thief, becomes due to the power that takes it. One that is due to
      another power is exchanged for a center that is due to the taker and that it does not own, a neutral one first.
      Without such a center it is stolen. So nobody has more centers due to it than before, whatever it leaves neutral,
      and whoever else holds what is due to it.
    - A power that is not a thief may keep a center that it takes from a thief; but the center stays due to the robbed
      power, which may take it back at any time. Thieves may not keep such centers: otherwise two thieves could exchange
      their loot.
    - Any other center taken from another power is stolen. A power that stole a center is a thief until its rightful
      owner has it back; or, if a third power has it by now, until the thief has lost a center of its own instead. That
      loss does not count if the taker holds loot of this thief: otherwise two partners could swap centers at no cost. A
      power without centers is not a thief.

    Attributes:
        share: power -> its fair share; in a game that begins at another position at least what it owned there.
        due: power -> number of centers due to it at first: its fair share; in a game that begins at another position
            the number that it owned there.
        first: power -> number of centers that it owned after the first Fall; empty before.
    """

    def __init__(self) -> None:
        self.share: dict[str, int] = {}
        self.due: dict[str, int] = {}
        self.first: dict[str, int] = {}
        self._owner: dict[str, str] = {}  # center -> its rightful owner
        self._keeper: dict[str, str] = {}  # center -> the power that took it from a thief
        self._robber: dict[str, str] = {}  # center -> the last thief since its rightful owner had it
        self._seen: Centers = {}
        self._thieves: frozenset[str] = frozenset()
        self._records = 0

    def begin(self, view: View) -> None:
        """Compute the shares from the game's beginning, in the first call."""
        if self._seen:
            return
        board, units, centers = view.board, view.beginning.units, view.beginning.centers
        is_opening = dict(centers) == dict(board.start_centers) and {p: set(u) for p, u in units.items()} == {
            p: set(u) for p, u in board.start_units.items()
        }
        fair = fair_shares(board)
        if is_opening:
            self._owner, self.due = dict(planned_owners(board)), dict(fair)
        else:
            self._owner = {center: power for power, owned in centers.items() for center in owned}
            self.due = {power: len(owned) for power, owned in centers.items()}
        self.share = {power: max(fair[power], len(owned)) for power, owned in centers.items()}
        self._seen = dict(centers)

    def update(self, view: View) -> None:
        """Update from everything that happened since the last call."""
        self.begin(view)
        history = view.history
        for record in history[self._records :]:
            self._take(record.position.centers)
            if not self.first and record.after.state.phase_type == "A":
                self.first = {power: len(owned) for power, owned in record.after.centers.items()}
        self._records = len(history)
        self._take(view.centers)
        if not history and (view.year_index or view.phase_type == "A"):  # the game starts from a later position
            self.first = self.first or {power: len(owned) for power, owned in view.centers.items()}

    def of(self, center: str) -> str | None:
        """The rightful owner of a center; None for a neutral center due to nobody."""
        return self._owner.get(center)

    def stolen(self, power: str) -> tuple[str, ...]:
        """The centers that a power has stolen: those that it owns, and those that third powers own by now, except as
        many of these as it has lost of its own.
        """
        owned = self._seen.get(power, ())
        held = [center for center in owned if self._is_loot(center, power)]
        passed = sorted(center for center, robber in self._robber.items() if robber == power and center not in held)
        return (*held, *passed[self._paid(power, passed) :]) if owned else ()

    def _is_loot(self, center: str, power: str) -> bool:
        """Whether a center that a power owns is neither due to it nor taken from a thief."""
        return self._owner.get(center, power) != power and self._keeper.get(center) != power

    def _paid(self, power: str, passed: list[str]) -> int:
        """How many of a thief's own centers others own without having stolen them, powers with its loot excepted."""
        gone = set(passed)
        return sum(
            self._owner.get(center) == power and not self._is_loot(center, other)
            for other, owned in self._seen.items()
            if other != power and gone.isdisjoint(owned)
            for center in owned
        )

    def lost(self, power: str) -> int:
        """How many centers that are due to the power are owned by others."""
        return sum(self._owner.get(c) == power for other in self._seen if other != power for c in self._seen[other])

    def _take(self, centers: Centers) -> None:
        if centers == self._seen:
            return
        before = {center: power for power, owned in self._seen.items() for center in owned}
        for power, owned in centers.items():
            taken = [center for center in owned if before.get(center) != power]
            for center in taken:
                may_keep = before.get(center) in self._thieves and power not in self._thieves
                self._keeper[center] = power if may_keep else ""
            for center in taken:
                if center not in before:
                    self._take_neutral(power, center, owned, before)
        self._seen = dict(centers)
        self._blame()
        self._thieves = frozenset(power for power in centers if self.stolen(power))

    def _take_neutral(self, power: str, center: str, owned: Sequence[str], before: Mapping[str, str]) -> None:
        """Record that `power` has taken a neutral center, perhaps in exchange for one of its own."""
        owner = self._owner.get(center, power)
        mine = [each for each, due in self._owner.items() if due == power and each not in owned]
        if owner in self._thieves or owner == power:
            self._owner[center] = power
        elif mine:
            self._owner[center] = power
            self._owner[min(mine, key=lambda each: each in before)] = owner

    def _blame(self) -> None:
        """Record the thief of each stolen center; centers back with their rightful owner are cleared."""
        for power, owned in self._seen.items():
            for center in owned:
                if self._is_loot(center, power):
                    self._robber[center] = power
                elif self._owner.get(center, power) == power:
                    self._robber.pop(center, None)
