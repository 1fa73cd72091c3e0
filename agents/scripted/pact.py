"""Pact: exploiters that coordinate."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.scripted.deterrents.ownership import RightfulOwners
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.prosocial import ProsocialPolicy

if TYPE_CHECKING:
    from agents.policy import Policy
    from welfare_env.game.view import View

ALL = 99  # more units than any power may have


class PactPolicy:
    """Several powers that play `nice` until a given Winter, then attack all others together, but never each other.

    A member attacks like a posse (`agents.scripted.deterrents.posse`): it builds all units it may, does not enter
    provinces of other members, and if several members could enter a province, one has the right of way. Each member has
    the stages of an exploiter (`agents.ExploiterPolicy`), so it may stop and disarm. With a single power, it attacks
    alone.

    Args:
        nice: plays before and after the attack, separately for each member; by default prosocial.
        years, units, centers, last_years: as for `ExploiterPolicy`, but by default only the date starts the attack.
    """

    def __init__(
        self,
        nice: Policy | None = None,
        years: int | None = None,
        units: int | None = None,
        centers: int = 10,
        last_years: int | None = None,
    ) -> None:
        self.nice = nice or ProsocialPolicy()
        self.years, self.units, self.centers, self.last_years = years, units, centers, last_years

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game as one power.

        Raises:
            ValueError: a negative seed.
        """
        self.reset_coalition([agent], seed)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Start a new game as all of `agents`.

        Raises:
            ValueError: a negative seed.
        """
        self._members = {agent: self._member() for agent in agents}
        for agent, member in self._members.items():
            member.reset(agent, seed)

    @property
    def reads_observations(self) -> bool:
        """Whether `nice` reads them (see `agents.policy.ScriptedPolicy`)."""
        return getattr(self.nice, "reads_observations", True)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action of the member to which the view belongs."""
        view: View = info["view"]
        member = self._members[view.power]
        enemies = frozenset(view.powers).difference(self._members)
        member.attack.pursue(enemies, RightfulOwners(), 0)  # type: ignore[attr-defined]
        return member.act(observation, info)

    def _member(self) -> ExploiterPolicy:
        attack = PossePolicy(force=ALL, more=0)
        return ExploiterPolicy(copy.deepcopy(self.nice), attack, self.units, self.years, self.centers, self.last_years)
