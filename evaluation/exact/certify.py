"""The maximum gain of a deviator or a coalition against fixed players, with a certificate.

>>> from evaluation.exact import certify, check_certificate
>>> found = certify("clique:3", "punisher:t=2,remembers=yes", "PLAYERA", years=4)
>>> found.path_value, found.value, found.gain
(7, 8, 1)
>>> check_certificate(found.certificate) == found.states
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

import agents
from agents import PunisherPolicy, RandomPolicy
from agents.runtime.table_files import Row
from agents.scripted.punisher import excluded
from agents.toy_boards.shape import clique_of
from evaluation.checks import ESTIMATE, EvaluationError, board_of, check_whole, listed
from evaluation.exact.best_responses import (
    PROBES,
    ExactResult,
    PolicyAnswers,
    Profile,
    check_land,
    exact_row,
    play_game,
    policies_of,
    with_known_deviator,
)
from evaluation.exact.certificates import Certificate, OrdersByPhase, orders_array
from evaluation.exact.checking import holdings, relaxed_bounds
from evaluation.exact.clique_proofs import Line, Proof, named_orders
from evaluation.exact.clique_search import ALL_MOVES, STATED, CliqueSearch
from evaluation.exact.graph_kernels import MOST_YEARS
from evaluation.exact.planner import Planner
from welfare_env import Board, Rules
from welfare_env.checks import choice, quoted
from welfare_env.engine import DONE, YEAR, State, layout_of
from welfare_env.game.history import PhaseRecord

MOST_STATES = 50_000_000
PUNISHERS = {"stated": STATED, "ranked": 300, "best": ALL_MOVES}


@dataclass(frozen=True, repr=False)
class Certified(ExactResult):
    """The best-response value of a deviator or a coalition, with a line of play and a certificate.

    Attributes:
        map_name, years, deviators: the game, and the powers that deviate.
        path_value: the deviators' total points if they do not deviate.
        value: their maximum total points.
        line: a game in which they get `value`: phase by phase, power -> orders.
        certificate: proof that they cannot get more; see `check_certificate`.
    """

    map_name: str
    years: int
    deviators: tuple[str, ...]
    path_value: int
    value: int
    line: Line
    certificate: Certificate

    @property
    def gain(self) -> int:
        """The gain from deviating; 0 for every power in an equilibrium."""
        return self.value - self.path_value

    @property
    def states(self) -> int:
        """Number of positions in the certificate."""
        return len(self.certificate)

    def rows(self) -> list[Row]:
        """One row."""
        return [exact_row(self.map_name, self.years, self.deviators, self.path_value, self.value, self.states)]


def certify(
    map_name: str,
    profile: Profile,
    deviators: str | Sequence[str],
    years: int,
    most_states: int = MOST_STATES,
) -> Certified:
    """The maximum points of a deviator or a coalition (points added up) against a profile, with a certificate.

    The policies must meet the conditions of `evaluation.exact.best_response`. With a single deviator, a profile of
    punishers with memory or a known deviator ("punisher:t=2,remembers=yes") is solved by a specialized search; see
    `certify_punishers`.

    Args:
        map_name: a board without convoys, such as "clique:4".
        profile: everybody's policy, including the deviators'; see `best_response`.
        deviators: one power, or several.
        years: length of the game.
        most_states: raise EvaluationError before the search if the estimated number of positions is higher.

    Raises:
        EvaluationError: a policy that cannot be certified, or a board that is too large.
        UnknownMapError, UnknownPowerError, UnknownAgentError: invalid input of this kind.
    """
    board = board_of(map_name)
    names = _checked_deviators(board, deviators)
    check_whole("years", years, 1, 100)
    check_whole("most_states", most_states, 1, 10**18)
    check_land(board)
    if (estimate := estimated_states(board, years)) > most_states:
        raise EvaluationError(
            f"map {board.name!r}, {years} years: about {estimate:,} positions, more than {most_states:,}: "
            f"take a smaller board or fewer years, raise most_states, or {ESTIMATE}"
        )
    if isinstance(profile, str) and len(names) == 1 and years <= MOST_YEARS:
        policy = agents.make(profile) if profile.startswith("punisher:") else None
        if (
            isinstance(policy, PunisherPolicy)
            and (policy.remembers or policy.deviator == names[0])
            and policy.t <= years
            and policy.certificate is None
        ):
            return certify_punishers(map_name, policy.t, names[0], years, policy.shared)
    return _certify_policies(board, profile, names, years)


def certify_punishers(
    map_name: str, t: int, deviator: str, years: int, shared: str | None = None, punishers: str = "stated"
) -> Certified:
    """The maximum points of a deviator against the paper's profile pi_t.

    Args:
        map_name: clique:n or shared-clique:n, n from 2 to 7.
        t: the year in whose Winter all disband.
        deviator: a power.
        years: length of the game, up to 10.
        shared: who gets the shared core; see `agents.PunisherPolicy`.
        punishers: "stated": those of `agents.toy_boards.punishing`. "ranked": the same, but in Spring and Fall they may
            choose among the 300 best-scored movements, depending on the years left. "best": the best joint orders of
            all in Spring, Fall and retreats against this deviator. In Winter all three build as much as they may.

    Raises:
        EvaluationError, UnknownMapError, UnknownPowerError: invalid input of this kind.
    """
    search = punishers_search(map_name, deviator, shared, punishers)
    check_whole("years", years, 1, MOST_YEARS)
    check_whole("t", t, 1, years)
    proof = Proof(search, years, years - t)
    return Certified(
        map_name=map_name,
        years=years,
        deviators=(deviator,),
        path_value=proof.path_value,
        value=proof.value,
        line=proof.line(),
        certificate=proof.certificate(),
    )


def punishers_search(map_name: str, deviator: str, shared: str | None, punishers: str) -> CliqueSearch:
    """The search behind `certify_punishers`, usable for all t and years; same arguments and errors."""
    board = board_of(map_name)
    clique = clique_of(board)
    number = board.power_index[board.check_power(deviator)]
    choice("punishers", punishers, PUNISHERS, error=EvaluationError)
    try:
        outside = excluded(clique, shared)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
    return CliqueSearch(clique, number, outside, PUNISHERS[punishers])


def estimated_states(board: Board, years: int) -> int:
    """A rough upper estimate of the number of positions in a search.

    It counts, per year, the deviator's possible unit places and centers, both growing by at most one per year.
    """
    places = len(board.provinces)
    most = min(years, places // 2)
    return years * comb(places, most) * comb(places, min(most + 1, places // 2))


def _checked_deviators(board: Board, deviators: str | Sequence[str]) -> tuple[str, ...]:
    given = [deviators] if isinstance(deviators, str) else listed("deviators", deviators, f"{list(board.powers[:2])}")
    names = tuple(given)
    for name in names:
        board.check_power(name)
    if not names or len(set(names)) < len(names):
        raise EvaluationError(f"deviators={quoted(deviators)}: give a power, or several different ones")
    return tuple(sorted(names, key=board.power_index.__getitem__))


# General policies


def _certify_policies(board: Board, profile: Profile, names: tuple[str, ...], years: int) -> Certified:
    rules = Rules(press=None, years=years)
    policies = policies_of(board, profile, names)
    if missing := [name for name in names if name not in policies]:
        raise EvaluationError(f"profile: give {' and '.join(missing)} a policy as well: what is deviated from")
    own = {name: policies.pop(name) for name in names}
    others = with_known_deviator(board, policies, names[0]) if len(names) == 1 else policies
    answers = PolicyAnswers(board, rules, others)
    for seed in range(PROBES):
        play_game(answers, {name: RandomPolicy() for name in names}, seed)
    numbers = tuple(board.power_index[name] for name in names)
    planner = Planner(board, rules, numbers, answers.given)
    value = planner.value(answers.engine.initial())
    played = play_game(answers, own, 0)
    path_value = sum(played.welfare[name] for name in names)
    path = tuple((record.phase, orders) for record in played.history if (orders := _orders_of(record)))
    certificate = _certificate(planner, names, years, value, path, path_value)
    line = tuple((phase, named_orders(board, moves)) for phase, moves in planner.best_line(answers.engine.initial()))
    return Certified(
        map_name=board.name,
        years=years,
        deviators=names,
        path_value=path_value,
        value=value,
        line=line,
        certificate=certificate,
    )


def _orders_of(record: PhaseRecord) -> tuple[str, ...]:
    """Everybody's orders in a phase, without WAIVE."""
    return tuple(text for orders in record.orders.values() for text in orders if text != "WAIVE")


