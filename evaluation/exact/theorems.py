"""The paper's theorems on toy boards: what each kind of deviator gains by leaving the punishing profile pi_t.

>>> from evaluation.exact import deviation_gains
>>> [(gain.years, gain.t, gain.value, gain.gain) for gain in deviation_gains("clique:3", 3)]
[(1, 1, 2, 0), (2, 2, 3, 0), (2, 1, 4, 0), (3, 3, 4, 0), (3, 2, 5, 0), (3, 1, 7, 1)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from agents.runtime.table_files import Row
from agents.scripted.punisher import excluded
from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, check_whole
from evaluation.exact.graph_kernels import BEST, MAX_YEARS, NODES, STATED
from evaluation.exact.punisher_search import PunisherSearch
from welfare_env import load_board
from welfare_env.checks import choice

PUNISHERS = {"stated": STATED, "ranked": 300, "best": BEST}


@dataclass(frozen=True)
class DeviationGain:
    """A deviator's points in one game, on the path of pi_t and with its best deviation.

    Attributes:
        map, years, t: the game, and the year in whose Winter all disband.
        role: see `roles`.
        deviator: the power.
        punishers: "stated", "ranked" or "best"; see `deviation_gains`.
        profile_value, value: the deviator's points of the whole game if it follows pi_t, and at most.
        states: positions in the search so far.
    """

    map: str
    years: int
    t: int
    role: str
    deviator: str
    punishers: str
    profile_value: int
    value: int
    states: int

    @property
    def gain(self) -> int:
        """The gain from deviating; 0 for every role in an equilibrium."""
        return self.value - self.profile_value

    def row(self) -> Row:
        """A row of the table "theorems" of docs/results.md."""
        row = asdict(self)
        states = row.pop("states")
        return row | {"gain": self.gain, "states": states}


def roles(map_name: str) -> dict[str, str]:
    """The distinct kinds of deviator on a toy board: role -> one power of this role.

    On shared-clique:n two players share a core: the "sharer" gets it, the "excluded" player does not.

    Raises:
        UnknownMapError: not clique:n or shared-clique:n with n from 2 to 7.
    """
    clique = clique_of(load_board(map_name))
    powers = clique.board.powers
    if not clique.is_shared:
        return {"player": powers[0]}
    return {"sharer": powers[0], "excluded": powers[-1], "other": powers[1]}


def deviation_gains(map_name: str, years: int, punishers: str = "stated") -> Iterator[DeviationGain]:
    """The gains of each role in each game of up to `years` years and each year t of disarmament.

    Args:
        map_name: clique:n or shared-clique:n, n from 2 to 7.
        years: the longest game, up to 10.
        punishers: "stated": those of `agents.toy_boards.punishing`. "ranked": the same, but in Spring and Fall they may
            choose among the 300 best-scored movements, depending on the years left. "best": the best joint orders of
            all in Spring, Fall and retreats against this deviator. In Winter all three build as much as they may.

    Raises:
        EvaluationError, UnknownMapError: invalid input of this kind.
    """
    check_whole("years", years, 1, MAX_YEARS)
    choice("punishers", punishers, PUNISHERS, error=EvaluationError)
    board = load_board(map_name)
    clique = clique_of(board)
    for role, deviator in roles(map_name).items():
        number = board.power_index[deviator]
        search = PunisherSearch(clique, number, excluded(clique, None), PUNISHERS[punishers])
        for length in range(1, years + 1):
            for t in range(length, 0, -1):
                value = search.value(length, length - t)
                yield DeviationGain(
                    map=board.name,
                    years=length,
                    t=t,
                    role=role,
                    deviator=deviator,
                    punishers=punishers,
                    profile_value=search.path_value(length, length - t),
                    value=value,
                    states=int(search.table.numbers[NODES]),
                )
