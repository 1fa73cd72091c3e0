"""Games played by policies through their actions, shared by the tests of all of them."""

from collections.abc import Callable, Iterator, Mapping

import pytest

import agents
import welfare_env
from agents import Policy

# What the contract of the view promises; a policy that touches anything else fails its tests.
PUBLIC = {
    *("power", "powers", "phase", "season", "year", "phase_type", "rules", "years_left", "year_index"),
    *("units", "dislodged", "centers", "welfare", "legal_orders", "max_builds", "must_disband"),
    *("messages", "history", "asked", "message_round", "board", "recipients", "vocabulary", "beginning"),
    *("encode_orders", "encode_messages"),
}


class Window:
    """A view of which only the public part can be touched."""

    def __init__(self, view: welfare_env.View) -> None:
        self.__dict__["view"] = view

    def __getattr__(self, name: str) -> object:
        if name not in PUBLIC:
            raise AssertionError(f"a policy touched view.{name}")
        return getattr(self.__dict__["view"], name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AssertionError(f"a policy set view.{name}")


class Table:
    """A game and the policies that play it.

    Attributes:
        said: (phase, round, sender, recipient, text) of every message.
        done: (phase, power, orders) of every list of orders.
    """

    def __init__(self, seats: Mapping[str, Policy], game: welfare_env.Game, seed: int = 0) -> None:
        self.seats, self.game = seats, game
        self.said: list[tuple[str, int, str, str, str]] = []
        self.done: list[tuple[str, str, list[str]]] = []
        for power, policy in seats.items():
            policy.reset(agent=power, seed=seed)

    def phases(self) -> Iterator[welfare_env.Game]:
        """Plays on, and yields the game each time all orders are in, before they are carried out."""
        while not self.game.is_done:
            if self.game.rules.has_press and self.game.phase[-1] != "R":
                for message_round in range(1, self.game.rules.message_rounds + 1):
                    self._talk(message_round)
            for power, policy in self.seats.items():
                orders = self.ask(policy, power)
                self.game.submit(power, orders)
                self.done.append((self.game.phase, power, orders))
            yield self.game
            self.game.advance()

    def finish(self) -> "Table":
        for _ in self.phases():
            pass
        return self

    def ask(self, policy: Policy, power: str) -> list[str]:
        """The orders of a policy for a power, through the action."""
        action = policy.act(None, {"view": Window(self.game.view(power))})
        if not self.game.rules.has_press:
            return action
        assert action["messages"] == {}
        return action["orders"]

    def _talk(self, message_round: int) -> None:
        for power, policy in self.seats.items():
            action = policy.act(None, {"view": Window(self.game.view(power, "messages", message_round))})
            assert action["orders"] == []
            for recipient, text in action["messages"].items():
                self.game.send(power, recipient, text, message_round)
                self.said.append((self.game.phase, message_round, power, recipient, text))


Seat = Callable[..., Table]


@pytest.fixture(scope="session")
def seat() -> Seat:
    """seat(spec, others="hold", power="FRANCE", map_name=..., seed=..., game=None, **rules): a table to play at.

    `others` None puts `spec` in every seat.
    """

    def make_table(spec, others=None, power="FRANCE", map_name="standard", seed=0, game=None, **rules):
        game = game or welfare_env.Game(map_name, welfare_env.Rules(**{"press": None, **rules}))
        specs = {each: spec if others is None or each == power else others for each in game.powers}
        return Table({each: agents.make(text) for each, text in specs.items()}, game, seed)

    return make_table
