"""Compares the borders on the drawing, computed from its path data only, with the board's adjacencies.

Two areas touch if their outlines share segments. Fleets can move along a coast between two provinces if their coasts
meet at the end of the common border.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from welfare_env.board.board import Board
from welfare_env.board.loading import load_board

Vertex = tuple[int, int]  # in tenths
Segment = tuple[Vertex, Vertex]
Pair = tuple[str, str]

SHORTEST = 30.0  # minimum length of a border, in tenths
NOBODY = "#"
KINDS = ("land-land", "sea-sea", "coast-sea", "coast-coast")


@dataclass(frozen=True)
class Coast:
    """A section of a province's coast between two land borders; `ends` is empty for an island."""

    province: str
    segments: tuple[Segment, ...]
    ends: frozenset[Vertex]


class Outlines:
    """The segments of a drawing, and the areas on their sides.

    Attributes:
        sides: segment -> the areas (provinces or impassable) on its sides; one on the frame.
        length: pair of areas -> the length of their border, in tenths.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.sides: dict[Segment, list[str]] = defaultdict(list)
        for name, path in _areas(data):
            for ring in rings(path):
                for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
                    self.sides[min(a, b), max(a, b)].append(name)
        self.length: dict[Pair, float] = defaultdict(float)
        for segment, names in self.sides.items():
            if len(set(names)) == 2:
                self.length[_pair(*names)] += math.dist(*segment)

    def touch(self, a: str, b: str) -> bool:
        return self.length.get(_pair(a, b), 0) >= SHORTEST

    def neighbor(self, segment: Segment, name: str) -> str:
        """The area on the other side of a segment; "" on the frame."""
        return next((other for other in self.sides[segment] if other != name), "")

    def coasts(self, name: str, seas: Iterable[str]) -> list[Coast]:
        """The sections of a province's coast."""
        wet = [s for s, names in self.sides.items() if name in names and self.neighbor(s, name) in seas]
        return [_coast(name, part) for part in _connected(wet)]


def drawn_facts(outlines: Outlines, board: Board) -> dict[str, set[Pair]]:
    """Kind of border -> pairs of provinces and coasts that touch on the drawing."""
    seas = {name for name in board.provinces if board.kind[name] == "sea"}
    land = sorted(set(board.provinces) - seas)
    found: dict[str, set[Pair]] = {
        "land-land": {pair for pair in itertools.combinations(land, 2) if outlines.touch(*pair)},
        "sea-sea": {pair for pair in itertools.combinations(sorted(seas), 2) if outlines.touch(*pair)},
        "coast-sea": set(),
        "coast-coast": set(),
    }
    coasts = [(place, coast) for name in land for place, coast in _named(outlines, name, board, seas)]
    for place, length in _seas_at(outlines, coasts, board).items():
        if length >= SHORTEST:
            found["coast-sea"].add(place)
    for (a, one), (b, other) in itertools.combinations(coasts, 2):
        if one.ends & other.ends and outlines.touch(one.province, other.province):
            found["coast-coast"].add(_pair(a, b))
    return found


def _seas_at(outlines: Outlines, coasts: Iterable[tuple[str, Coast]], board: Board) -> dict[Pair, float]:
    """(Location, sea) -> the length of coast between them."""
    length: dict[Pair, float] = defaultdict(float)
    for place, coast in coasts:
        for segment in coast.segments:
            length[_pair(place, outlines.neighbor(segment, coast.province))] += math.dist(*segment)
    return length


def _named(outlines: Outlines, name: str, board: Board, seas: set[str]) -> Iterator[tuple[str, Coast]]:
    """A province's sections of coast with a fleet's location there; with named coasts, that of the nearest anchor."""
    coasts = outlines.coasts(name, seas)
    places = [place for place in board.locations if place.startswith(name + "/")]
    nearest = {min(coasts, key=lambda coast: _apart(coast, outlines.data["coasts"][place])): place for place in places}
    for coast in coasts:
        yield (nearest.get(coast, f"{name}/?") if places else name), coast


def _apart(coast: Coast, spot: Iterable[float]) -> float:
    x, y = spot
    return min(math.dist(vertex, (10 * x, 10 * y)) for segment in coast.segments for vertex in segment)


