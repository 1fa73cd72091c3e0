"""Games of two players with two moves each: their payoffs by name, or as a table.

A game is symmetric or asymmetric (a bimatrix game, with a row player and a column player). The moves are called C and D
in all of them. The named games are `PRESETS`, with payoffs from 0 to 3, and the 78 strict ordinal
games "rg-1" to "rg-78" of `modal_env.games.ordinal_games`, with payoffs from 1 to 4. Prices are in the same unit, so
the scale matters: a game with all payoffs doubled is the same at twice the epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from modal_env.checks import brief, exact, items, nearest
from modal_env.errors import GameError
from modal_env.games.ordinal_games import RAPOPORT_GUYER, rows_of

MOVES = ("CC", "CD", "DC", "DD")
"""A player's move and its opponent's, in the sequence of `PayoffTable.own`."""


@dataclass(frozen=True, eq=False, repr=False)
class PayoffTable(Mapping[str, Fraction]):
    """The payoffs of both players. As a mapping: its own move and the other's -> the row player's payoff.

    Two tables are equal if the payoffs are; a symmetric one also equals a mapping of the same payoffs.

    Attributes:
        name: of a named game, or "".
        own: [4] the row player's payoffs, by `MOVES`.
        other: [4] the column player's payoffs, by `MOVES`: its own move first.
    """

    name: str
    own: tuple[Fraction, ...]
    other: tuple[Fraction, ...]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PayoffTable):
            return (self.own, self.other) == (other.own, other.other)
        return self.is_symmetric and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.own, self.other))

    def __getitem__(self, moves: str) -> Fraction:
        if moves not in MOVES:
            raise KeyError(moves)
        return self.own[MOVES.index(moves)]

    def __iter__(self) -> Iterator[str]:
        return iter(MOVES)

    def __len__(self) -> int:
        return len(MOVES)

    def __repr__(self) -> str:
        return f"PayoffTable({self.name or 'unnamed'}: {self._listed})"

    def __str__(self) -> str:
        """Name and payoffs: "chicken: CC 2, CD 1, DC 3, DD 0"."""
        return f"{self.name}: {self._listed}" if self.name else f"payoffs {self._listed}"

    @property
    def label(self) -> str:
        """The name, for titles; the payoffs if it has none."""
        return self.name or str(self)

    @property
    def _listed(self) -> str:
        return ", ".join(f"{moves} {self._cell(moves)}" for moves in MOVES)

    def _cell(self, moves: str) -> str:
        """The payoffs at a pair of moves, as text."""
        paid = str(self[moves])
        return paid if self.is_symmetric else f"{paid}/{self.turned[moves[::-1]]}"

    @property
    def is_symmetric(self) -> bool:
        """Whether both players have the same payoffs."""
        return self.own == self.other

    @property
    def turned(self) -> PayoffTable:
        """The game with the seats exchanged."""
        return PayoffTable(self.name, self.other, self.own)

    @property
    def is_dilemma(self) -> bool:
        """Whether it is a symmetric prisoner's dilemma: DC > CC > DD > CD."""
        return self.is_symmetric and self["DC"] > self["CC"] > self["DD"] > self["CD"]

    @property
    def pure(self) -> tuple[str, ...]:
        """The pure equilibria of the game without reading: the row player's move, then the column player's."""
        flipped = {"C": "D", "D": "C"}
        return tuple(
            moves
            for moves in MOVES
            if self[moves] >= self[flipped[moves[0]] + moves[1]]
            and self.turned[moves[::-1]] >= self.turned[flipped[moves[1]] + moves[0]]
        )


def symmetric(name: str, *paid: Fraction | int) -> PayoffTable:
    """A symmetric game from the payoffs of CC, CD, DC and DD."""
    own = tuple(map(Fraction, paid))
    return PayoffTable(name, own, own)


def bimatrix(name: str, *cells: Sequence[Fraction | int]) -> PayoffTable:
    """A game from the pairs of payoffs at CC, CD, DC and DD, the row player's move and payoff first."""
    rows, columns = zip(*cells, strict=True)
    return PayoffTable(name, tuple(map(Fraction, rows)), tuple(Fraction(columns[i]) for i in (0, 2, 1, 3)))


PAYOFFS = symmetric("prisoners-dilemma", 2, 0, 3, 1)
"""The post's payoffs: a player's move and its opponent's -> the player's payoff, cost not deducted."""

PRESETS: dict[str, PayoffTable] = {
    table.name: table
    for table in (
        PAYOFFS,
        symmetric("stag-hunt", 3, 0, 2, 1),
        symmetric("chicken", 2, 1, 3, 0),
        symmetric("harmony", 3, 2, 1, 0),
        symmetric("deadlock", 1, 0, 3, 2),
        symmetric("coordination", 2, 0, 0, 1),
        bimatrix("battle-of-the-sexes", (2, 1), (0, 0), (0, 0), (1, 2)),
        bimatrix("matching-pennies", (1, 0), (0, 1), (0, 1), (1, 0)),
        *(bimatrix(f"rg-{number}", *rows_of(cells)) for number, cells in RAPOPORT_GUYER.items()),
    )
}
"""The named games. The first eight have payoffs from 0 to 3, the others from 1 to 4."""

NAMED = ", ".join([*list(PRESETS)[:-78], "rg-1 to rg-78"])


def as_table(given: str | Mapping[str, object]) -> PayoffTable:
    """The payoff table of a game given by name, as a table, or by its payoffs.

    Args:
        given: a name of `PRESETS`; a `PayoffTable`; the payoffs of CC, CD, DC and DD, own move first, in a symmetric
            game; or pairs of them, the row player's move and payoff first. Both may be written as text:
            "CC=2,CD=0,DC=3,DD=1", "CC=2:1,CD=0:0,DC=0:0,DD=1:2".

    Raises:
        GameError: an unknown game, or neither four payoffs nor four pairs.
    """
    if isinstance(given, PayoffTable):
        return given
    if isinstance(given, str) and "=" in given:
        pairs = (piece.partition("=") for piece in given.split(","))
        return as_table({moves.strip(): paid.split(":") if ":" in paid else paid for moves, _, paid in pairs})
    if isinstance(given, str):
        if given not in PRESETS:
            near = "" if given.startswith("rg-") else f"{nearest(given, PRESETS)}; "
            raise GameError(f"game {brief(given)}: {near}there are {NAMED}")
        return PRESETS[given]
    if not isinstance(given, Mapping) or set(given) != set(MOVES):
        raise GameError(f"payoffs={brief(given)}: give those of CC, CD, DC and DD, own move first")
    if isinstance(given["CC"], str) or not isinstance(given["CC"], Sequence):
        return symmetric("", *(exact(given[moves], f"the payoff of {moves}") for moves in MOVES))
    return bimatrix("", *(_pair(moves, given[moves]) for moves in MOVES))


def _pair(moves: str, given: object) -> list[Fraction]:
    """The payoffs of both players at these moves.

    Raises:
        GameError: not two numbers.
    """
    pair = items(given, 3)
    if pair is None or len(pair) != 2:
        raise GameError(f"payoffs of {moves} are {brief(given)}: give two, the row player's first")
    return [exact(value, f"a payoff of {moves}") for value in pair]
