"""Translates results of `evaluation.exact.clique_search` into certificates and lines of play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from agents.toy_boards.kernels import DEVIATOR, MOST_PROVINCES, PARTNER
from agents.toy_boards.shape import ALONE, NOBODY, Clique
from agents.toy_boards.symmetry_kernels import new_place, relabel, relabel_lost, relabelling
from evaluation.exact import graph_kernels as g
from evaluation.exact.certificates import Certificate, orders_array
from evaluation.exact.clique_search import CliqueSearch, no_retreats, opening
from evaluation.exact.planner import NO_ORDER, Given, Planner
from welfare_env import Board, Rules
from welfare_env.engine import State, layout_of
from welfare_env.game.position import Position

Line = tuple[tuple[str, dict[str, tuple[str, ...]]], ...]  # phase, power -> orders


def named_orders(board: Board, moves: Mapping[int, Sequence[int]]) -> dict[str, tuple[str, ...]]:
    """Power -> orders as text, from power indices and order numbers."""
    return {board.powers[who]: tuple(board.orders.texts[order] for order in moves[who]) for who in sorted(moves)}


def path_of(clique: Clique, outside: int, years: int, disarmed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Everybody's orders in the two phases of the paper's path with moves or disbands; `outside` gets no core."""
    year = clique.board.first_year
    leaves = [clique.piece[clique.cores + who] for who in range(clique.powers)]
    cores = [clique.piece[clique.home(who)] for who in range(clique.powers)]
    inside = [who for who in range(clique.powers) if who != outside]
    yield f"S{year}M", tuple(f"{leaves[who]} - {cores[who][2:]}" for who in inside)
    stands = [leaves[who] if who == outside else cores[who] for who in range(clique.powers)]
    yield f"W{year + years - disarmed - 1}A", tuple(f"{piece} D" for piece in stands)


