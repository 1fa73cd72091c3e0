"""A board as the flat arrays that the kernels read: one int32 array of tables, one int64 array of bit masks.

The int32 array begins with a header: sizes, then the offset of every table in this array (masks: in the int64 array).
The names below are positions in the header; `build_tables` fills it from a board and its order vocabulary. The header
also holds the offsets of the parts of a state row, so that a kernel needs only the arrays.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.cache import Arrays, cached
from welfare_env.board.orders import BUILD, CONVOY, DISBAND, HOLD, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import DISLODGED, DONE, PHASE, UNITS, WINNER, YEAR, Frozen, layout_of  # noqa: F401 (for the kernels)
from welfare_env.errors import MapFormatError

MAX_SEAS = 62  # provinces where fleets convoy: bits of an int64 mask
WORD = 62  # coasts in one int64 word of a mask
COAST_SHIFT = 20  # support bucket entries, high bits: one plus the coast of an army that needs a convoy, else 0
MOVER = (1 << COAST_SHIFT) - 1  # low bits: the mover's number
KINDS = {"land": 0, "coast": 1, "port": 1, "sea": 2}
MOVES_AT_ONCE = 8  # orders written together, see `legal_orders._movement_orders`
READ_AT_ONCE = 4  # support candidates read together, see there
PIECES_HERE = 4  # most pieces per province: an army, and a fleet on each of up to three coasts
HELPS = PIECES_HERE + 1  # entries per province: the support of each piece, and of an empty province (none)

# numba compiles a kernel once per combination of argument types, and a literal (0, True) has its own type. Typed
# constants are passed instead, so that each kernel is compiled once; a test counts the versions.
ZERO, ONE, YES, NO = np.int64(0), np.int64(1), np.bool_(True), np.bool_(False)

# Sizes.
(
    N_PROVINCES,
    N_LOCATIONS,
    N_PIECES,
    N_CENTERS,
    N_POWERS,
    N_UNITS,
    N_DISLODGED,
    N_OPTIONS,
    N_COASTS,
    N_SEAS,
    N_WORDS,
    N_SETS,
    STATE_SIZE,
    SCRATCH_WIDTH,
    BUCKET_ROWS,
    BUCKET_WIDTH,
    MASK_SCRATCH_SIZE,
    MAX_PATHS,
    MAX_LEGAL,
) = range(19)

# Tables.
(
    PIECE_TYPE,
    PIECE_PROVINCE,
    PIECE_LOCATION,
    PIECE_LOCAL,
    PIECE_RANK,
    LOCATION_PROVINCE,
    LOCATION_COAST,
    PROVINCE_LOCATION,
    PROVINCE_CENTER,
    PROVINCE_COAST,
    PROVINCE_SEA,
    CENTER_PROVINCE,
    HOME_POWER,
    HOLD_ID,
    DISBAND_ID,
    MOVE_START,
    MOVE_LOCATION,
    MOVE_ID,
    RETREAT_ID,
    PUSH_START,
    PUSH_LOCATION,
    PUSH_MOVER,
    HELP_START,
    HELP_PROVINCE,
    HELP_ID,
    INTO_START,
    INTO_LOCATION,
    INTO_BASE,
    INTO_ID,
    CAN_SUPPORT,
    CAN_MOVE,
    PIECE_AT,
    CONVOY_MOVER,
    VIA_ID,
    CONVOY_ID,
    SET_START,
    SET_COAST,
    PAIR_START,
    BUILD_START,
    BUILD_ORDER,
    ORDER_PACKED,
    HOME_DISTANCE,
    COAST_LOCATION,
    PROVINCE_KIND,
    BACK_START,
    BACK_COAST,
) = range(20, 66)

# Masks, offsets in the int64 array.
SET_MASK, SET_REACH, PAIR_MASK, COAST_ADJACENT, BACK_REACH = range(70, 75)

# Parts of a state row (`engine.Layout`).
UNIT_POWER, UNIT_PIECE, LOST_POWER, LOST_PIECE, LOST_OPTIONS, LOST_OPTION, OWNER, WELFARE, INFLUENCE = range(80, 89)

# Rows of the int32 scratch array [SCRATCH_ROWS, SCRATCH_WIDTH]. Before orders are read, COMMAND .. CUTTER become 0 and
# TARGET_DEST .. LOST_FROM -1.
(
    W_OCCUPANT,
    W_POWER,
    W_PIECE,
    W_PROVINCE,
    W_TYPE,
    W_SEA,
    W_DEST,
    W_DEST_PROVINCE,
    W_TARGET,
    W_SITE,
    W_COMMAND,
    W_VIA,
    W_RESULT,
    W_SUPPORT,
    W_NO_HELP,
    W_CONVOYS,
    W_PATHS,
    W_ROUTES,
    W_CUTTER,
    W_TARGET_DEST,
    W_HELPS_NOT,
    W_LOST_FROM,
    W_MOVERS,
    W_SUPPORTERS,
    W_CARRIERS,
    W_ACTIVE,
    W_STRENGTH,
    W_ALIVE,
    W_NEXT,
    W_HEAD,
    W_BEST,
    W_MANY,
    W_FIRST,
    W_SECOND,
    W_UNITS,
    W_CENTERS,
    W_BUILDS,
    W_DISBANDS,
    W_BEFORE,
    W_SITE_OPEN,
    W_BUCKET_SIZE,
    W_SORTED,
    W_LOCAL,
    W_ARMY,
    W_ARMIES,
    W_FLEETS,
    W_NEW_POWER,
    W_NEW_PIECE,
    W_CHOICES,
    W_CHOICE,
    W_CHOICE_POWER,
    SCRATCH_ROWS,
) = range(52)

# Offsets in the int64 scratch array.
X_REACH, X_THROUGH, X_WITHOUT, X_BACK, X_BACK_THROUGH, X_BACK_WITHOUT = range(121, 127)

HEADER = 128

# Rules, as the kernels read them.
(
    IS_WELFARE,
    YEARS,
    HAS_VICTORY,
    VICTORY,
    OVERMILITARISE,
    RETREAT_WELFARE,
    BUILD_AND_DISBAND,
    BUILD_ANYWHERE,
    RULEBOOK,
    PROGRESSIVE,
) = range(10)


@dataclass(frozen=True, eq=False)
class Tables(Frozen):
    """The arrays of a board, read-only because the kernels trust them.

    Attributes:
        numbers: int32, header and tables.
        masks: int64, bit masks.
    """

    numbers: np.ndarray
    masks: np.ndarray

    def __getitem__(self, name: int) -> int:
        return int(self.numbers[name])


class _Packer:
    """Collects tables and writes their offsets to the header."""

    def __init__(self) -> None:
        self.header = np.zeros(HEADER, np.int32)
        self.numbers: list[np.ndarray] = [self.header]
        self.masks: list[np.ndarray] = []
        self._end = HEADER
        self._mask_end = 0
        self.is_symmetric = True  # whether every convoy route works in both directions

    def size(self, name: int, value: int) -> None:
        self.header[name] = value

    def table(self, name: int, values: object) -> None:
        array = np.ascontiguousarray(values, np.int32).ravel()
        self.header[name] = self._end
        self._end += len(array)
        self.numbers.append(array)

    def mask(self, name: int, values: object) -> None:
        array = np.ascontiguousarray(values, np.int64).ravel()
        self.header[name] = self._mask_end
        self._mask_end += len(array)
        self.masks.append(array)

    def slots(self, sizes: list[tuple[int, int]], start: int = 0) -> int:
        """Assign consecutive offsets; returns the end."""
        for name, size in sizes:
            self.header[name] = start
            start += size
        return start


@functools.lru_cache(maxsize=32)
def tables_of(board: Board) -> Tables:
    """The board's tables for the compiled engine, built once and cached on disk (`welfare_env.board.cache`).

    Raises:
        MapFormatError: the board is too large for the compiled engine.
    """
    kept = cached("tables", (board.name, board.digest), lambda: _build_tables(board))
    return Tables(kept["numbers"], kept["masks"])


def _build_tables(board: Board) -> Arrays:
    """The kernels' arrays of a board.

    Raises:
        MapFormatError: more seas than MAX_SEAS, more pieces in a province than PIECES_HERE, or more than 512 pieces or
            locations (nine bits).
    """
    packer = _Packer()
    _pack_places(packer, board)
    coasts = _pack_convoys(packer, board)
    movers = _movers(board)
    _pack_moves(packer, board, movers)
    _pack_supports(packer, board, movers)
    _pack_convoy_orders(packer, board, coasts, movers)
    _pack_orders(packer, board)
    _pack_layout(packer, board)
    return {"numbers": np.concatenate(packer.numbers), "masks": np.concatenate(packer.masks)}


def _pack_places(packer: _Packer, board: Board) -> None:
    local: dict[int, int] = {}
    locals_ = []
    for province in board.piece_province.tolist():
        locals_.append(local.get(province, 0))
        local[province] = locals_[-1] + 1
    if max(locals_) >= PIECES_HERE:
        crowded = board.provinces[board.piece_province[int(np.argmax(locals_))]]
        raise MapFormatError(
            f"map {board.name!r}: {max(locals_) + 1} kinds of units can stand in {crowded}; the fast engine takes at "
            f"most {PIECES_HERE}, an army and a fleet on each of {PIECES_HERE - 1} coasts"
        )
    # The rank breaks ties of forced removals: the alphabetically first unit is removed.
    packer.table(PIECE_RANK, np.argsort(np.argsort(np.array(board.pieces))))
    packer.table(PIECE_TYPE, board.piece_type)
    packer.table(PIECE_PROVINCE, board.piece_province)
    packer.table(PIECE_LOCATION, board.piece_location)
    packer.table(PIECE_LOCAL, locals_)
    packer.table(LOCATION_PROVINCE, board.location_province)
    at = np.full((2, len(board.locations)), -1)
    at[board.piece_type, board.piece_location] = np.arange(len(board.pieces))
    packer.table(PIECE_AT, at)
    # 0: no coast named; 1, 2, ...: the first, second, ... coast of its province.
    named = [[place for place in board.locations if place.startswith(f"{name[:3]}/")] for name in board.locations]
    coasts = [found.index(name) + 1 if "/" in name else 0 for name, found in zip(board.locations, named, strict=True)]
    packer.table(LOCATION_COAST, coasts)
    packer.table(PROVINCE_KIND, [KINDS[board.kind[province]] for province in board.provinces])
    packer.table(PROVINCE_LOCATION, [board.location_index[province] for province in board.provinces])
    packer.table(PROVINCE_CENTER, board.province_center)
    packer.table(CENTER_PROVINCE, board.center_province)
    packer.table(HOME_POWER, board.home_power)
    packer.table(HOME_DISTANCE, board.home_distance)


def _pack_convoys(packer: _Packer, board: Board) -> dict[str, int]:
    """Fleet sets that can carry armies, and the routes of every pair of coasts. Returns coast -> its number."""
    coast_names = sorted({start for start, _, _ in board.convoys})
    seas = sorted({sea for _, fleets, _ in board.convoys for sea in fleets})
    if len(seas) > MAX_SEAS:
        raise MapFormatError(f"map {board.name!r} has {len(seas)} seas; the fast engine takes at most {MAX_SEAS}")
    coasts = {name: number for number, name in enumerate(coast_names)}
    sea_bit = {name: 1 << number for number, name in enumerate(seas)}
    words = max(1, -(-len(coasts) // WORD))
    packer.size(N_COASTS, len(coasts))
    packer.size(N_SEAS, len(seas))
    packer.size(N_WORDS, words)
    packer.table(PROVINCE_COAST, [coasts.get(province, -1) for province in board.provinces])
    packer.table(PROVINCE_SEA, [seas.index(p) if p in sea_bit else -1 for p in board.provinces])
    packer.table(COAST_LOCATION, [board.location_index[name] for name in coast_names])
    sets: dict[int, list[tuple[int, np.ndarray]]] = {}
    pairs: list[list[int]] = [[] for _ in range(len(coasts) ** 2)]
    for start, fleets, reached in board.convoys:
        mask = sum(sea_bit[sea] for sea in fleets)
        reach = np.zeros(words, np.int64)
        for end in reached:
            reach[coasts[end] // WORD] |= 1 << (coasts[end] % WORD)
            pairs[coasts[start] * len(coasts) + coasts[end]].append(mask)
        sets.setdefault(mask, []).append((coasts[start], reach))
    packer.size(N_SETS, len(sets))
    packer.mask(SET_MASK, list(sets))
    back = {mask: _turned(rows, len(coasts), words) for mask, rows in sets.items()}
    packer.is_symmetric = all(_same_rows(rows, back[mask]) for mask, rows in sets.items())
    _pack_sets(packer, sets, SET_START, SET_COAST, SET_REACH)
    _pack_sets(packer, sets if packer.is_symmetric else back, BACK_START, BACK_COAST, BACK_REACH)
    packer.table(PAIR_START, np.cumsum([0, *map(len, pairs)]))
    packer.mask(PAIR_MASK, [mask for masks in pairs for mask in masks])
    packer.size(MAX_PATHS, max(map(len, pairs), default=0))
    adjacent = np.zeros((len(coasts), words), np.int64)
    for name, number in coasts.items():
        for place in board.moves[f"A {name}"]:
            if place in coasts:
                adjacent[number, coasts[place] // WORD] |= 1 << (coasts[place] % WORD)
    packer.mask(COAST_ADJACENT, adjacent)
    return coasts


Reaches = list[tuple[int, np.ndarray]]  # coast, mask of the coasts reached from it


def _pack_sets(packer: _Packer, sets: dict[int, Reaches], start: int, coast: int, reach: int) -> None:
    rows = [row for found in sets.values() for row in found]
    packer.table(start, np.cumsum([0, *map(len, sets.values())]))
    packer.table(coast, [number for number, _ in rows])
    packer.mask(reach, np.array([mask for _, mask in rows], np.int64))


def _turned(rows: Reaches, coasts: int, words: int) -> Reaches:
    """The same routes, reversed."""
    table = np.zeros((coasts, words), np.int64)
    word, bit = np.divmod(np.arange(coasts), WORD)
    for start, reach in rows:
        table[:, start // WORD] |= (reach[word] >> bit & 1) << (start % WORD)
    return [(int(end), table[end]) for end in np.flatnonzero(table.any(axis=1))]


def _same_rows(rows: Reaches, others: Reaches) -> bool:
    return sorted((c, tuple(mask)) for c, mask in rows) == sorted((c, tuple(mask)) for c, mask in others)


def _movers(board: Board) -> dict[int, dict[int, int]]:
    """Location -> piece -> its number among the pieces that can move there directly or by convoy, sorted by province.

    A province includes the fleets that can move to one of its coasts, since a support need not name the coast.
    """
    reach: dict[int, set[int]] = {number: set() for number in range(len(board.locations))}
    for piece, places in board.moves.items():
        for place in places:
            for location in {place, place[:3]}:
                reach[board.location_index[location]].add(board.piece_index[piece])
    for start, _, ends in board.convoys:
        for end in ends:  # in both directions: see `legal_orders._reach_by_convoy`
            reach[board.location_index[end]].add(board.piece_index[f"A {start}"])
            reach[board.location_index[start]].add(board.piece_index[f"A {end}"])
    key = board.piece_province
    return {
        location: {piece: number for number, piece in enumerate(sorted(pieces, key=lambda p: (key[p], p)))}
        for location, pieces in reach.items()
    }


def _pack_moves(packer: _Packer, board: Board, movers: dict[int, dict[int, int]]) -> None:
    index = board.orders.index
    rows, pushes = [], []
    for piece in board.pieces:
        places = board.moves[piece]
        number = board.piece_index[piece]
        location = board.location_index
        rows.append([(location[place], index[f"{piece} - {place}"], index[f"{piece} R {place}"]) for place in places])
        targets = sorted({board.location_index[name] for place in places for name in (place, place[:3])})
        pushes.append([(location, movers[location][number]) for location in targets])
    flat = np.array([row for found in rows for row in found], np.int32).reshape(-1, 3)
    packer.table(MOVE_START, np.cumsum([0, *map(len, rows)]))
    for column, name in enumerate((MOVE_LOCATION, MOVE_ID, RETREAT_ID)):
        packer.table(name, flat[:, column])
    packer.table(PUSH_START, np.cumsum([0, *map(len, pushes)]))
    pushed = np.array([row for found in pushes for row in found], np.int32).reshape(-1, 2)
    packer.table(PUSH_LOCATION, pushed[:, 0])
    packer.table(PUSH_MOVER, pushed[:, 1])


def _pack_supports(packer: _Packer, board: Board, movers: dict[int, dict[int, int]]) -> None:
    orders = board.orders
    helping = np.flatnonzero(orders.kind == SUPPORT_HOLD).tolist()
    help_ids = {(int(orders.piece[n]), int(orders.other[n])): n for n in helping}
    into_ids = {
        (int(orders.piece[n]), int(orders.dest[n]), int(orders.other[n])): n
        for n in np.flatnonzero(orders.kind == SUPPORT_MOVE).tolist()
    }
    here: dict[int, list[int]] = {}
    for piece, province in enumerate(board.piece_province.tolist()):
        here.setdefault(province, []).append(piece)
    helps: list[list[int]] = []
    help_numbers: list[int] = []
    intos: list[list[tuple[int, int]]] = []
    into_numbers: list[int] = []
    for piece in range(len(board.pieces)):
        places = [board.location_index[place] for place in board.supports[board.pieces[piece]]]
        provinces = sorted({int(board.location_province[place]) for place in places})
        helps.append(provinces)
        for province in provinces:
            found = [help_ids.get((piece, other), -1) for other in here[province]]
            help_numbers += found + [-1] * (HELPS - len(found))
        row = []
        for place in sorted(places):
            row.append((place, len(into_numbers)))
            into_numbers += [into_ids.get((piece, place, other), -1) for other in movers[place]]
        intos.append(row)
    packer.table(HELP_START, np.cumsum([0, *map(len, helps)]))
    packer.table(HELP_PROVINCE, [province for provinces in helps for province in provinces])
    packer.table(HELP_ID, help_numbers)
    packer.table(INTO_START, np.cumsum([0, *map(len, intos)]))
    packer.table(INTO_LOCATION, [place for row in intos for place, _ in row])
    packer.table(INTO_BASE, [base for row in intos for _, base in row])
    packer.table(INTO_ID, into_numbers)
    shape = (len(board.pieces), len(board.locations))
    for name, reach in ((CAN_SUPPORT, board.supports), (CAN_MOVE, board.moves)):
        table = np.zeros(shape, np.int32)
        for piece_name, names in reach.items():
            table[board.piece_index[piece_name], [board.location_index[place] for place in names]] = 1
        packer.table(name, table)


def _pack_convoy_orders(
    packer: _Packer, board: Board, coasts: dict[str, int], movers: dict[int, dict[int, int]]
) -> None:
    orders = board.orders
    names = sorted(coasts)
    number = len(names)
    coast_of = np.full(len(board.provinces), -1)
    coast_of[[board.provinces.index(name) for name in names]] = np.arange(number)
    mover = np.full((number, number), -1)
    for start in names:
        for end in names:
            mover[coasts[start], coasts[end]] = movers[board.location_index[end]].get(
                board.piece_index[f"A {start}"], -1
            )
    via = np.full((number, number), -1)
    chosen = np.flatnonzero(orders.kind == VIA)
    starts = coast_of[board.piece_province[orders.piece[chosen]]]
    via[starts, coast_of[board.location_province[orders.dest[chosen]]]] = chosen
    seas = sorted({sea for _, fleets, _ in board.convoys for sea in fleets})
    sea_of = {board.provinces.index(sea): bit for bit, sea in enumerate(seas)}
    carried = np.full((len(seas), number, number), -1)
    for n in np.flatnonzero(orders.kind == CONVOY).tolist():
        sea = sea_of[int(board.piece_province[orders.piece[n]])]
        start = coast_of[board.piece_province[orders.other[n]]]
        carried[sea, start, coast_of[board.location_province[orders.dest[n]]]] = n
    packer.table(CONVOY_MOVER, mover)
    packer.table(VIA_ID, via)
    packer.table(CONVOY_ID, carried)


def _pack_orders(packer: _Packer, board: Board) -> None:
    orders = board.orders
    for name, kind in ((HOLD_ID, HOLD), (DISBAND_ID, DISBAND)):
        numbers = np.full(len(board.pieces), -1)
        found = np.flatnonzero(orders.kind == kind)
        numbers[orders.piece[found]] = found
        packer.table(name, numbers)
    builds: list[list[int]] = [[] for _ in board.centers]
    for n in np.flatnonzero(orders.kind == BUILD).tolist():
        builds[board.province_center[board.piece_province[orders.piece[n]]]].append(n)
    packer.table(BUILD_START, np.cumsum([0, *map(len, builds)]))
    packer.table(BUILD_ORDER, [n for found in builds for n in found])
    # kind (4 bits) | piece (9) | other (9) | destination (9): an order in one int32.
    parts = [orders.kind, orders.piece, orders.other, orders.dest]
    kind, piece, other, dest = (np.maximum(part, 0).astype(np.int64) for part in parts)
    if max(piece.max(), dest.max()) >= 512:
        raise MapFormatError(
            f"map {board.name!r} has {len(board.pieces)} pieces and {len(board.locations)} locations; the fast engine "
            "takes at most 512 of each"
        )
    packer.table(ORDER_PACKED, (kind | piece << 4 | other << 13 | dest << 22).astype(np.uint32).view(np.int32))
    # A unit's legal orders are among its piece's orders; there are few builds and transfers.
    own = (orders.piece >= 0) & ~np.isin(orders.kind, (RETREAT, DISBAND, BUILD))
    packer.size(MAX_LEGAL, int(np.bincount(orders.piece[own]).max()))


def _pack_layout(packer: _Packer, board: Board) -> None:
    """The offsets within a state row and the scratch arrays."""
    layout = layout_of(board)
    for name, value in (
        (N_PROVINCES, len(board.provinces)),
        (N_LOCATIONS, len(board.locations)),
        (N_PIECES, len(board.pieces)),
        (N_CENTERS, len(board.centers)),
        (N_POWERS, len(board.powers)),
        (N_UNITS, layout.most_units),
        (N_DISLODGED, layout.most_dislodged),
        (N_OPTIONS, layout.most_options),
        (STATE_SIZE, layout.size),
        (UNIT_POWER, layout.power),
        (UNIT_PIECE, layout.piece),
        (LOST_POWER, layout.lost_power),
        (LOST_PIECE, layout.lost_piece),
        (LOST_OPTIONS, layout.lost_options),
        (LOST_OPTION, layout.lost_option),
        (OWNER, layout.owner),
        (WELFARE, layout.welfare),
        (INFLUENCE, layout.influence),
    ):
        packer.size(name, value)
    _pack_scratch(packer, layout.most_units, len(board.locations), len(board.powers))


def _pack_scratch(packer: _Packer, units: int, locations: int, powers: int) -> None:
    header = packer.header
    coasts, seas, words = (int(header[name]) for name in (N_COASTS, N_SEAS, N_WORDS))
    # A row is indexed by unit, province, location, coast, sea or combat table entry (two per unit). Random play chooses
    # one order per unit, in Winter one per unit or center.
    packer.size(SCRATCH_WIDTH, max(2 * units, locations, coasts, seas, units + int(header[N_CENTERS]), powers) + 1)
    # The movers of each location, at most one per province; then the routes of each unit.
    packer.size(BUCKET_ROWS, locations + units)
    packer.size(BUCKET_WIDTH, max(units + READ_AT_ONCE - 1, int(header[MAX_PATHS])))
    sizes = [coasts * words, seas * (coasts + 1) * words, seas * (coasts + 1) * words]
    there, back = (X_REACH, X_THROUGH, X_WITHOUT), (X_BACK, X_BACK_THROUGH, X_BACK_WITHOUT)
    end = packer.slots(list(zip(there, sizes, strict=True)))
    packer.size(MASK_SCRATCH_SIZE, max(1, 2 * end))
    packer.slots(list(zip(back, sizes, strict=True)), 0 if packer.is_symmetric else end)
