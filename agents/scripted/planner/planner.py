"""Planner: a best response by search, of one power or of a jointly controlled coalition."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agents.policy import can_be_copied, generator
from agents.scripted.dove import DovePolicy
from agents.scripted.planner.drawing import PlanDrawer
from agents.scripted.planner.joint_policy import JointPolicy
from agents.scripted.planner.search import PlanSearch
from agents.scripted.planner.world import Orders, World
from welfare_env import checks
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.policy import Policy
    from agents.scripted.planner.plans import Plan
    from welfare_env import View

OPENING = 10  # times the budget of another phase
BASE_GAMES = 4
MOST_SEED = 2**31
_log = logging.getLogger(__name__)

Value = Callable[[Mapping[str, float]], float]
"""The objective of a coalition, as a function of its gains: member -> points more than in peace."""


def least_gain(gains: Mapping[str, float]) -> float:
    """The least gain of a member plus a tenth of the mean, so that a gain of one member alone counts a little, too."""
    return min(gains.values()) + 0.1 * sum(gains.values()) / len(gains)


class PlannerPolicy(JointPolicy):
    """Simulates the rest of the game against copies of the other players, and follows the best plan.

    A sampled best response in closed loop (as in Anthony et al., arXiv 2004.09677, section 4.1): in each phase it
    tries plans (`agents.scripted.planner.plans`) by simulating the rest of the game, and gives the orders of the best
    one. It knows the others' policies, not their seeds: copies follow the game with their own random numbers. The
    copies must be `agents.policy.ReseedablePolicy`; in place of others (language models, learned players) it plans
    against `model`, and logs a warning. Simulated players send no messages.

    The first phase has ten times the budget. The search never stops early, so the same seed gives the same plans.

    Args:
        budget: simulations in each phase.
        nice: the members' policy while the plan is peaceful; None: the policy of the first other power.
        model: the policy assumed for players that cannot be copied, and for all others if `meet` was not called.
        value: the objective, as a function of the members' gains; by default `least_gain`.

    Raises:
        UnknownAgentError: a budget below 1; `nice` or `model` is not an `agents.policy.ReseedablePolicy`.
    """

    def __init__(
        self, budget: int = 100, nice: Policy | None = None, model: Policy | None = None, value: Value = least_gain
    ) -> None:
        self.budget = checks.whole("budget", budget, 1, error=UnknownAgentError)
        for name, policy in (("nice", nice), ("model", model)):
            if policy is not None and not can_be_copied(policy):
                raise UnknownAgentError(f"{name}: {type(policy).__name__} cannot be copied: give a scripted policy")
        self.nice, self.model, self.value = nice, model or DovePolicy(), value
        self._make: Callable[[str], Policy] | None = None

    def meet(self, make: Callable[[str], Policy]) -> None:
        """Receive the others' policies.

        Args:
            make: makes a new policy like that of a power.
        """
        self._make = make

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Start a new game as all of `agents`.

        Raises:
            ValueError: a negative seed.
        """
        super().reset_coalition(agents, seed)
        self._rng = generator("+".join(agents), seed)
        self._world: World | None = None

    def joint_orders(self, view: View) -> Orders:
        """Search, and give the orders of the best plan."""
        is_first = self._world is None
        world = self._world or self._begin(view)
        world.follow(view)

        def simulate(plan: Plan, seed: int) -> float:
            points = world.play(view, plan, seed)
            return self.value({member: points[member] - self._base[member] for member in self.members})

        best = self._plans.improve(view, self.budget * (OPENING if is_first else 1), simulate)
        return world.orders(view, best, self._seed())

    def make_search(self, drawer: PlanDrawer, known: list[Plan]) -> PlanSearch:
        """The search for plans in a game.

        Args:
            known: plans to start from.
        """
        return PlanSearch(drawer, drawer.rng, known)

    def _begin(self, view: View) -> World:
        """Make the copies, and estimate the members' points in peace."""
        others = {power: self._copy(power) for power in view.powers if power not in self.members}
        nice = self.nice or next(iter(others.values()), self.model)
        world = self._world = World(others, dict.fromkeys(self.members, nice), self._rng)
        drawer = PlanDrawer(view.board, view.rules.years, self.members, self._rng)
        self._plans = self.make_search(drawer, drawer.known())
        games = [world.play(view, drawer.peaceful(), self._seed()) for _ in range(BASE_GAMES)]
        self._base = {member: sum(points[member] for points in games) / BASE_GAMES for member in self.members}
        return world

    def _copy(self, power: str) -> Policy:
        """A policy like that of a power, or the model in its place."""
        policy = self._make(power) if self._make else self.model
        if can_be_copied(policy):
            return policy
        _log.warning("%s (%s) cannot be copied: planning against the model in its place", type(policy).__name__, power)
        return self.model

    def _seed(self) -> int:
        return int(self._rng.integers(MOST_SEED))
