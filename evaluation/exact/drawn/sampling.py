"""Positions of random games on toy boards, and their values by how the punishers randomize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from agents.toy_boards.shape import clique_of
from evaluation.checks import board_of
from evaluation.exact.clique_proofs import Naming
from evaluation.exact.drawn.apart import ApartSearch
from evaluation.exact.drawn.threats import ThreatSearch
from evaluation.exact.planner import NO_ORDER, winter_plans
from welfare_env import Rules
from welfare_env.engine import ADJUSTMENTS, SPRING_MOVES
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

LENGTH = 6  # years of a random game


def random_springs(threats: ThreatSearch, number: int, most_units: int, rng: np.random.Generator) -> Iterator[int]:
    """Distinct Spring positions from random games, with at most `most_units` units, as nodes of a search."""
    engine = make_engine("fast", threats.search.clique.board, Rules(press=None, years=LENGTH))
    naming, seen = Naming(threats.search, threats.search.deviator), set[int]()
    while len(seen) < number:
        state = engine.initial()
        while not state.done and len(seen) < number:
            position = Position(engine, state)
            orders = [random_orders(position, power, rng) for power in range(len(position.board.powers))]
            state, _ = engine.step(state, orders)
            if not state.done and state.phase == SPRING_MOVES and len(state.units) <= most_units:
                node = naming.find(state)[0]
                if node not in seen:
                    seen.add(node)
                    yield node


def random_orders(position: Position, power: int, rng: np.random.Generator) -> np.ndarray:
    """Random legal orders of one power, some of its units disbanding in Winter: int32 [orders]."""
    if position.state.phase_type == ADJUSTMENTS:
        plan = rng.choice(winter_plans(position, power))
        return plan[plan != NO_ORDER]
    return np.array([rng.choice(position.slot_orders(slot)) for slot in position.slots(power)], np.int32)


@dataclass(frozen=True)
class PunisherValues:
    """A deviator's values in some positions, float64 [positions], against the best punishers of each kind.

    Attributes:
        deterministic: if the punishers do not randomize.
        independent_low, independent_high: bounds if each randomizes independently.
        joint: if they randomize jointly.
    """

    deterministic: np.ndarray
    independent_low: np.ndarray
    independent_high: np.ndarray
    joint: np.ndarray


def punisher_values(
    map_name: str, lengths: Iterable[int], number: int, most_units: int, seed: int = 0
) -> Iterator[PunisherValues]:
    """The first power's values in random Spring positions, for each number of years left.

    Args:
        map_name: clique:n or shared-clique:n. lengths: years left.
        number, most_units: see `random_springs`. seed: for the random games.
    """
    threats = ThreatSearch(clique_of(board_of(map_name)), 0)
    apart, nodes = ApartSearch(threats), list(random_springs(threats, number, most_units, np.random.default_rng(seed)))
    for years in lengths:
        found = []
        for node in nodes:
            joint = sum(threats.solve(node, years)) / 2
            low, high = apart.solve(node, years)
            found.append((apart.pure(node, years), low, high, joint))
        deterministic, low, high, joint = np.array(found, float).T
        yield PunisherValues(deterministic=deterministic, independent_low=low, independent_high=high, joint=joint)
