"""The paper's profile pi_t: take a center each, disarm in an agreed Winter, and punish deviators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.policy import ScriptedPolicy
from agents.toy_boards.shape import NOBODY, Clique, clique_of
from welfare_env.board.order_text import order_parts
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, SPRING_MOVES, WINTER
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from welfare_env.engine import State
    from welfare_env.game.history import PhaseRecord
    from welfare_env.game.position import Position
    from welfare_env.game.view import View


class PunisherPolicy(ScriptedPolicy):
    """A player of the profile pi_t on clique:n and shared-clique:n (paper, section 3.2, appendix G), n from 2 to 7.

    The path: all enter their cores in the first Spring, hold until all disband in Winter of year t, and do nothing from
    then on. While the board is that of the path, the player follows it; else it punishes the deviator
    (`agents.toy_boards.punishing`). Deterministic; its orders depend only on board, year and phase, unless it
    `remembers`.

    Args:
        t: the year in whose Winter all disband, from 1. A game of T years has T - t years without units.
        shared: on shared-clique:n, which of the two players that share a core gets it: the first one (PLAYERA) by
            default. The other one stays in its leaf.
        deviator: the power to punish. By default the player infers it from the board (`suspect`); where the board does
            not determine it, everybody enters its core and stays. The exact values in docs/theorems.md assume players
            who know the deviator.
        remembers: look up the first power to leave the path (`first_deviator`), as the paper's players do, and punish
            it throughout. In a game that begins off the path it remembers its first guess.

    Raises:
        UnknownAgentError: `t` is not a year, or both `deviator` and `remembers` are given.
    """

    def __init__(self, t: int, shared: str | None = None, deviator: str | None = None, remembers: bool = False) -> None:
        if not isinstance(t, int) or isinstance(t, bool) or t < 1:
            raise UnknownAgentError(f"t={t!r:.40}: give the year of disarmament, from 1")
        if remembers and deviator is not None:
            raise UnknownAgentError(f"deviator={deviator!r:.40} with remembers: give one of the two")
        self.t, self.shared, self.deviator, self.remembers = t, shared, deviator, remembers

    def reset(self, agent: str, seed: int = 0) -> None:
        """As `ScriptedPolicy.reset`."""
        super().reset(agent, seed)
        self._accused: str | None = None

    def orders(self, view: View) -> list[str]:
        """The path's orders, or those that punish."""
        clique = clique_of(view.board)
        path = AgreedPath(clique, self.t, excluded(clique, self.shared))
        if path.has(view.state):
            return path.orders(view.power, view)
        guilty = self.deviator or self._suspect(path, view)
        if guilty is None:
            return wait(path, view)
        from agents.toy_boards.punishing import punishing_orders  # lazily: numba

        return punishing_orders(view.board, view.state, guilty).get(view.power, [])

    def _suspect(self, path: AgreedPath, view: View) -> str | None:
        if not self.remembers:
            return suspect(path, view.state)
        if self._accused is None:
            self._accused = first_deviator(path, view.history) or suspect(path, view.state)
        return self._accused


def excluded(clique: Clique, shared: str | None) -> int:
    """The number of the player that shares a core and does not get it; -1 on boards without a shared core.

    Raises:
        UnknownAgentError: `shared` is not one of the two players.
    """
    powers = clique.board.powers
    sharers = (powers[0], powers[-1]) if clique.is_shared else ()
    if shared is not None and shared not in sharers:
        choices = f"one of {' and '.join(sharers)}, who share a core" if sharers else "none: no core is shared there"
        raise UnknownAgentError(f"shared={shared!r:.80} on map {clique.board.name}: give {choices}")
    if not sharers:
        return NOBODY
    return 0 if shared == powers[-1] else len(powers) - 1


