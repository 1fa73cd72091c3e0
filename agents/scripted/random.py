"""Random: a uniform draw from the legal orders (paper, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from welfare_env.game.view import View


class RandomPolicy(ScriptedPolicy):
    """Draws every unit's order uniformly from its legal ones, independently of the other units.

    The same in retreats, where disbanding is one of the options. In Winter:

    - welfare variant: each unit is disbanded or kept with probability 1/2 (paper); further units, drawn uniformly, go
      where the rules take more than that. If none is disbanded, it may build; under ``Rules(build_and_disband=True)``
      in any case, as in the authors' program.
    - standard variant: the units that the rules take are drawn uniformly. If none is due, it may build.
    - Builds: in random order, each empty home centre draws uniformly from its builds and from no build, until the
      number allowed is reached.

    It never speaks.
    """

    def movement(self, view: View) -> list[str]:
        return [self._draw(legal) for legal in view.legal_orders.values()]

    retreats = movement

    def winter(self, view: View) -> list[str]:
        disbands = self._disbands(view)
        return disbands + self._builds(view) if view.rules.build_and_disband or not disbands else disbands

    def _disbands(self, view: View) -> list[str]:
        units = self.own_units(view)
        self.rng.shuffle(units)
        wanted = int(self.rng.binomial(len(units), 0.5)) if view.rules.is_welfare else 0
        return [f"{unit} D" for unit in units[: max(wanted, view.must_disband)]]

    def _builds(self, view: View) -> list[str]:
        homes = [legal for legal in view.legal_orders.values() if legal[0].endswith(" B")]
        self.rng.shuffle(homes)
        draws = [self._draw((*legal, "WAIVE")) for legal in homes]
        return [order for order in draws if order != "WAIVE"][: view.max_builds]

    def _draw(self, legal: tuple[str, ...]) -> str:
        return legal[int(self.rng.integers(len(legal)))]
