"""Punish: the paper's punishing policy on toy boards, against the powers that a deterrent fights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from agents.scripted.deterrents.ownership import RightfulOwners
    from welfare_env.game.view import View


class PunishPolicy(ScriptedPolicy):
    """Fights one power on clique:n and shared-clique:n, jointly with all others (`agents.toy_boards.punishing`).

    Of several enemies it fights the one with most centers, or the first of these in the board's order; so all powers
    with the same enemies fight the same one. It plans as if all other powers would help, including other enemies.
    Before `pursue` is called, all others are enemies. Deterministic.

    Raises:
        UnknownMapError: when it plays on another board.
    """

    def reset(self, agent: str, seed: int = 0) -> None:
        super().reset(agent, seed)
        self._enemies: frozenset[str] | None = None

    def pursue(self, enemies: frozenset[str], owners: RightfulOwners | None = None, years: int = 0) -> None:
        """Fight these powers from now on; `owners` and `years` have no effect."""
        self._enemies = enemies

    def orders(self, view: View) -> list[str]:
        """The orders that punish."""
        from agents.toy_boards.punishing import punishing_orders  # lazily: numba

        enemies = frozenset(view.powers) - {view.power} if self._enemies is None else self._enemies
        guilty = max((power for power in view.powers if power in enemies), key=lambda each: len(view.centers[each]))
        return punishing_orders(view.board, view.state, guilty).get(view.power, [])
