"""A planner's simulations of the rest of a game, against copies of the other players."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from agents.policy import ReseedablePolicy
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.planner.plans import Course, Move, Plan
from agents.scripted.planner.tactics import Phase, denying, winter
from welfare_env.engine import ADJUSTMENTS, MOVEMENT
from welfare_env.game.game import Game
from welfare_env.game.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from agents.policy import Policy

Orders = dict[str, list[str]]  # power -> its orders


class World:
    """A coalition's model of the game: copies of the players in their current states.

    Args:
        others: a policy for each other power.
        nice: a policy for each member, which plays while the plan is peaceful.
        rng: draws the copies' seeds.
    """

    def __init__(self, others: Mapping[str, Policy], nice: Mapping[str, Policy], rng: np.random.Generator) -> None:
        self._others, self._nice = _copies(others), _copies(nice)
        for power, policy in (*self._others.items(), *self._nice.items()):
            policy.reset(power, int(rng.integers(2**31)))
        self._followed = 0  # phases that the copies have seen

    def follow(self, view: View) -> None:
        """Bring the copies up to date with the phases since the last call."""
        history = view.history
        for number in range(self._followed, len(history)):
            record = history[number]
            for power, policy in (*self._others.items(), *self._nice.items()):
                if record.position.slots(view.board.power_index[power]):
                    _orders(policy, View(record.position, power, (), history[:number]))
        self._followed = len(history)

    def play(self, view: View, plan: Plan, seed: int) -> Mapping[str, float]:
        """Everybody's welfare points (scores in the standard variant) at the end, if the coalition follows a plan.

        Args:
            seed: seed of the other players.
        """
        others, player = _copies(self._others, seed), PlanPlayer(plan, _copies(self._nice, seed), seed)
        game = Game.from_view(view)
        while not game.is_done:
            for power, policy in others.items():
                if game.position.slots(game.board.power_index[power]):
                    game.submit(power, _orders(policy, game.view(power)), strict=False)
            for power, orders in player.orders(game).items():
                game.submit(power, orders, strict=False)
            game.advance()
        return game.welfare if game.rules.is_welfare else game.scores

    def orders(self, view: View, plan: Plan, seed: int) -> Orders:
        """The coalition's orders in the phase of the view."""
        return PlanPlayer(plan, _copies(self._nice, seed), seed).orders(Game.from_view(view))


class PlanPlayer:
    """Plays a plan for all its members.

    Args:
        nice: a policy for each member, which plays while the plan is peaceful.
        seed: seed of the fighting policies.
    """

    def __init__(self, plan: Plan, nice: Mapping[str, Policy], seed: int) -> None:
        self.plan, self._nice, self._seed = plan, nice, seed
        self._fighters: dict[str, PossePolicy] = {}

    def orders(self, game: Game) -> Orders:
        """The orders of all members that have something to order."""
        state, phase, found = game.position.state, Phase(), {}
        for power, courses in self.plan.courses.items():
            if game.position.slots(game.board.power_index[power]):
                following = courses[min(state.year + 1, len(courses) - 1)]
                orders = self._orders(game.view(power), courses[state.year], following, phase)
                found[power] = list(self.plan.orders.get((state.year, state.phase, power), orders))
        return found

    def _orders(self, view: View, course: Course, following: Course, phase: Phase) -> list[str]:
        if course.move is Move.NICE and (view.phase_type != ADJUSTMENTS or course.units is None):
            return _orders(self._nice[view.power], view)
        if course.move is Move.DENY and view.phase_type == MOVEMENT:
            denied = denying(view, course, self.plan.courses)
            peaceful = _orders(self._nice[view.power], view)
            return [order for order in peaceful if order[2:5] not in {u[2:5] for u in denied}] + list(denied.values())
        if view.phase_type == ADJUSTMENTS:
            return winter(view, course, following, self.plan.courses)
        if course.move is Move.FIGHT or view.phase_type != MOVEMENT:
            return self._fighter(view, course).orders(view)
        return phase.movement(view, course, self.plan.courses)

    def _fighter(self, view: View, course: Course) -> PossePolicy:
        """The policy that fights, or retreats, for a member."""
        if view.power not in self._fighters:
            self._fighters[view.power] = PossePolicy()
            self._fighters[view.power].reset(view.power, self._seed)
        self._fighters[view.power].pursue(frozenset(course.victims))
        return self._fighters[view.power]


def _copies(policies: Mapping[str, Policy], seed: int | None = None) -> dict[str, Policy]:
    """Copies of the policies in their current states; reseeded if there is a seed."""
    copies = {power: copy.deepcopy(policy) for power, policy in policies.items()}
    for policy in copies.values():
        if seed is not None and isinstance(policy, ReseedablePolicy):
            policy.reseed(seed)
    return copies


def _orders(policy: Policy, view: View) -> list[str]:
    """A policy's orders."""
    action: Any = policy.act(None, {"view": view})
    return list(action["orders"] if isinstance(action, dict) else action)
