"""Players that hold: one that changes nothing, and a fortress, which arms and never attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from welfare_env.game.view import View


class HoldPolicy(ScriptedPolicy):
    """Keeps what it has and does nothing else.

    Every unit holds. A dislodged unit retreats to the first place by name, and is disbanded only if there is none. In
    Winter it builds nothing and disbands only what it must: the first units by name. It sends no messages, and is
    deterministic.
    """

    def movement(self, view: View) -> list[str]:
        return [f"{unit} H" for unit in view.legal_orders]

    def winter(self, view: View) -> list[str]:
        return [f"{unit} D" for unit in self.own_units(view)[: view.must_disband]]


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
