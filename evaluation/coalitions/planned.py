"""Coalitions with exact plans on small boards, as attackers of `evaluation.collusion` and other evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agents.policy import view_of
from evaluation.exact.certify import certify
from evaluation.exact.clique_proofs import Line

MOST_PLANS = 1000  # in memory


class PlannedCoalition:
    """Plays a line of play that maximizes the total points of the coalition's members.

    For a single power this is a best response. The plan is computed when a game begins (`evaluation.exact.certify`,
    which describes the supported boards and policies) and is then fixed, since the others are deterministic.

    Args:
        map_name, profile, years: the map, the others' profile, and the length of the game.
    """

    reads_observations = False  # see `agents.policy.ScriptedPolicy`

    def __init__(self, map_name: str, profile: str, years: int) -> None:
        self.map_name, self.profile, self.years = map_name, profile, years

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game as one power; errors as `certify`."""
        self.reset_coalition((agent,), seed)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Start a new game as all of `agents`; errors as `certify`."""
        self._orders = dict(_plan(self.map_name, self.profile, tuple(agents), self.years))

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The plan's orders for the power of the view.

        Raises:
            ActionError: no view in `info`, or not reset; see `agents.policy.view_of`.
        """
        view = view_of(self, info, "_orders")
        return view.encode_orders(self._orders[view.phase].get(view.power, ()))


@lru_cache(maxsize=MOST_PLANS)
def _plan(map_name: str, profile: str, agents: tuple[str, ...], years: int) -> Line:
    return certify(map_name, profile, agents, years).line