def _certificate(
    planner: Planner, names: tuple[str, ...], years: int, value: int, path: OrdersByPhase, path_value: int
) -> Certificate:
    """List and solve the positions that the proof needs: those where the loose bound does not suffice."""
    board, numbers = planner.board, list(planner.powers)
    layout, most = layout_of(board), relaxed_bounds(len(board.provinces), years, len(names))

    def bound(row: np.ndarray) -> int:
        return int(most[(years - row[YEAR], *holdings(State(layout, row), numbers))])

    waiting, claims = [planner.key(planner.engine.initial())], {}
    given: list[list[int]] = []
    while waiting:
        key = waiting.pop()
        if key in claims:
            continue
        claims[key] = planner.solve(key)
        position = planner.position(key)
        given.append([order for slots in planner.answers(position).values() for order in slots.values()])
        _, _, rows, points = planner.plays(position)
        gains = points[:, numbers].sum(axis=1)
        for row, gain in zip(rows, gains.tolist(), strict=True):
            if not row[DONE] and gain + bound(row) > claims[key]:
                waiting.append(row.tobytes())
    listed = np.array([np.frombuffer(key, np.int32) for key in claims], np.int32)
    left = (years - listed[:, YEAR]).astype(np.int16)
    listed[:, YEAR] = 0
    return Certificate(
        map_name=board.name,
        years=years,
        deviators=names,
        value=value,
        path=path,
        path_value=path_value,
        is_symmetric=False,
        rows=listed,
        years_left=left,
        claims=np.array(list(claims.values()), np.int16),
        orders=orders_array(given),
    )
