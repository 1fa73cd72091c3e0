"""Random variations of the positions in the package's DATC cases, many of which have paradoxes."""

from __future__ import annotations

import contextlib
import functools
import io
from typing import Any

import numpy as np

from tools.equivalence.lively import Chooser, Orders, by_power, lively, slots_of
from welfare_env import Board
from welfare_env.engine import MOVEMENT, Engine, Legal, State
from welfare_env.game.placement import position_state

Case = tuple[dict[str, list[str]], dict[str, str]]  # power -> units; unit -> order, both in the package's notation


@functools.cache
def cases() -> tuple[Case, ...]:
    """Units and orders of every movement phase in the package's test file, recorded by running it."""
    from diplomacy.tests.test_datc import TestDATC

    found: list[Case] = []

    class Recorder(TestDATC):
        @staticmethod
        def process(game: Any) -> None:
            if game.phase_type == MOVEMENT:
                orders = [(unit, order) for power in game.powers.values() for unit, order in power.orders.items()]
                found.append((game.get_state()["units"], dict(orders)))
            game.process()

    with contextlib.redirect_stdout(io.StringIO()):
        for name in sorted(dir(Recorder)):
            if name.startswith("test_6_"):
                getattr(Recorder(), name)()
    return tuple(found)


def varied(engine: Engine, rng: np.random.Generator) -> tuple[State, Chooser]:
    """A case with some units added, removed or given to another power, and a chooser that gives most of its orders."""
    board = engine.board
    units, orders = cases()[rng.integers(len(cases()))]
    owner = {unit: power for power, held in units.items() for unit in held}
    for unit in list(owner):
        if rng.random() < 0.06:
            del owner[unit]
        elif rng.random() < 0.12:
            owner[unit] = board.powers[rng.integers(len(board.powers))]
    taken = {unit[2:5] for unit in owner}
    for piece in rng.permutation(board.pieces)[: rng.integers(0, 8)].tolist():
        if piece[2:5] not in taken:
            taken.add(piece[2:5])
            owner[piece] = board.powers[rng.integers(len(board.powers))]
    held = {power: [unit for unit in owner if owner[unit] == power] for power in board.powers}
    centers = {power: list(board.homes[power]) for power in board.powers}
    state = position_state(engine, f"F{board.first_year:04d}M", held, centers, {}, {})
    return state, mostly(board, orders, share=0.88)


def mostly(board: Board, orders: dict[str, str], share: float) -> Chooser:
    """A chooser that gives this share of the orders (unit -> order) in the first phase, and otherwise plays lively."""
    wanted = {board.orders.index.get(f"{unit} {order}", -1) for unit, order in orders.items()}

    def choose(engine: Engine, state: State, legal: Legal, rng: np.random.Generator) -> Orders:
        given = lively(engine, state, legal, rng)
        if state.phase_type != MOVEMENT or not wanted:
            return given
        chosen = {int(board.orders.piece[n]): (power, int(n)) for power, row in enumerate(given) for n in row}
        for _, power, options in slots_of(legal):
            kept = [number for number in options.tolist() if number in wanted]
            if kept and rng.random() < share:
                chosen[int(board.orders.piece[kept[0]])] = power, kept[0]
        wanted.clear()
        return by_power(board, list(chosen.values()), rng)

    return choose