class Naming:
    """Translates nodes of a search to positions and orders of the game, and back.

    Args:
        deviator, partner: replace the search's by others of the same kind; then path nodes are not used.
    """

    def __init__(self, search: CliqueSearch, deviator: int | None = None, partner: int = ALONE) -> None:
        self.search, self.clique, self.board = search, search.clique, search.clique.board
        self._is_path, self._seat = deviator is None, search.seat
        self._deviator, self._partner = (search.deviator, search.partner) if deviator is None else (deviator, partner)
        if deviator is not None:
            self._seat = np.zeros(MOST_PROVINCES, np.int64)
            owner, unit = opening(self.clique)
            relabelling(self._shape(), owner, unit, *no_retreats(), self._seat)

    def _shape(self) -> np.ndarray:
        clique = self.clique
        return np.array([clique.cores, clique.powers, self.search.provinces, self._deviator, self._partner])

    def _unpacked(self, node: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Phase, owners, units, dislodged units and retreat options of a node."""
        owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
        options = np.zeros(MOST_PROVINCES, np.int64)
        code = g.unpack(self.search.table.shape, self.search.table.keys[node], owner, unit, lost, options)
        return int(g.PHASE_OF[code]), owner, unit, lost, options

    def names(self) -> tuple[np.ndarray, np.ndarray]:
        """For the powers and the places in nodes: their numbers on the board and in `Clique`."""
        powers, shape = self.clique.powers, self.search.table.shape
        seat = np.argsort(self._seat[:powers])
        return seat, np.array([new_place(shape, seat, place) for place in range(self.search.provinces)])

    def state(self, node: int) -> State:
        """A node as a position of the game; the deviator keeps its own seat."""
        phase, owner, unit, lost, options = self._unpacked(node)
        seat, places = self.names()
        board, clique = self.board, self.clique
        pieces = [board.piece_index[piece] for piece in clique.piece]
        units = [(seat[unit[p]], pieces[places[p]]) for p in range(len(places)) if unit[p] >= 0]
        gone = [(seat[lost[c]], pieces[places[c]], options[c]) for c in range(clique.cores) if lost[c] >= 0]
        gone.sort(key=lambda each: each[:2])
        retreats = np.full((len(gone), len(places)), -1)
        for row, (_, _, bits) in zip(retreats, gone, strict=True):
            open_to = [p for p in range(len(places)) if bits >> p & 1]
            row[: len(open_to)] = [board.location_index[clique.piece[places[p]][2:]] for p in open_to]
        owners = np.full(len(board.centers), NOBODY)
        for p, place in enumerate(places):
            center = board.province_center[clique.province[place]]
            owners[center] = seat[owner[p]] if owner[p] >= 0 else NOBODY
        return State.pack(
            layout_of(board),
            phase,
            0,
            np.array(sorted(units), np.int32).reshape(-1, 2),
            np.array([each[:2] for each in gone], np.int32).reshape(-1, 2),
            retreats,
            owners,
            np.zeros(clique.powers, np.int32),
            np.zeros(len(board.provinces), np.int32),
        )

    def numbers(
        self, node: int, given: np.ndarray, places: np.ndarray, back: np.ndarray, are_mine: bool = False
    ) -> list[int]:
        """Order numbers of the others (or, if `are_mine`, the deviator) at a node.

        Args:
            given: orders in the node's numbering. places: our place for each place of the node. back: the inverse.
        """
        phase, _, unit, lost, _ = self._unpacked(node)
        fronts = self.search.table.shape[[DEVIATOR, PARTNER]].tolist()
        text, piece = self.board.orders.index, self.clique.piece
        found = []
        if phase == g.WINTER:
            for p, place in enumerate(places):
                if given[p] in (g.DISBAND_HERE, g.BUILD_HERE):
                    found.append(text[f"{piece[place]} {'D' if given[p] == g.DISBAND_HERE else 'B'}"])
        elif phase in (g.SPRING, g.FALL):
            order = self.clique.relabelled(given, back, places)
            for p, place in enumerate(places):
                if unit[p] >= 0 and (unit[p] in fronts) == are_mine:
                    found.append(text[self.clique.order_text(place, int(order[place]))])
        else:
            for c in range(self.clique.cores):
                if lost[c] >= 0 and (lost[c] in fronts) == are_mine:
                    to = "D" if given[c] < 0 else f"R {piece[places[given[c]]][2:]}"
                    found.append(text[f"{piece[places[c]]} {to}"])
        return found

    def find(self, state: State) -> tuple[int, np.ndarray]:
        """The node of a position of the game, and each place's number in the node."""
        provinces, shape = self.search.provinces, self._shape()
        owner, unit, lost, new_owner, new_unit, new_lost = np.full((6, MOST_PROVINCES), NOBODY, np.int8)
        options, new_options, seat = np.zeros((3, MOST_PROVINCES), np.int64)
        owner[:provinces], unit[:provinces] = self.clique.rows(state)
        lost[: self.clique.cores], options[: self.clique.cores] = self.clique.lost_rows(state)
        relabelling(shape, owner, unit, lost, options, seat)
        relabel(shape, seat, owner, unit, new_owner, new_unit)
        relabel_lost(shape, seat, lost, options, new_lost, new_options)
        places = np.array([new_place(shape, seat, place) for place in range(provinces)])
        return self.search.node(state.phase, new_owner, new_unit, new_lost, new_options, self._is_path), places


class Proof:
    """The result of a search for one game of T years in which all disband in the Winter of year t.

    Args:
        search: a search of the board.
        years: T. disarmed: T - t.
    """

    def __init__(self, search: CliqueSearch, years: int, disarmed: int) -> None:
        self.search, self.years, self.disarmed = search, years, disarmed
        self.board, self.clique = search.clique.board, search.clique
        self.deviator = self.board.powers[search.deviator]
        self._naming = Naming(search)
        self.value = search.value(years, disarmed)
        self.path_value = search.path_value(years, disarmed)
        self._at, self._worth = g.OPENING, self.value  # current node of a line of play, and the points it still pays

    def certificate(self) -> Certificate:
        """The certificate that the deviator gets at most `value`."""
        nodes = list(self._needed_nodes())
        table, layout = self.search.table, layout_of(self.board)
        claims = [table.high[node, g.column(years, self.disarmed)] for node, years in nodes]
        _, places = self._naming.names()
        back = np.argsort(places)
        orders = [self._naming.numbers(node, self._plan(node, years), places, back) for node, years in nodes]
        rows = np.array([self._naming.state(node).row for node, _ in nodes], np.int32).reshape(-1, layout.size)
        return Certificate(
            map_name=self.board.name,
            years=self.years,
            deviators=(self.deviator,),
            value=self.value,
            path=tuple(path_of(self.clique, self.search.excluded, self.years, self.disarmed)),
            path_value=self.path_value,
            is_symmetric=True,
            rows=rows,
            years_left=np.array([years for _, years in nodes], np.int16),
            claims=np.array(claims, np.int16),
            orders=orders_array(orders),
        )

    def _needed_nodes(self) -> Iterator[tuple[int, int]]:
        """Nodes (with years left) that the proof needs. With the best punishers, path nodes are left out."""
        table = self.search.table
        waiting, seen = [(g.OPENING, self.years)], set()
        while waiting:
            node, years = waiting.pop()
            plan = table.proof[node, g.column(years, self.disarmed)]
            if (node, years) in seen or plan < 0:
                continue  # already listed, or a loose bound suffices
            seen.add((node, years))
            if not (self.search.remembers and g.is_on_path(node)):
                yield node, years
            left = years - (g.PHASE_OF[table.keys[node, 0] & 15] == g.WINTER)
            if left:
                first = table.first[plan]
                following = table.to[first : first + table.many[plan]].tolist()
                waiting += [(int(g.following(table, node, to, left, self.disarmed)), int(left)) for to in following]

    def _plan(self, node: int, years: int) -> np.ndarray:
        """The others' orders that prove the bound at a node; if a loose bound suffices, the stated policy's."""
        plan = int(self.search.table.proof[node, g.column(years, self.disarmed)])
        if plan < 0:
            plan = self.search.first_plan(node)
        return self.search.table.orders[plan]

    # Lines of play

    def line(self) -> Line:
        """A game in which the deviator gets `value`: everybody's orders, phase by phase."""
        rules = Rules(press=None, years=self.years)
        planner = Planner(self.board, rules, self.search.deviator, self._answers)
        state, found = planner.engine.initial(), []
        self._at, self._worth = g.OPENING, self.value
        while not state.done:
            position = Position(planner.engine, state)
            played = self._best_orders(planner, position)
            found.append((position.phase, named_orders(self.board, played)))
            moves = [np.array(played.get(power, []), np.int32) for power in range(self.clique.powers)]
            state, _ = planner.engine.step(state, moves)
            self._at = self._at if state.done else self._after(state)
        return tuple(found)

    def _best_orders(self, planner: Planner, position: Position) -> dict[int, list[int]]:
        """Everybody's orders if the deviator plays optimally: power -> order numbers.

        Each next position takes one threshold query only. Finding exact values by raising the threshold from 0 would be
        too slow, since each query may try all plans of the punishers.
        """
        orders, powers, rows, points = planner.plays(position)
        gains = points[:, self.search.deviator]
        for row, gain, given in zip(rows, gains.tolist(), orders, strict=True):
            to = State(position.state.layout, row)
            left = self._worth - gain
            if left == 0 if to.done else not self._is_at_most(self._after(to), self.years - to.year, left - 1):
                self._worth = left
                pairs = [(int(who), int(order)) for who, order in zip(powers, given, strict=True) if order != NO_ORDER]
                return {who: [order for other, order in pairs if other == who] for who, _ in pairs}
        raise RuntimeError(f"no order in {position.phase} is worth {self._worth}: internal error; please report it")

    def _after(self, state: State) -> int:
        """The node of a possible next position of the line."""
        node = self._naming.find(state)[0]
        return int(g.following(self.search.table, self._at, node, self.years - state.year, self.disarmed))

    def _is_at_most(self, node: int, years: int, bound: int) -> bool:
        """Whether the deviator gets at most `bound` from a node on."""
        return bound >= 0 and self.search.is_at_most(node, years, self.disarmed, bound)

    def _answers(self, position: Position) -> Given:
        """The others' orders at the current node of the line: power -> slot -> order number."""
        years, node = self.years - position.state.year, self._at
        self._is_at_most(node, years, self._worth)  # so that the search has a plan for this bound
        _, places = self._naming.find(position.state)
        found: Given = {}
        for order in self._naming.numbers(node, self._plan(node, years), np.argsort(places), places):
            for power in range(self.clique.powers):
                slot = position.slot_of(power, order) if power != self.search.deviator else None
                if slot is not None:
                    found.setdefault(power, {})[slot] = order
        return found
