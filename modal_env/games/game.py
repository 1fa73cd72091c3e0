"""The game of choosing a program: the prisoner's dilemma, or another game, in which modeling the opponent has a cost.

Garrabrant, Prisoners' Dilemma with Costs to Modeling (2018): two players choose agents, these play each other, and each
player is paid 2 for mutual cooperation, 1 for mutual defection, 3 for exploiting and 0 for being exploited, less
epsilon times the cost of its agent. All numbers are Fractions; expected values if RandomBot plays.

`modal_env.games.payoffs` has other games of two moves, `modal_env.games.costs` other costs. In an asymmetric game,
everything here is about the row player, and `ProgramGame.turned` is the same for the column player.

Agents may be given as objects, by name ("FairBot", short "FB", in any case) or as formulas, see
`modal_env.logic.notation.find`. All agents of a game have different names. Numbers are 0 or of absolute value
10^-330 to 10^330, which covers all floats, in at most 400 digits; an epsilon is 0 or from 10^-30 to 10^6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from modal_env.checks import EPSILONS, Number, brief, exact, items
from modal_env.errors import FormulaError, GameError
from modal_env.frames import Row, Tabular
from modal_env.games.costs import COSTS, Cost, GivenCost, as_cost, units_of
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.logic.notation import as_agents, find
from modal_env.logic.provability import play
from modal_env.logic.syntax import Agent
from modal_env.logic.tournaments import Tournament, grid, listed, tournament

__all__ = ["COSTS", "PAYOFFS", "Meeting", "ProgramGame", "meet"]

GivenPayoffs = Mapping[str, Number] | Mapping[str, Sequence[Number]] | str
Mix = tuple[Fraction, ...]
Matrix = tuple[tuple[Fraction, ...], ...]
Shares = Sequence[Number] | Mapping[str, Number] | Agent | str
Given = TypeVar("Given")


@dataclass(frozen=True)
class Meeting:
    """The outcome of two agents' play.

    Attributes:
        moves: "C", "D" or "?" (random) of each.
        cooperation: the probability with which each cooperates, independently.
        points: payoff of each, cost not deducted; expected values if one tosses a coin.
        costs: cost of each, to be multiplied by epsilon.
    """

    moves: tuple[str, str]
    cooperation: tuple[Fraction, Fraction]
    points: tuple[Fraction, Fraction]
    costs: tuple[Fraction, Fraction]

    def paid(self, epsilon: Fraction) -> Fraction:
        """The payoff of the first agent, cost deducted."""
        return self.points[0] - epsilon * self.costs[0]


@dataclass(frozen=True, init=False)
class ProgramGame(Tabular):
    """A library of agents to choose from, and the payoffs of every pair.

    Attributes:
        agents: the n programs.
        epsilon: the price of one unit of cost: 0, or from 10^-30 to 10^6. Floats are read as the decimal number they
            print as.
        cost: one of `COSTS`, or a `Cost`; given as a name, a table of prices or a function, see
            `modal_env.games.costs`.
        payoffs: given as the name of a game ("stag-hunt"), as a table in the form of `PAYOFFS`, or as pairs, see
            `modal_env.games.payoffs.as_table`.

    Raises:
        GameError: no agents, or two with the same name; an epsilon below 0, too small or too large; an unknown cost or
            game; payoffs that are not given for exactly CC, CD, DC and DD.
        FormulaError: a text that is neither the name of an agent nor a formula.
    """

    agents: tuple[Agent, ...]
    epsilon: Fraction
    cost: str | Cost
    payoffs: PayoffTable

    def __init__(
        self,
        agents: Iterable[Agent | str],
        epsilon: Number,
        cost: GivenCost = "depth",
        payoffs: GivenPayoffs = PAYOFFS,
    ) -> None:
        put = object.__setattr__  # the dataclass is frozen
        put(self, "agents", check_names(as_agents(agents)))
        put(self, "epsilon", check_epsilon(epsilon))
        put(self, "cost", as_cost(cost))
        put(self, "payoffs", as_table(payoffs))

    def __repr__(self) -> str:
        return f"ProgramGame({listed(self.names)}; {self.terms})"

    def __str__(self) -> str:
        text = f"{self.terms}; what the row's agent is paid:\n{grid(self.names, self.utilities)}"
        if self.payoffs.is_symmetric:
            return text
        return f"{text}\nin the column player's seat:\n{grid(self.names, self.turned.utilities)}"

    def rows(self) -> list[Row]:
        """One row per ordered pair of agents: the moves and the payoff of the first."""
        paid = (float(payoff) for payoffs in self.utilities for payoff in payoffs)
        terms: Row = {"epsilon": str(self.epsilon), "cost": str(self.cost)}
        return [row | {"paid": payoff} | terms for row, payoff in zip(self.played.rows(), paid, strict=True)]

    @property
    def terms(self) -> str:
        """Epsilon and cost in words, and the game if it is not the post's."""
        terms = f"epsilon {self.epsilon}, cost {self.cost!r}"
        return terms if self.payoffs == PAYOFFS else f"{terms}, {self.payoffs.label}"

    @property
    def names(self) -> tuple[str, ...]:
        """[n] the agents' names."""
        return tuple(agent.name for agent in self.agents)

    @cached_property
    def played(self) -> Tournament:
        """The tournament of the agents; the row's agent is the row player."""
        return tournament(self.agents)

    @cached_property
    def affine(self) -> tuple[Matrix, Matrix]:
        """The matrices base and slope, [n][n] each: the utilities are base - epsilon * slope."""
        needs_worlds = self.cost == "worlds" or isinstance(self.cost, Cost)
        count = len(self.agents)
        settles = self.played.worlds.tolist() if needs_worlds else [[0] * count] * count
        numbered = list(enumerate(self.agents))
        base = self._base()
        slope = tuple(tuple(units_of(self.cost, a, b, settles[i][j]) for j, b in numbered) for i, a in numbered)
        return base, slope

    def _base(self) -> Matrix:
        """[n][n] the payoffs, cost not deducted."""
        chances = [[Fraction(chance) for chance in row] for row in self.played.cooperates.astype(float).tolist()]
        places = range(len(chances))
        return tuple(tuple(expected(self.payoffs, chances[i][j], chances[j][i]) for j in places) for i in places)

    @cached_property
    def utilities(self) -> Matrix:
        """[n][n] the payoff of the row's agent against the column's, cost deducted."""
        base, slope = self.affine
        return tuple(
            tuple(points - self.epsilon * cost for points, cost in zip(*rows, strict=True))
            for rows in zip(base, slope, strict=True)
        )

    @cached_property
    def turned(self) -> ProgramGame:
        """The game as the column player sees it; the same object if the game is symmetric."""
        if self.payoffs.is_symmetric:
            return self
        other = ProgramGame(self.agents, self.epsilon, self.cost, self.payoffs.turned)
        other.__dict__.update(played=self.played)
        return other

    @property
    def mutual(self) -> Matrix:
        """[n][n] the probability that both cooperate."""
        chances = self.played.cooperates.astype(float)
        return tuple(tuple(map(Fraction, row)) for row in (chances * chances.T).tolist())

    def at(self, epsilon: Number) -> ProgramGame:
        """The same game at another epsilon; what was played here is not played again."""
        other = ProgramGame(self.agents, epsilon, self.cost, self.payoffs)
        other.__dict__.update(affine=self.affine, played=self.played)
        if self.turned is not self and "affine" in vars(self.turned):
            other.__dict__.update(turned=self.turned.at(epsilon))
        return other

    def mix(self, shares: Shares) -> Mix:
        """[n] the share of every agent, as Fractions.

        Args:
            shares: a number for every agent; or name -> share (see `position`), 0 for those left out; or an agent or
                its name, for share 1.

        Raises:
            GameError: an agent that is not in the game, a share below 0, a sum that is not 1.
        """
        if isinstance(shares, (Agent, str)):
            place = self._place(shares)
            shares = [int(number == place) for number in range(len(self.agents))]
        elif isinstance(shares, Mapping):
            shares = arranged(self.names, shares, 0)
        given = items(shares, len(self.agents) + 1)
        if given is None:
            raise GameError(f"mix {brief(shares)}: give a list of shares, a mapping of names to shares, or an agent")
        values = tuple(exact(share, "a share") for share in given)
        if len(values) != len(self.agents) or min(values) < 0 or sum(values) != 1:
            text = ", ".join(map(str, values))
            raise GameError(f"mix [{text:.300}]: give {len(self.agents)} shares from 0 that add up to 1")
        return values

    def _place(self, agent: Agent | str) -> int:
        if isinstance(agent, str):
            with suppress(GameError):
                return position(self.names, agent)
        elif agent in self.agents:
            return self.agents.index(agent)
        name = agent if isinstance(agent, str) else agent.name
        raise GameError(f"mix: {name!r:.80} is not one of {', '.join(self.names):.300}")

    def replies(self, mix: Shares) -> Mix:
        """[n] the payoff of every agent against a mix."""
        shares = self.mix(mix)
        return tuple(dot(row, shares) for row in self.utilities)

    def utility(self, mix: Shares, against: Shares) -> Fraction:
        """The payoff of one mix against another."""
        return dot(self.mix(mix), self.replies(against))

    def best_replies(self, mix: Shares) -> tuple[Agent, ...]:
        """The agents with the highest payoff against a mix."""
        paid = self.replies(mix)
        return tuple(agent for agent, points in zip(self.agents, paid, strict=True) if points == max(paid))


