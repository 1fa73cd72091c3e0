"""Policies for all seats but one."""

from __future__ import annotations

from collections.abc import Sequence

from agents.modal.players import RoundWriter
from agents.policy import Policy
from agents.specs.profiles import ProfileError, ProfileLike, read_profile
from agents.specs.spec import Spec


class OtherSeats:
    """Who plays the other seats; a policy of a profile is made once for each seat, and reset for every game.

    Args:
        profile: a policy for all of them, a profile such as "4*dove + 2*random", or power -> policy.
        seats: the powers that it plays.

    Raises:
        UnknownAgentError, ProfileError, UnknownPowerError: policies that cannot be made or play here, or a profile that
            does not fit these seats.
    """

    def __init__(self, profile: ProfileLike, seats: Sequence[str]) -> None:
        self.seats = tuple(seats)
        self.profile = read_profile(profile)
        self._made: dict[tuple[str, int], Policy] = {}
        self.seated(0)  # an invalid profile raises here

    def seated(self, shift: int) -> dict[str, Policy]:
        """Power -> policy, counted seats dealt from the seat of this number on.

        Raises:
            ProfileError: a policy that cannot play here.
        """
        players = {}
        for power, spec in self.profile.seats(self.seats, shift).items():
            key = (power, self.profile.policies.index(spec))
            if key not in self._made:
                self._made[key] = player_of(spec, "others")
            players[power] = self._made[key]
        return players


def player_of(spec: Spec, where: str) -> Policy:
    """A new player of Diplomacy.

    Raises:
        ProfileError: the policy writes programs.
        UnknownAgentError: as `Spec.make`.
    """
    policy = spec.make()
    if isinstance(policy, RoundWriter):
        raise ProfileError(f"{where}: {spec.text!r:.200} writes programs of modal_env, not orders")
    return policy
