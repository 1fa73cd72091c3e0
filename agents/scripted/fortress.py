"""Fortress: a player that arms and never attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.scripted.hold import HoldPolicy

if TYPE_CHECKING:
    from welfare_env.game.view import View


class FortressPolicy(HoldPolicy):
    """Holds with all units and builds all it may (in each home center, the first unit by name); disbands only what it
    must. Deterministic.

    A feint: it provokes players that react to armament, although it takes nothing.
    """

    def winter(self, view: View) -> list[str]:
        if view.must_disband:
            return super().winter(view)
        builds = [legal[0] for legal in view.legal_orders.values() if legal[0].endswith(" B")]
        return builds[: view.max_builds]
