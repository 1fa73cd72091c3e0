"""What modeling costs, in units that are multiplied by epsilon: a name, a table of prices, or a function.

Names (`COSTS`): the post uses the depth; the others were proposed in comments to the post.

* "depth": the depth of the agent.
* "size": the size of its formula, in nodes.
* "opponent": the size of the opponent's formula, for an agent whose formula contains an X(.); 0 for others.
* "sum": "size" plus "opponent". Two agents that model each other pay the same.
* "worlds": the number of worlds of the chain that must be evaluated, a proxy for the length of proofs: 1 + the world at
  which the play settles, for an agent with a box; 0 for others, as they search for no proof.

A table gives the price of each unit, ``{"depth": 1, "box": "1/2"}`` (see `UNITS`), to be added up; or the price of each
depth, ``{0: 0, 1: 1, 2: 5}``. Both may be written as text: "depth=1,box=1/2", "0=0,1=1,2=5".

A function gets the agent, its opponent, and the world at which their play settles, and returns a number from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import Number, brief, choice, exact, integer
from modal_env.errors import GameError
from modal_env.logic.notation import Agent
from modal_env.logic.syntax import Op

COSTS = ("depth", "size", "opponent", "sum", "worlds")
CostFunction = Callable[[Agent, Agent, int], Number]


@dataclass(frozen=True, repr=False)
class Cost:
    """A cost given by a table or a function.

    Attributes:
        text: the table as text, or the name of the function.
        units: agent, opponent and the world at which they settle -> what the agent pays, in units of epsilon.
    """

    text: str
    units: CostFunction

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


GivenCost = str | Cost | CostFunction | Mapping[str, Number] | Mapping[int, Number]


def _boxes(agent: Agent) -> int:
    return sum(code in (Op.BOX, Op.DIAMOND) for code in agent.program)


def _calls(agent: Agent) -> int:
    return sum(code >= Op.CALL for code in agent.program)


UNITS: Mapping[str, Callable[[Agent, int], int]] = {
    "depth": lambda agent, settles: agent.depth,
    "box": lambda agent, settles: _boxes(agent),
    "call": lambda agent, settles: _calls(agent),
    "world": lambda agent, settles: settles + 1 if agent.depth else 0,
    "symbol": lambda agent, settles: agent.size,
}
"""The units of a price table: a level of depth, a [] or <>, an X(.), an evaluated world, a node of the formula."""


def as_cost(given: GivenCost) -> str | Cost:
    """Check a cost; a name is returned unchanged.

    Raises:
        GameError: an unknown cost, or a table with other units or with prices that are not numbers from 0.
    """
    if isinstance(given, Cost):
        return given
    if isinstance(given, str):
        return _table(_split(given)) if "=" in given else choice("cost", given, COSTS)
    if isinstance(given, Mapping):
        return _table(given)
    if callable(given):
        return Cost(getattr(given, "__name__", type(given).__name__), given)
    raise GameError(f"cost={brief(given)}: choose one of {', '.join(COSTS)}, or give a table of prices or a function")


def _split(text: str) -> dict[str, str]:
    """A table written as NAME=NUMBER,...

    Raises:
        GameError: a name is given twice.
    """
    found: dict[str, str] = {}
    for piece in text.split(","):
        name, _, price = (part.strip() for part in piece.partition("="))
        if name in found:
            raise GameError(f"cost {text!r:.80}: {name!r:.40} has two prices")
        found[name] = price
    return found


def _table(given: Mapping[str, Number] | Mapping[int, Number] | Mapping[str, str]) -> Cost:
    """A table of prices as a cost.

    Raises:
        GameError: see `as_cost`.
    """
    prices = {key: exact(price, f"the price of {brief(key)}") for key, price in given.items()}
    if not prices or min(prices.values()) < 0:
        raise GameError(f"cost={brief(dict(given))}: give prices from 0")
    text = ",".join(f"{key}={price}" for key, price in prices.items())
    if all(isinstance(key, str) and key in UNITS for key in prices):
        return Cost(text, _Sum(tuple((str(unit), price) for unit, price in prices.items())))
    depths = {_depth(key): price for key, price in prices.items()}
    if sorted(depths) != list(range(len(prices))):
        raise GameError(f"cost={brief(dict(given))}: give prices of {', '.join(UNITS)}, or of the depths 0, 1, 2, ...")
    return Cost(text, _ByDepth(tuple(depths[depth] for depth in range(len(depths)))))


def _depth(key: object) -> int:
    """A key of a table as a depth; -1 if it is not a depth."""
    number = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 4 else integer(key)
    return -1 if number is None else number


@dataclass(frozen=True)
class _Sum:
    """Prices of units, added up."""

    prices: tuple[tuple[str, Fraction], ...]

    def __call__(self, agent: Agent, opponent: Agent, settles: int) -> Fraction:
        return sum((price * UNITS[unit](agent, settles) for unit, price in self.prices), Fraction(0))


@dataclass(frozen=True)
class _ByDepth:
    """A price for every depth."""

    prices: tuple[Fraction, ...]

    def __call__(self, agent: Agent, opponent: Agent, settles: int) -> Fraction:
        if agent.depth >= len(self.prices):
            raise GameError(f"cost: {agent.name:.60} has depth {agent.depth}, which has no price; give one")
        return self.prices[agent.depth]


def units_of(cost: str | Cost, agent: Agent, opponent: Agent, settles: int) -> Fraction:
    """What an agent pays against an opponent, in units of epsilon; see the module.

    Raises:
        GameError: a function does not return a number from 0, or a table has no price for the agent's depth.
    """
    if isinstance(cost, Cost):
        found = exact(cost.units(agent, opponent, settles), f"the cost {cost.text!r:.40} of {agent.name!r:.60}")
        if found < 0:
            raise GameError(f"the cost {cost.text!r:.40} of {agent.name!r:.60} is {found}: give a number from 0")
        return found
    modeled = opponent.size if agent.calls_itself or agent.helpers else 0
    if cost == "depth":
        return Fraction(agent.depth)
    if cost == "worlds":
        return Fraction(settles + 1 if agent.depth else 0)
    return Fraction({"size": agent.size, "opponent": modeled, "sum": agent.size + modeled}[cost])
