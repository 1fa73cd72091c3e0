"""Noisy: another policy with occasional random errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.asking import AskingPolicy, part_asking
from agents.policy import generator, view_of
from agents.scripted.random import RandomPolicy
from welfare_env.errors import UnknownAgentError
from welfare_env.game.view import ORDERS

if TYPE_CHECKING:
    from agents.asking import Asking
    from agents.policy import Policy


class NoisyPolicy(AskingPolicy):
    """Plays another policy, but in each phase gives random orders with probability `error`.

    Messages are always the other policy's.

    Args:
        of: the other policy. Reset with the same seed, so that it plays as it would alone until the first error.
        error: probability, from 0 to 1.

    Raises:
        UnknownAgentError: an error out of range.
    """

    def __init__(self, of: Policy, error: float = 0.1) -> None:
        if not 0 <= error <= 1:
            raise UnknownAgentError(f"error={error}: give a number from 0 to 1")
        self.of = of
        self.error = error
        self._random = RandomPolicy()

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game.

        Raises:
            ValueError: a negative seed.
        """
        self.of.reset(agent, seed)
        self._random.reset(agent, seed)
        self._rng = generator(agent, seed, 3)
        self._phase, self._errs = "", False

    def reseed(self, seed: int) -> None:
        """Draw from this seed from now on; see `agents.policy.ReseedablePolicy`."""
        super().reseed(seed)
        self._random.reseed(seed)
        self._rng = generator("", seed, 3)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The other policy."""
        return (self.of,)

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The other policy's action, or random orders; the other policy always acts, so that it sees every turn."""
        view = view_of(self, info, "_phase")
        if view.phase != self._phase:
            self._phase, self._errs = view.phase, bool(self._rng.random() < self.error)
        action = yield from part_asking(self.of, observation, info)
        if not self._errs:
            return action
        if view.asked == ORDERS:
            return self._random.act(observation, info)
        # Orders that come with the messages would be final.
        return {**action, "orders": []} if isinstance(action, Mapping) else action
