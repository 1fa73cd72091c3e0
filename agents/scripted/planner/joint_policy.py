"""Base of players that decide jointly for all members of a coalition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from agents.policy import Described, check_reset, view_of
from welfare_env.errors import ActionError
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.scripted.planner.world import Orders
    from welfare_env import View


class JointPolicy(Described, ABC):
    """Base of players of one power or a coalition that decide all members' orders of a phase at once, without messages.

    A subclass implements `joint_orders`, and extends `reset_coalition`.

    Attributes:
        members: the powers it plays.
    """

    reads_observations = False  # see `agents.policy.ScriptedPolicy`

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game as one power; not a name or a seed is an ActionError."""
        self.reset_coalition((agent,), seed)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Start a new game as all of `agents`; as `reset`."""
        for agent in agents if isinstance(agents, list | tuple) else (agents,):
            check_reset(agent, seed)
        self.members = tuple(agents)
        self._planned: tuple[str, Orders] = ("", {})  # the last phase, and the orders in it

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """This phase's orders, as an action of the environment; no messages.

        Raises:
            ActionError: no view in `info`, or not reset; see `agents.policy.view_of`.
        """
        view = view_of(self, info, "members")
        if view.power not in self.members:
            raise ActionError(f"this policy was reset as {', '.join(self.members)}, and the view is {view.power}'s")
        if view.asked == MESSAGES:
            return view.encode_messages([])
        if view.phase != self._planned[0]:
            self._planned = view.phase, self.joint_orders(view)
        return view.encode_orders(self._planned[1].get(view.power, []))

    @abstractmethod
    def joint_orders(self, view: View) -> Orders:
        """All members' orders in the phase of a member's view."""