def meet(a: Agent, b: Agent, cost: GivenCost = "depth", payoffs: GivenPayoffs = PAYOFFS) -> Meeting:
    """Let two programs play; the first has the row player's seat.

    Args:
        cost, payoffs: as for `ProgramGame`.

    Raises:
        GameError: as `play` and `ProgramGame`.
    """
    units, table, outcome = as_cost(cost), as_table(payoffs), play(a, b)
    first, second = outcome.cooperation
    points = expected(table, first, second), expected(table.turned, second, first)
    costs = units_of(units, a, b, outcome.settles), units_of(units, b, a, outcome.settles)
    return Meeting(outcome.moves, outcome.cooperation, points, costs)


def expected(payoffs: Mapping[str, Fraction], own: Fraction, other: Fraction) -> Fraction:
    """A player's expected payoff, given the probabilities with which it and its opponent cooperate."""
    if own in (0, 1) and other in (0, 1):
        return payoffs["DC"[int(own)] + "DC"[int(other)]]
    chances = {"C": (own, other), "D": (1 - own, 1 - other)}
    return sum((chances[i][0] * chances[j][1] * payoffs[i + j] for i in "CD" for j in "CD"), Fraction(0))


def dot(left: Iterable[Fraction], right: Iterable[Fraction]) -> Fraction:
    """The sum of products."""
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def position(names: Sequence[str], agent: object) -> int:
    """The index of an agent in a game or a population.

    Args:
        names: [n] the names of its agents.
        agent: one of them; or another name that `modal_env.logic.notation.find` accepts: "FB", "fairbot".

    Raises:
        GameError: there is no agent of this name.
    """
    if isinstance(agent, str) and agent not in names:
        alike = [name for name in names if name.casefold() == agent.strip().casefold()]
        with suppress(FormulaError):
            agent = alike[0] if len(alike) == 1 else find(agent).name
    if not isinstance(agent, str) or agent not in names:
        raise GameError(f"agent {brief(agent)} is not among {', '.join(names):.300}")
    return names.index(agent)


