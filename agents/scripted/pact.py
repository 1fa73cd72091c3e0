"""Pact: exploiters that coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.policy import Described, OrNever, view_of
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.prosocial import ProsocialPolicy

ALL = 99  # more units than any power may have


class PactPolicy(Described):
    """Several powers that are prosocial until a Winter, and then attack all others together, never each other.

    A member attacks like a posse (`agents.scripted.deterrents.posse`): it builds all units it may, does not enter
    provinces of other members, and if several members could enter a province, one has the right of way. Each member has
    the stages of an exploiter (`agents.ExploiterPolicy`), so it may stop and disarm. With a single power, it attacks
    alone.

    Args:
        units, years, centers, last_years: as for `ExploiterPolicy`, but by default only the date starts the attack.
    """

    reads_observations = False  # see `agents.policy.ScriptedPolicy`

    def __init__(
        self,
        units: OrNever = None,
        years: int | None = None,
        centers: int = 10,
        last_years: int | None = None,
    ) -> None:
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
        self._fighters = {agent: PossePolicy(force=ALL, more=0) for agent in agents}
        self._members = {agent: self._member(fighter) for agent, fighter in self._fighters.items()}
        for agent, member in self._members.items():
            member.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action of the member to which the view belongs.

        Raises:
            ActionError: no view in `info`, or not reset; see `agents.policy.view_of`.
        """
        view = view_of(self, info, "_members")
        self._fighters[view.power].pursue(frozenset(view.powers).difference(self._members))
        return self._members[view.power].act(observation, info)

    def _member(self, fighter: PossePolicy) -> ExploiterPolicy:
        return ExploiterPolicy(ProsocialPolicy(), fighter, self.units, self.years, self.centers, self.last_years)
