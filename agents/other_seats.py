"""Policies for all seats but one."""

from __future__ import annotations

from collections.abc import Sequence

from agents.modal.players import RoundWriter
from agents.policy import Policy
from agents.specs.profiles import ProfileError, ProfileLike, read_profile
from agents.specs.spec import Spec


class OtherSeats:
    """The policies of the other seats; each is made once for its seat, and reused in every game.

    Args:
        profile: a policy for all of them, a profile such as "4*dove + 2*random", or power -> policy.
        seats: the powers to play.

    Raises:
        UnknownAgentError, ProfileError, UnknownPowerError: a policy cannot be made or does not play Diplomacy, or the
            profile does not fit these seats.
    """

    def __init__(self, profile: ProfileLike, seats: Sequence[str]) -> None:
        self.seats = tuple(seats)
        self.profile = read_profile(profile)
        self._made: dict[tuple[str, int], Policy] = {}
        self.seated(0)  # an invalid profile raises here

    def seated(self, shift: int) -> dict[str, Policy]:
        """Power -> policy; counted seats are dealt from seat number `shift` on.

        Raises:
            ProfileError: a policy does not play Diplomacy.
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
        programs = "writes programs of modal_env, not orders: they play in `welfare-env modal`"
        raise ProfileError(f"{where}: {spec.text!r:.200} {programs}")
    return policy
