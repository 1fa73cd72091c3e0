"""Orders: integers inside, strings at the edge.

Every board has one stable vocabulary, `OrderTable`, of all orders that can ever be legal on it. Actions, masks and
engines use an order's number in this table; its string is the `diplomacy` package's ("A PAR S A MAR - BUR"). Number 0
is ``WAIVE``: nothing (more) to order. `welfare_env.board.order_text` reads other ways of writing orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from welfare_env.board.geography import Geography

WAIVE, HOLD, MOVE, VIA, SUPPORT_HOLD, SUPPORT_MOVE, CONVOY, RETREAT, DISBAND, BUILD, GIVE = range(11)
NOBODY = -1

Row = tuple[str, int, int, int, int]  # text, kind, piece, other piece, destination


@dataclass(frozen=True, eq=False)
class OrderTable:
    """The order vocabulary of a board.

    Attributes:
        texts: order number -> string. Stable: the same map file gives the same table.
        index: string -> order number.
        kind: int8 [orders], WAIVE .. GIVE.
        piece: int16 [orders], the ordered or built piece, -1 for WAIVE and GIVE.
        other: int16 [orders], the supported or convoyed piece, -1 where there is none.
        dest: int16 [orders], destination location (moves, supported and convoyed moves, retreats), the receiving power
            (GIVE), or -1.
    """

    texts: tuple[str, ...]
    index: Mapping[str, int]
    kind: np.ndarray
    piece: np.ndarray
    other: np.ndarray
    dest: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.kind, self.piece, self.other, self.dest):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by __init__: copied arrays would be writable, and a mapping proxy cannot be pickled.
        return _order_table, (self.texts, self.kind, self.piece, self.other, self.dest)


def build_orders(board: Geography) -> OrderTable:
    """All orders that can ever be legal on `board`, in a fixed order: WAIVE, the orders of each piece, GIVE."""
    rows: list[Row] = [("WAIVE", WAIVE, NOBODY, NOBODY, NOBODY)]
    convoyed = _convoyed(board)
    for piece in board.pieces:
        rows += sorted(set(_piece_orders(board, convoyed, piece)), key=lambda row: _sequence(board, row))
    rows += [(f"GIVE {power}", GIVE, NOBODY, NOBODY, index) for index, power in enumerate(board.powers)]
    numbers = np.array([row[1:] for row in rows], np.int16)
    texts = tuple(row[0] for row in rows)
    return _order_table(texts, numbers[:, 0].astype(np.int8), numbers[:, 1], numbers[:, 2], numbers[:, 3])


def _order_table(
    texts: tuple[str, ...], kind: np.ndarray, piece: np.ndarray, other: np.ndarray, dest: np.ndarray
) -> OrderTable:
    index = MappingProxyType({text: number for number, text in enumerate(texts)})
    return OrderTable(texts, index, kind, piece, other, dest)


def _sequence(board: Geography, row: Row) -> tuple[int, ...]:
    """Sort key among the orders of a piece: by kind, then by places in the order of the board's tables."""
    _, kind, _, other, dest = row
    where = int(board.piece_province[other]) if other >= 0 else -1
    return (kind, where, dest, other) if kind == CONVOY else (kind, dest, where, other)


class Convoyed(NamedTuple):
    """The seas of the routes between two coasts."""

    some: frozenset[str]  # on some route
    every: frozenset[str]  # on every route


Pairs = dict[tuple[str, str], Convoyed]  # (from, to), sorted


def _convoyed(board: Geography) -> Pairs:
    routes: dict[tuple[str, str], list[frozenset[str]]] = {}
    for start, fleets, reached in board.convoys:
        for end in reached:
            routes.setdefault((start, end), []).append(fleets)
    return {
        pair: Convoyed(frozenset.union(*found), frozenset.intersection(*found))
        for pair, found in sorted(routes.items())
    }


def _piece_orders(board: Geography, convoyed: Pairs, piece: str) -> Iterator[Row]:
    me = board.piece_index[piece]
    yield f"{piece} H", HOLD, me, NOBODY, NOBODY
    yield f"{piece} D", DISBAND, me, NOBODY, NOBODY
    if any(piece[2:5] in homes for homes in board.homes.values()) or (
        board.build_anywhere and piece[2:5] in board.center_index
    ):
        yield f"{piece} B", BUILD, me, NOBODY, NOBODY
    for dest in board.moves[piece]:
        yield f"{piece} - {dest}", MOVE, me, NOBODY, board.location_index[dest]
        yield f"{piece} R {dest}", RETREAT, me, NOBODY, board.location_index[dest]
    yield from _convoy_orders(board, convoyed, piece)
    for dest in board.supports[piece]:
        yield from _supports_into(board, convoyed, piece, dest)


def _convoy_orders(board: Geography, convoyed: Pairs, piece: str) -> Iterator[Row]:
    me, where = board.piece_index[piece], piece[2:5]
    for (start, end), routes in convoyed.items():
        if piece[0] == "A" and start == where:
            yield f"{piece} - {end} VIA", VIA, me, NOBODY, board.location_index[end]
        elif piece[0] == "F" and where in routes.some:
            army = board.piece_index[f"A {start}"]
            yield f"{piece} C A {start} - {end}", CONVOY, me, army, board.location_index[end]


def _supports_into(board: Geography, convoyed: Pairs, piece: str, dest: str) -> Iterator[Row]:
    me, where = board.piece_index[piece], piece[2:5]
    for other, its_moves in board.moves.items():
        if other[2:5] == where:
            continue
        them = board.piece_index[other]
        if other[2:] == dest:
            yield f"{piece} S {other}", SUPPORT_HOLD, me, them, NOBODY
        # The package looks up the route backwards, from its end; on boards with ports that may be a different route.
        ends = ((other[2:], dest), (dest, other[2:])) if other[0] == "A" else ()
        if dest in its_moves or any(pair in convoyed and where not in convoyed[pair].every for pair in ends):
            yield f"{piece} S {other} - {dest}", SUPPORT_MOVE, me, them, board.location_index[dest]
            if "/" in dest:  # a support need not name the coast
                yield f"{piece} S {other} - {dest[:3]}", SUPPORT_MOVE, me, them, board.location_index[dest[:3]]
