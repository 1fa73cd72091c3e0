"""The `Policy` protocol, and `ScriptedPolicy`, the base class of players that work with order strings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from welfare_env import checks
from welfare_env.board.order_text import order_parts
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, RETREATS
from welfare_env.errors import ActionError
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from welfare_env.game.view import View


OrNever = int | None
"""A number; in specs "never" is None, where that is not just the default (`agents.specs.options.READERS`)."""


@runtime_checkable
class Policy(Protocol):
    """A player of one power in one game at a time."""

    def reset(self, agent: str, seed: int = 0) -> None:
        """Prepares for a new game as `agent` (a power's name). The same seed replays the same game."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action in the current turn, given the environment's `observation` and `info` (with ``info["view"]``)."""


@runtime_checkable
class CoalitionPolicy(Policy, Protocol):
    """A player of several powers in one game: one object that may plan for all of them.

    `reset_coalition` is called once per game with all its powers; `act` is called for each of them with that power's
    observation, and ``info["view"].power`` names the power. See `evaluation.exploitability(..., coordinated=True)`.
    """

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Prepares for a new game as all of `agents`, in place of `reset`. The same seed replays the same game."""


@runtime_checkable
class ReseedablePolicy(Policy, Protocol):
    """A player that can be copied (`copy.deepcopy`) at any moment; a copy plays on with its own random numbers.

    A planner (`agents.scripted.planner`) plays games to their end against such copies.
    """

    def reseed(self, seed: int) -> None:
        """Draw from this seed from now on; all other state is unchanged."""


def can_be_copied(policy: Policy) -> bool:
    """Whether the policy, and every policy that plays for it, is a `ReseedablePolicy`."""
    return isinstance(policy, ReseedablePolicy) and all(map(can_be_copied, getattr(policy, "parts", ())))


@runtime_checkable
class PlanningPolicy(Policy, Protocol):
    """A player that plans against the other players: `meet` gives it their policies before each game's reset."""

    def meet(self, make: Callable[[str], Policy]) -> None:
        """Receive the others' policies: `make` returns a new policy like that of a power, not yet reset.

        The player knows their policies, but not their random draws in this game.
        """


def view_of(policy: Policy, info: Mapping[str, Any], made: str) -> View:
    """The player's view, for the `act` of a policy.

    Args:
        info: what the environment gave with the turn.
        made: name of an attribute that the policy's `reset` makes.

    Raises:
        ActionError: the info has no view, or the policy was not reset.
    """
    name = type(policy).__name__
    try:
        view: View = info["view"]
        power = view.power
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ActionError(f"{name}.act(observation, info): {_not_a_turn(info)}") from None
    if not hasattr(policy, made):
        call = f"call reset(agent={power!r}, seed=0) before each game"
        raise ActionError(f"{name}.act before reset: {call}; a subclass with a reset of its own calls super().reset")
    return view


def is_modal(info: object) -> bool:
    """Whether an info was given by an environment of `modal_env`."""
    return isinstance(info, Mapping) and "setting" in info


def _not_a_turn(info: object) -> str:
    if is_modal(info):
        return "this policy plays the board game; modal_env has players of its own, such as 'program:FairBot'"
    return (
        f"info is {checks.quoted(info)}, without a view in info['view']: give what the environment returns: "
        "observation and info of env.last(), or observations[agent] and infos[agent] of a parallel environment; "
        "without an environment, act(None, {'view': game.view(power)})"
    )


def check_reset(agent: object, seed: object) -> None:
    """Check what a policy is reset with.

    Raises:
        ActionError: `agent` is no name, or `seed` no seed.
    """
    if not isinstance(agent, str):
        raise ActionError(f"agent={checks.quoted(agent)}: give the name of a power")
    checks.seed(seed, ActionError)


def generator(agent: str, seed: int, *stream: int) -> np.random.Generator:
    """A player's random numbers: other powers, seeds and streams draw others.

    Raises:
        ActionError: as `check_reset`.
    """
    check_reset(agent, seed)
    return np.random.default_rng([int(seed), *stream, *agent.encode(errors="replace")])


def subseed(seed: int, part: int) -> int:
    """The seed of one part of a player.

    Raises:
        ActionError: not a seed.
    """
    return int(np.random.SeedSequence([checks.seed(seed, ActionError), part]).generate_state(1)[0])


class Described:
    """Base of players whose `repr` shows their class and the options that differ from its defaults."""

    def __repr__(self) -> str:
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = repr(getattr(self, name, parameter.default))
            if value != repr(parameter.default):
                shown.append(f"{name}={value:.200}")
        return f"{type(self).__name__}({', '.join(shown)})"


class ScriptedPolicy(Described):
    """Base of policies that read the view and answer with order strings and messages.

    A subclass implements `movement` and `winter`, optionally `retreat_to` or `retreats`, or all of `orders`; and
    `messages` if it speaks. Orders are computed once per phase and messages once per message round, so repeated calls
    in a phase or round get the same answer.

    Attributes:
        agent: the power it plays, from `reset`.
        rng: its own generator, seeded by the seed and the power, so that powers reset with the same seed differ.
    """

    agent: str = ""
    rng: np.random.Generator

    def reset(self, agent: str, seed: int = 0) -> None:
        """Clears all state for a new game.

        Raises:
            ActionError: not a name, or not a seed.
        """
        self.rng = generator(agent, seed)
        self.agent = agent
        self._phase = ""
        self._orders: list[str] = []
        self._round: tuple[str, int] = ("", 0)
        self._messages: list[tuple[str, str]] = []

    def reseed(self, seed: int) -> None:
        """Draw from this seed from now on; see `ReseedablePolicy`."""
        self.rng = generator(self.agent, seed)

    @property
    def reads_observations(self) -> bool:
        """Whether `act` reads its observation; if not, games need not compute it."""
        return type(self).act is not ScriptedPolicy.act

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """This round's messages or this phase's orders, as an action of the environment.

        Raises:
            ActionError: no view in `info` (see `view_of`), not reset, or another power's turn.
        """
        view = view_of(self, info, "_phase")
        if view.power != self.agent:
            raise ActionError(f"this policy was reset as {checks.quoted(self.agent)}, and the view is {view.power}'s")
        if view.asked == MESSAGES:
            return view.encode_messages(self._messages_of_round(view))
        return view.encode_orders(self._orders_of_phase(view))

    def orders(self, view: View) -> list[str]:
        """All orders of the power for this phase, each of them legal; a unit without an order holds."""
        plans = {MOVEMENT: self.movement, RETREATS: self.retreats, ADJUSTMENTS: self.winter}
        return plans[view.phase_type](view)

    def movement(self, view: View) -> list[str]:
        """Orders of a Spring or Fall movement phase."""
        raise self._missing("movement", "the orders of its units")

    def retreats(self, view: View) -> list[str]:
        """Retreats the dislodged units to different places, chosen one by one by `retreat_to`."""
        orders, taken = [], set()
        for unit, legal in view.legal_orders.items():
            places = [parts.dest for parts in map(order_parts, legal) if parts and parts.command == "R"]
            place = self.retreat_to(view, unit, [place for place in places if place[:3] not in taken])
            orders.append(f"{unit} R {place}" if place else f"{unit} D")
            taken.add(place[:3] if place else "")
        return orders

    def retreat_to(self, view: View, unit: str, places: list[str]) -> str | None:
        """The place that a unit retreats to, of `places` (which exclude retreats of our other units); None disbands it.

        The default is the first one.
        """
        return places[0] if places else None

    def winter(self, view: View) -> list[str]:
        """Builds or disbands."""
        raise self._missing("winter", "builds or disbands")

    def _missing(self, name: str, what: str) -> ActionError:
        return ActionError(
            f"{type(self).__name__} has no method {name}(self, view): write one that returns {what} as a list"
        )

    def messages(self, view: View) -> list[tuple[str, str]]:
        """The messages of this round: (recipient, text) pairs; a recipient is a power or ``"GLOBAL"``."""
        return []

    def own_units(self, view: View) -> list[str]:
        """The power's units on the board, sorted; empty for the mediator."""
        return sorted(view.units.get(view.power, ()))

    def _orders_of_phase(self, view: View) -> list[str]:
        if view.phase != self._phase:
            self._orders = self.orders(view)
            self._phase = view.phase
        return self._orders

    def _messages_of_round(self, view: View) -> list[tuple[str, str]]:
        now = (view.phase, view.message_round)
        if now != self._round:
            self._messages = self.messages(view)
            self._round = now
        return self._messages
