"""All Nash equilibria of the game of choosing a program, exactly.

The method is that of `vertices`, in integers, for the smaller game of `reduction`. Games here are small but degenerate:
many agents do the same against many others, and at some epsilon two are paid the same. The results are therefore sets
of equilibria, most of them points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from modal_env.checks import Number
from modal_env.games.game import PAYOFFS, Game, Mix, Shares
from modal_env.games.vertices import Sides, Vertex, bicliques, classes, cliques, connected, smaller, spread, vertices
from modal_env.logic.syntax import Agent
from modal_env.progress import Report, no_report

ZERO = Fraction(0)


class EquilibriumSet:
    """Any mixture of `rows` against any mixture of `columns`: a set of equilibria, mostly one point."""

    rows: tuple[object, ...]
    columns: tuple[object, ...]

    @property
    def is_point(self) -> bool:
        """Whether this is a single equilibrium."""
        return len(self.rows) == len(self.columns) == 1

    @property
    def is_symmetric(self) -> bool:
        """Whether both players have the same mixes: for a point, whether both do the same."""
        return self.rows == self.columns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


@dataclass(frozen=True, repr=False)
class Equilibrium(EquilibriumSet):
    """A maximal convex set of equilibria; a point, too, may be connected to others, see `component`.

    Attributes:
        names: [n] the agents.
        rows: the extreme mixes of the row player; a single one if the set is a point.
        columns: those of the column player.
        payoffs: (lowest, highest) in the set, of the row player and of the column player. A player's payoff in
            equilibrium depends on the other's mix, not on its own.
        component: number of the connected component of all equilibria that this set lies in.
    """

    names: tuple[str, ...]
    rows: tuple[Mix, ...]
    columns: tuple[Mix, ...]
    payoffs: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]
    component: int

    @property
    def row(self) -> Mix:
        """[n] the row player's mix; if the set is not a point, in one of its equilibria."""
        return self.rows[0]

    @property
    def column(self) -> Mix:
        """[n] the column player's mix; if the set is not a point, in one of its equilibria."""
        return self.columns[0]

    @property
    def is_pure(self) -> bool:
        """Whether this is a single equilibrium in pure strategies."""
        return self.is_point and max(self.row) == max(self.column) == 1

    def __str__(self) -> str:
        rows, columns = ([mix_text(self.names, mix) for mix in mixes] for mixes in (self.rows, self.columns))
        return set_text(rows, columns, [str(low) if low == high else f"{low} to {high}" for low, high in self.payoffs])


def set_text(rows: Sequence[str], columns: Sequence[str], paid: Sequence[str]) -> str:
    """A set of equilibria in words."""
    sides = [side[0] if len(side) == 1 else f"mixtures of ({'), ('.join(side)})" for side in (rows, columns)]
    if rows == columns:
        return f"both {sides[0]}; paid {paid[0]}"
    return f"{sides[0]} against {sides[1]}; paid {paid[0]} and {paid[1]}"


def mix_text(names: Sequence[str], shares: Sequence[object]) -> str:
    """A mix in words: "CooperateBot 1/10, FairBot 9/10"."""
    played = [(name, str(share)) for name, share in zip(names, shares, strict=True) if share]
    return ", ".join(name if share == "1" else f"{name} {share}" for name, share in played)


def equilibria(
    agents: Iterable[Agent | str],
    epsilon: Number,
    cost: str = "depth",
    *,
    payoffs: Mapping[str, Number] = PAYOFFS,
    symmetric_only: bool = False,
    report: Report = no_report,
) -> list[Equilibrium]:
    """All equilibria of a library, pure and mixed: maximal convex sets, which are points unless the game is degenerate.

    Args:
        agents, epsilon, cost, payoffs: as of `Game`.
        symmetric_only: only equilibria (x, x) in which both players use the same mix. Each set then stands for all (x,
            x) with x a mixture of its `rows`.
        report: see `modal_env.progress`; the share of vertices found, most of which come with the last constraints.

    Raises:
        GameError, FormulaError: as `Game`.
    """
    game = Game(agents, epsilon, cost, payoffs)
    return equilibria_of(game.names, game.utilities, symmetric_only, report)


def equilibria_of(
    names: tuple[str, ...],
    utilities: Sequence[Sequence[Fraction]],
    symmetric_only: bool,
    report: Report = no_report,
) -> list[Equilibrium]:
    """The equilibria of a symmetric game, given the payoffs of the row's agent against the column's, [n][n]."""
    alike = classes(utilities, [[ZERO] * len(names)] * len(names))
    found = vertices(smaller(utilities, alike), report)
    labels = [vertex.labels for vertex in found]
    sets = cliques(labels) if symmetric_only else bicliques(labels)
    whole = [[replace(one, mix=mix) for mix in spread(one.mix, alike, len(names), ZERO)] for one in found]
    ordered = sorted((one for each in whole for one in each), key=lambda vertex: vertex.mix, reverse=True)
    place = {vertex.mix: number for number, vertex in enumerate(ordered)}
    sides = [(_placed(rows, whole, place), _placed(columns, whole, place)) for rows, columns in sets]
    return spanned(names, ordered, sorted(sides))


def _placed(side: Sequence[int], whole: Sequence[Sequence[Vertex]], place: Mapping[Mix, int]) -> tuple[int, ...]:
    """The numbers of all mixes of the whole game for some vertices of the smaller one."""
    return tuple(sorted(place[vertex.mix] for number in side for vertex in whole[number]))


def spanned(names: tuple[str, ...], found: Sequence[Vertex], sets: Sequence[Sides]) -> list[Equilibrium]:
    """The sets of equilibria spanned by vertices, given by their numbers."""
    return [
        Equilibrium(
            names,
            tuple(found[number].mix for number in rows),
            tuple(found[number].mix for number in columns),
            (_span(found[number].value for number in columns), _span(found[number].value for number in rows)),
            component,
        )
        for (rows, columns), component in zip(sets, connected(sets), strict=True)
    ]


def _span(values: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    found = sorted(values)
    return found[0], found[-1]


def exploitability(game: Game, mix: Shares, against: Shares | None = None) -> Fraction:
    """The larger of the two players' gains from a best response: 0 if and only if the profile is an equilibrium.

    Args:
        mix: the row player's mix, see `Game.mix`.
        against: the column player's mix; by default the same.

    Raises:
        GameError: the shares are not a mix of the game's agents.
    """
    pairs = [(mix, mix)] if against is None else [(mix, against), (against, mix)]
    return max(max(game.replies(other)) - game.utility(own, other) for own, other in pairs)
