"""A mixed strategy: one of several policies, drawn once a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from agents.asking import AskingPolicy, part_asking
from agents.policy import generator
from welfare_env.errors import UnknownAgentError

if TYPE_CHECKING:
    from agents.asking import Asking
    from agents.policy import Policy

STREAM = 7  # of a seed, for the draw


def check_shares(shares: Sequence[Fraction | float], slack: float = 1e-9) -> None:
    """Check the shares of a mix.

    Args:
        slack: how far their sum may be from 1.

    Raises:
        UnknownAgentError: there are no shares, one is not above 0, or they do not sum to 1.
    """
    if not shares or min(shares) <= 0 or abs(float(sum(shares)) - 1) > slack:
        raise UnknownAgentError(f"the shares of a mix must be above 0 and sum to 1, not to {float(sum(shares)):g}")


class MixturePolicy(AskingPolicy):
    """Draws one of several policies at the beginning of each game, with given probabilities, and plays it throughout.

    Args:
        parts: policies with their shares.

    Raises:
        UnknownAgentError: no policy, a share that is not above 0, or shares that do not sum to 1.
    """

    def __init__(self, parts: Sequence[tuple[Policy, Fraction]]) -> None:
        shares = [share for _, share in parts]
        check_shares(shares)
        self.policies = tuple(policy for policy, _ in parts)
        self.shares = tuple(float(share / sum(shares)) for share in shares)
        self._drawn = 0

    def __repr__(self) -> str:
        parts = ", ".join(f"{share:g}: {policy!r}" for policy, share in zip(self.policies, self.shares, strict=True))
        return f"{type(self).__name__}({parts})"

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game: draw the policy.

        Raises:
            ValueError: a negative seed.
        """
        rng = generator(agent, seed, STREAM)
        self._drawn = int(rng.choice(len(self.policies), p=self.shares))
        self.policies[self._drawn].reset(agent, seed)

    @property
    def reads_observations(self) -> bool:
        """Whether one of the policies reads them (see `agents.policy.ScriptedPolicy`)."""
        return any(getattr(policy, "reads_observations", True) for policy in self.policies)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policy that was drawn; the others do not play in this game."""
        return (self.policies[self._drawn],)

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The action of the policy that was drawn."""
        return (yield from part_asking(self.policies[self._drawn], observation, info))
