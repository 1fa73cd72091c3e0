"""All Nash equilibria of the game of choosing a program, exactly.

The method is vertex enumeration in integers, on a reduced game (`modal_env.games.vertices`). Games here are small but
degenerate: many agents play the same against many opponents, and at some epsilon payoffs are equal. The results are
therefore sets of equilibria, most of them single points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import Number, brief
from modal_env.errors import GameError
from modal_env.games.costs import GivenCost
from modal_env.games.game import PAYOFFS, GivenPayoffs, Mix, ProgramGame, Shares
from modal_env.games.vertices import (
    Class,
    Sides,
    Vertex,
    bicliques,
    classes,
    cliques,
    connected,
    smaller,
    spread,
    vertices,
)
from modal_env.logic.notation import Agent
from modal_env.progress import Report, check_report, no_report

ZERO = Fraction(0)


class EquilibriumSet:
    """A set of equilibria, often a single point: any mixture of `rows` against any mixture of `columns`."""

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
    """A maximal convex set of equilibria, often a single point.

    Attributes:
        names: [n] the agents.
        rows: the extreme mixes of the row player; a single one if the set is a point.
        columns: the extreme mixes of the column player.
        payoffs: (lowest, highest) in the set, of the row player and of the column player. A player's payoff in
            equilibrium depends on the other's mix, not on its own.
        component: number of its connected component in the set of all equilibria; also points may be connected.
    """

    names: tuple[str, ...]
    rows: tuple[Mix, ...]
    columns: tuple[Mix, ...]
    payoffs: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]
    component: int

    @property
    def row(self) -> Mix:
        """[n] the row player's mix; if the set is not a point, one of its extreme mixes."""
        return self.rows[0]

    @property
    def column(self) -> Mix:
        """[n] the column player's mix; if the set is not a point, one of its extreme mixes."""
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
        return f"both {sides[0]}; paid {' and '.join(dict.fromkeys(paid))}"
    return f"{sides[0]} against {sides[1]}; paid {paid[0]} and {paid[1]}"


def mix_text(names: Sequence[str], shares: Iterable[object]) -> str:
    """A mix in words: "CooperateBot 1/10, FairBot 9/10"."""
    played = [(name, text) for name, text in zip(names, map(str, shares), strict=True) if text != "0"]
    return ", ".join(name if share == "1" else f"{name} {share}" for name, share in played)


def equilibria(
    agents: Iterable[Agent | str],
    epsilon: Number,
    cost: GivenCost = "depth",
    *,
    payoffs: GivenPayoffs = PAYOFFS,
    symmetric_only: bool = False,
    report: Report = no_report,
) -> list[Equilibrium]:
    """All equilibria of a library, pure and mixed: maximal convex sets, which are points unless the game is degenerate.

    Args:
        agents, epsilon, cost, payoffs: as of `ProgramGame`.
        symmetric_only: only equilibria (x, x) in which both players use the same mix. Each set then stands for all (x,
            x) with x a mixture of its `rows`. For symmetric games.
        report: see `modal_env.progress`; an estimate, as most vertices are found with the last constraints.

    Raises:
        GameError, FormulaError: as `ProgramGame`; symmetric_only in an asymmetric game.
    """
    check_report(report)
    game = ProgramGame(agents, epsilon, cost, payoffs)
    check_symmetric(game, symmetric_only)
    return equilibria_of(game.names, game.utilities, symmetric_only, report, game.turned.utilities)


def check_symmetric(game: ProgramGame, symmetric_only: bool) -> None:
    """Check that `symmetric_only` is used with symmetric games only.

    Raises:
        GameError: the game is asymmetric.
    """
    if not isinstance(symmetric_only, bool):
        raise GameError(f"symmetric_only={brief(symmetric_only)}: give True or False")
    if symmetric_only and not game.payoffs.is_symmetric:
        raise GameError(f"{game.payoffs.label}: this game is asymmetric, so leave symmetric_only out")


def equilibria_of(
    names: tuple[str, ...],
    utilities: Sequence[Sequence[Fraction]],
    symmetric_only: bool,
    report: Report = no_report,
    turned: Sequence[Sequence[Fraction]] | None = None,
) -> list[Equilibrium]:
    """The equilibria of a game, given the payoffs of the row's agent against the column's, [n][n].

    Args:
        turned: [n][n] the payoffs of the column player, its own agent first; None in a symmetric game.
    """
    other = utilities if turned is None else turned
    no_costs = [[ZERO] * len(names)] * len(names)
    alike = classes((utilities, no_costs), (other, no_costs))
    columns = vertices(smaller(utilities, *alike), report, symmetric_only=symmetric_only)  # the column player's mixes
    same = other is utilities or list(map(list, other)) == list(map(list, utilities))
    rows = columns if same else vertices(smaller(other, *alike[::-1]), report)
    spanning = cliques if symmetric_only else bicliques
    sets = spanning(*([vertex.labels for vertex in found] for found in (rows, columns)))
    return spanned(names, (rows, columns), alike, sets)


def spanned(
    names: tuple[str, ...],
    found: tuple[Sequence[Vertex], Sequence[Vertex]],
    alike: tuple[Sequence[Class], Sequence[Class]],
    sets: Sequence[Sides],
) -> list[Equilibrium]:
    """The sets of equilibria spanned by vertices of the row and the column player in a reduced game, in the whole game.

    Args:
        alike: the agents of the reduced game, each a class of agents of the whole game.
        sets: the vertices' indices.
    """
    whole: list[tuple[tuple[tuple[Mix, ...], tuple[Mix, ...]], list[tuple[Fraction, Fraction]]]] = []
    for sides in sets:
        corners = [[theirs[number] for number in side] for side, theirs in zip(sides, found, strict=True)]
        rows, columns = (
            tuple(sorted((mix for one in side for mix in spread(one.mix, own, len(names), ZERO)), reverse=True))
            for side, own in zip(corners, alike, strict=True)
        )
        whole.append(((rows, columns), [_span(one.value for one in side) for side in corners]))
    whole.sort(key=lambda one: [[[-share for share in mix] for mix in side] for side in one[0]])
    components = connected([mixes for mixes, _ in whole])
    return [
        Equilibrium(names, *mixes, (of_row, of_column), component)
        for (mixes, (of_column, of_row)), component in zip(whole, components, strict=True)
    ]


def _span(values: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    found = sorted(values)
    return found[0], found[-1]


def exploitability(game: ProgramGame, mix: Shares, against: Shares | None = None) -> Fraction:
    """The larger of the two players' gains from a best response: 0 if and only if the profile is an equilibrium.

    Args:
        mix: the row player's mix, see `ProgramGame.mix`.
        against: the column player's mix; by default the same.

    Raises:
        GameError: not a game, or the shares are not a mix of its agents.
    """
    if not isinstance(game, ProgramGame):
        raise GameError(f"game={brief(game)}: give a ProgramGame")
    other = mix if against is None else against
    seats = [(game, mix, other), (game.turned, other, mix)]
    return max(max(seat.replies(theirs)) - seat.utility(own, theirs) for seat, own, theirs in seats)