def arranged(names: Sequence[str], given: Mapping[str, Given], absent: Given) -> list[Given]:
    """[n] the values of a mapping for each agent, see `position`; `absent` for those left out.

    Raises:
        GameError: it names an unknown agent, or one twice.
    """
    found: dict[int, Given] = {}
    for agent, value in given.items():
        place = position(names, agent)
        if place in found:
            raise GameError(f"{names[place]} is named twice in {brief(dict(given))}")
        found[place] = value
    return [found.get(place, absent) for place in range(len(names))]


def check_epsilon(epsilon: object) -> Fraction:
    """Check the price of one unit of cost: 0, or from 10^-30 to 10^6.

    Raises:
        GameError: it is not a number, or out of bounds.
    """
    found = exact(epsilon, "epsilon", EPSILONS)
    if found < 0:
        raise GameError(f"epsilon is {brief(epsilon)}: give a number from 0")
    return found


def check_names(agents: tuple[Agent, ...]) -> tuple[Agent, ...]:
    """Check that agents have different names, since all results are given by name.

    Raises:
        GameError: two have the same name.
    """
    counts = Counter(agent.name for agent in agents)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise GameError(f"agents: {counts[twice[0]]} are called {twice[0]!r:.80}; give each agent once, or rename one")
    return agents