def board_facts(board: Board) -> dict[str, set[Pair]]:
    """Kind of border -> pairs of provinces and coasts between which the board allows armies or fleets to move."""
    facts: dict[str, set[Pair]] = {kind: set() for kind in KINDS}
    for piece, places in board.moves.items():
        for place in places:
            pair = (piece[2:5], place[:3]) if piece[0] == "A" else (piece[2:], place)
            facts[_kind(board, piece[0], pair)].add(_pair(*pair))
    return facts


def _kind(board: Board, unit: str, pair: Pair) -> str:
    wet = sum(board.kind[place[:3]] == "sea" for place in pair)
    return "land-land" if unit == "A" else ("coast-coast", "coast-sea", "sea-sea")[wet]


def gaps(outlines: Outlines) -> list[str]:
    """The reasons why the areas do not fill the frame exactly, if any."""
    width, height = 10 * outlines.data["width"], 10 * outlines.data["height"]
    frame = {(0, 0), (0, height), (width, 0), (width, height)}
    faults = [f"{s} has {len(n)} areas" for s, n in outlines.sides.items() if len(n) != 2 - _on_frame(s, width, height)]
    total = abs(sum(_area(ring) for _, path in _areas(outlines.data) for ring in rings(path)))
    missing = frame - {vertex for segment in outlines.sides for vertex in segment}
    faults += [f"no area reaches the corner {corner}" for corner in sorted(missing)]
    return faults + ([f"the areas add up to {total / 100:g}"] if abs(total - width * height) > 1e-6 else [])


def _on_frame(segment: Segment, width: float, height: float) -> bool:
    (x, y), (u, v) = segment
    return (x == u and x in (0, width)) or (y == v and y in (0, height))


def report(file: Path) -> tuple[list[str], bool]:
    """A report on a drawing, as lines, and whether anything is wrong."""
    board, outlines = load_board("standard"), Outlines(json.loads(file.read_text("utf-8")))
    facts, drawn = board_facts(board), drawn_facts(outlines, board)
    lines = [f"{kind}: {len(facts[kind] & drawn[kind])} of {len(facts[kind])}" for kind in KINDS]
    faults = [f"{kind}: {a} and {b} should touch" for kind in KINDS for a, b in sorted(facts[kind] - drawn[kind])]
    faults += [f"{kind}: {a} and {b} should not touch" for kind in KINDS for a, b in sorted(drawn[kind] - facts[kind])]
    faults += gaps(outlines)
    needed = {_pair(a[:3], b[:3]) for kind in KINDS for a, b in facts[kind]}
    shortest = sorted((outlines.length[pair] / 10, pair) for pair in needed)[:5]
    lines.append("shortest borders: " + ", ".join(f"{a}-{b} {length:.1f}" for length, (a, b) in shortest))
    return lines + faults, bool(faults)


def _areas(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(Area, path data) of all drawn areas; a strait counts as part of its province."""
    for name, province in data["provinces"].items():
        yield name, province["area"]
        yield name, province.get("strait", "")
    yield NOBODY, data["impassable"]
    yield "~", data["open_water"]


def rings(path: str) -> Iterator[list[Vertex]]:
    """The corners of every outline of path data such as "M10 20l1.5-2 .3 4z", in tenths."""
    for part in filter(None, path.split("M")):
        numbers = [round(10 * float(number)) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", part)]
        x = y = 0
        ring = []
        for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
            x, y = x + dx, y + dy
            ring.append((x, y))
        yield ring


def _area(ring: list[Vertex]) -> float:
    """The signed area of an outline, in hundredths; holes have the opposite orientation and count as negative."""
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)) / 2


def _coast(name: str, segments: list[Segment]) -> Coast:
    count: dict[Vertex, int] = defaultdict(int)
    for vertex in itertools.chain.from_iterable(segments):
        count[vertex] += 1
    return Coast(name, tuple(segments), frozenset(vertex for vertex, number in count.items() if number == 1))


def _connected(segments: Iterable[Segment]) -> list[list[Segment]]:
    """The segments in connected groups."""
    at: dict[Vertex, list[Segment]] = defaultdict(list)
    for segment in segments:
        for vertex in segment:
            at[vertex].append(segment)
    seen: set[Segment] = set()
    groups = []
    for first in segments:
        if first in seen:
            continue
        group, waiting = [], [first]
        seen.add(first)
        while waiting:
            segment = waiting.pop()
            group.append(segment)
            new = {other for vertex in segment for other in at[vertex]} - seen
            seen |= new
            waiting += sorted(new)
        groups.append(group)
    return groups


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)
