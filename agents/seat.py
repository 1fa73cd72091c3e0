"""One seat of a game, with policies in all others; `agents.seat_env` and `agents.seat_game` play it."""

from __future__ import annotations

from typing import Any

from agents.modal.players import RoundWriter
from agents.policy import Policy
from agents.specs import PolicyLike, ProfileError, ProfileLike, read, read_profile
from welfare_env.game.view import View


class Seat:
    """A seat in a parallel environment. The policies of the others are made once, and reused in every game.

    Args:
        power: the seat; None: the map's first power.
        others: a policy for all other seats, a profile of them such as "4*dove + 2*random", or power -> policy.
        env: from `welfare_env.parallel_env`.

    Attributes:
        profile: that of the others.

    Raises:
        UnknownPowerError: no such seat.
        UnknownAgentError, ProfileError: a policy cannot be made or does not play Diplomacy, or the profile does not fit
            the other seats.
    """

    def __init__(self, power: str | None, others: ProfileLike, env: Any) -> None:
        self.env = env
        self.power = env.board.powers[0] if power is None else env.board.check_power(power)
        self.others = tuple(each for each in env.board.powers if each != self.power)
        self.profile = read_profile(others)
        self._made: dict[tuple[str, int], Policy] = {}
        self._players = self._seated(0)  # an invalid profile raises here
        self._seen: dict[str, Any] = {}
        self.infos: dict[str, Any] = {}

    def begin(self, shift: int, seed: int, options: dict[str, Any] | None = None) -> None:
        """Begin a game.

        Args:
            shift: counted seats are dealt from this seat number on.
            seed: of all players; some policies make joint draws.
            options: of the environment's reset.
        """
        self._seen, self.infos = self.env.reset(options=options)
        self._players = self._seated(shift)
        for power, policy in self._players.items():
            policy.reset(agent=power, seed=seed)

    def advance(self, action: Any) -> float:
        """Play a message round or a phase with the seat's action. Returns the seat's reward."""
        actions = {power: policy.act(self._seen[power], self.infos[power]) for power, policy in self._players.items()}
        self._seen, rewards, _, _, self.infos = self.env.step({**actions, self.power: action})
        return float(rewards[self.power])

    @property
    def is_running(self) -> bool:
        """Whether a game is being played."""
        return bool(self.env.agents)

    @property
    def observation(self) -> Any:
        """The seat's own."""
        return self._seen[self.power]

    @property
    def view(self) -> View:
        """The seat's own."""
        return self.infos[self.power]["view"]

    def _seated(self, shift: int) -> dict[str, Policy]:
        players = {}
        for power, spec in self.profile.seats(self.others, shift).items():
            key = (power, self.profile.policies.index(spec))
            if key not in self._made:
                self._made[key] = player_of(spec, "others")
            players[power] = self._made[key]
        return players


def player_of(policy: PolicyLike, where: str) -> Policy:
    """A new player of Diplomacy.

    Raises:
        ProfileError: the policy writes programs.
        UnknownAgentError: as `agents.make`.
    """
    spec = read(policy)
    player = spec.make()
    if isinstance(player, RoundWriter):
        programs = "writes programs of modal_env, not orders: they play in `welfare-env modal`"
        raise ProfileError(f"{where}: {spec.text!r:.200} {programs}")
    return player