class AgreedPath:
    """The positions of pi_t, and every power's orders there.

    Args:
        t: the year of disarmament, from 1.
        excluded: the number of the player without a core, or -1.
    """

    def __init__(self, clique: Clique, t: int, excluded: int) -> None:
        self.clique, self.t, self.excluded = clique, t, excluded

    def rows(self, year: int, phase: int) -> tuple[np.ndarray, np.ndarray]:
        """Owner and unit of each province in a phase of a year (from 0), as in `agents.toy_boards.kernels`."""
        clique = self.clique
        owner, unit = np.full((2, clique.cores + clique.powers), NOBODY, np.int8)
        owner[clique.cores :] = range(clique.powers)
        for power in range(clique.powers):
            core = clique.home(power) if power != self.excluded else clique.cores + power
            if (year, phase) > (0, WINTER - 1):
                owner[core] = power
            if year < self.t:
                unit[clique.cores + power if (year, phase) == (0, SPRING_MOVES) else core] = power
        return owner, unit

    def has(self, state: State) -> bool:
        """Whether a position is on the path."""
        if state.phase_type not in (MOVEMENT, ADJUSTMENTS):
            return False
        pairs = zip(self.rows(state.year, state.phase), self.clique.rows(state), strict=True)
        return all(np.array_equal(path, here) for path, here in pairs)

    def orders(self, power: str, here: View | Position) -> list[str]:
        """A power's orders in a position of the path."""
        units, state = sorted(here.units.get(power, ())), here.state
        if state.phase_type == ADJUSTMENTS:
            return [f"{unit} D" for unit in units] if state.year == self.t - 1 else []
        me = self.clique.board.power_index[power]
        if (state.year, state.phase) == (0, SPRING_MOVES) and me != self.excluded:
            return [f"{unit} - {self.clique.piece[self.clique.home(me)][2:]}" for unit in units]
        return [f"{unit} H" for unit in units]


def first_deviator(path: AgreedPath, history: Iterable[PhaseRecord]) -> str | None:
    """The first power to leave the path; None if nobody did. Of several in one phase, the first in the board's order.

    Only moves, builds and disbands other than the path's count; a support of another's move does not.
    """
    for record in history:
        if path.has(record.position.state) and not path.has(record.after.state):
            for power in path.clique.board.powers:
                if _changes(record.orders.get(power, ())) != _changes(path.orders(power, record.position)):
                    return power
    return None


def _changes(orders: Iterable[str]) -> set[str]:
    """The orders that move, build or disband."""
    return {order for order in orders if (parts := order_parts(order)) and parts.command in ("-", "B", "D")}


def suspect(path: AgreedPath, state: State) -> str | None:
    """The power that seems to have left the path: the one that differs most from it; None for a tie, or if none does.

    Owning or occupying another's leaf weighs most, then leaving the own leaf empty although a punisher would have built
    there.
    """
    clique = path.clique
    owner, unit = clique.rows(state)
    path_owner, path_unit = path.rows(state.year, state.phase)
    weights = np.zeros(clique.powers, np.int64)
    for power in range(clique.powers):
        foreign = [leaf for leaf in range(clique.cores, len(owner)) if leaf != clique.cores + power]
        weights[power] = 100 * int((owner[foreign] == power).sum() + (unit[foreign] == power).sum())
        weights[power] += 10 * int(((owner == power) & (path_owner != power)).sum())
        home = clique.cores + power
        is_open = owner[home] == power and unit[home] == NOBODY and (owner == power).sum() > (unit == power).sum()
        weights[power] += 30 * int(is_open and state.year < path.t)
        weights[power] += int(((unit == power) != (path_unit == power)).sum())
    first = int(weights.argmax())
    if weights[first] == 0 or (weights == weights[first]).sum() > 1:
        return None
    return clique.board.powers[first]


def wait(path: AgreedPath, view: View) -> list[str]:
    """The orders of a player that does not know the deviator: it builds, enters its core, and stays there."""
    clique, me = path.clique, view.board.power_index[view.power]
    leaf, core = clique.piece[clique.cores + me], clique.piece[clique.home(me)]
    units = sorted(view.units.get(view.power, ()))
    if view.phase_type == ADJUSTMENTS:
        return [f"{leaf} B"] if view.max_builds else [f"{unit} D" for unit in units[: view.must_disband]]
    if view.phase_type == MOVEMENT:
        return [f"{unit} - {core[2:]}" if unit == leaf and me != path.excluded else f"{unit} H" for unit in units]
    return [f"{unit} D" for unit in view.legal_orders]
