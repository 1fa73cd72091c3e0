"""Drawings of boards: the standard one with its own borders, graphs for others, and nothing lies on anything else."""

import itertools
import json
import math
import re
from importlib import resources

import pytest

from tools.atlas.borders import KINDS, Outlines, board_facts, drawn_facts, gaps
from tools.atlas.boxes import ASCENT, DESCENT, Box, label_box, unit_box
from welfare_env import load_board
from welfare_env.render.curves import Curve, straight
from welfare_env.render.drawing import CLOSEST, RADIUS, drawing_of, graph_drawing
from welfare_env.render.orders import _between_units, orders_layer

FILE = resources.files("welfare_env.render").joinpath("atlas/standard.json")
ROOM = 540  # pixels of the map's width on a replay in a window of 1280x800, where labels are to be read
TOY = "shared-clique:20"
GRAPHS = ["ancmed", TOY]


@pytest.fixture(scope="module")
def data():
    return json.loads(FILE.read_text("utf-8"))


def boxes_of(drawing):
    """Labels, units (one in every province and at every named coast) and dislodged units: name -> box, of each."""
    provinces = drawing.provinces.values()
    units = {p.name: unit_box(p.unit) for p in provinces}
    units |= {place: unit_box(at) for p in provinces for place, at in p.coasts.items()}
    dislodged = {f"dislodged in {p.name}": unit_box(p.dislodged, dislodged=True) for p in provinces}
    return {f"label of {p.name}": label_box(p) for p in provinces}, units, dislodged


def overlapping(boxes, others=None):
    pairs = itertools.combinations(boxes, 2) if others is None else itertools.product(boxes, others)
    return [(a, b) for a, b in pairs if boxes[a].overlaps((boxes if others is None else others)[b])]


# The standard board


def test_provinces_touch_exactly_where_the_board_says_so_without_gaps(data):
    board = load_board("standard")
    facts, drawn = board_facts(board), drawn_facts(Outlines(data), board)
    assert facts == drawn
    assert [len(facts[kind]) for kind in KINDS] == [111, 21, 75, 45]  # 252 together
    assert gaps(Outlines(data)) == []


def test_every_label_is_at_least_nine_pixels_high():
    drawing = drawing_of(load_board("standard"))
    assert min((ASCENT + DESCENT) * p.label_size * ROOM / drawing.width for p in drawing.provinces.values()) >= 9


def test_on_a_full_board_no_label_or_unit_lies_on_another_or_outside():
    drawing = drawing_of(load_board("standard"))
    labels, units, dislodged = boxes_of(drawing)
    assert (len(labels), len(units), len(dislodged)) == (75, 75 + 6, 75)
    assert overlapping(labels) == overlapping(labels, units) == overlapping(units | dislodged) == []
    boxes = [*labels.values(), *units.values(), *dislodged.values()]
    assert min(min(box.left, box.top) for box in boxes) >= 0
    assert max(box.right for box in boxes) <= drawing.width
    assert max(box.bottom for box in boxes) <= drawing.height


def test_new_centers_have_marks_that_lie_on_nothing_else(tmp_path):
    """On the standard board with every province a center."""
    standard = load_board("standard")
    text = resources.files("diplomacy").joinpath("maps/standard.map").read_text()
    more = " ".join(sorted(set(standard.provinces) - set(standard.centers)))
    (tmp_path / "rich.map").write_text(text.replace("\nUNOWNED ", f"\nUNOWNED {more} ", 1))
    board = load_board(str(tmp_path / "rich.map"))
    assert set(board.centers) == set(board.provinces)
    usual, drawing = drawing_of(standard), drawing_of(board)
    assert drawing.edges == ()
    spots = {p.name: p.center for p in drawing.provinces.values()}
    marks = {name: Box(x - 6.4, y - 6.4, x + 6.4, y + 6.4) for name, (x, y) in spots.items()}
    labels, units, dislodged = boxes_of(drawing)
    assert overlapping(marks) == overlapping(marks, labels | units | dislodged) == []
    assert min(min(mark.left, mark.top) for mark in marks.values()) >= 0
    assert all(spots[name] == p.center for name, p in usual.provinces.items() if p.center)


# Graphs


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_has_a_line_for_each_border_and_no_two_discs_touch(name):
    board = load_board(name)
    steps = {frozenset((piece[2:5], place[:3])) for piece, places in board.moves.items() for place in places}
    drawing = graph_drawing(board)
    assert {frozenset((edge.a, edge.b)) for edge in drawing.edges} == steps
    assert set(drawing.provinces) == set(board.provinces)
    spots = [province.middle for province in drawing.provinces.values()]
    assert min(math.dist(a, b) for a, b in itertools.combinations(spots, 2)) > CLOSEST - 0.2 > 2 * RADIUS
    assert min(min(spot) for spot in spots) > RADIUS
    assert max(x for x, _ in spots) < drawing.width - RADIUS
    assert max(y for _, y in spots) < drawing.height - RADIUS


@pytest.mark.parametrize("name", GRAPHS)
def test_unit_dislodged_unit_and_label_have_room_in_their_disc(name):
    for province in graph_drawing(load_board(name)).provinces.values():
        boxes = [unit_box(province.unit), unit_box(province.dislodged, dislodged=True), label_box(province)]
        assert overlapping(dict(enumerate(boxes))) == []
        x, y = province.middle
        disc = Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS)
        assert all(disc.left < b.left and b.right < disc.right for b in boxes)
        assert all(disc.top < b.top and b.bottom < disc.bottom for b in boxes)


def test_no_arrow_of_a_graph_crosses_a_label():
    """Every move, one at a time, failed or not: lines end at the edge of a disc."""
    board = load_board(TOY)
    drawing = graph_drawing(board)
    labels, _, _ = boxes_of(drawing)
    steps = {(piece[2:], place) for piece, places in board.moves.items() for place in places}
    for start, end in sorted(steps)[:: max(1, len(steps) // 60)]:
        layer = orders_layer(drawing, ["X"], {"X": [f"A {start} - {end}"]}, {})
        path = re.search(r'class="line" d="M([^"]+)"', layer)[1]
        points = tuple(tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path))
        along = {step: Box(x, y, x, y) for step, (x, y) in enumerate(Curve(points).at(n / 16) for n in range(17))}
        assert overlapping(along, labels) == []


def test_the_points_of_a_straight_curve() -> None:
    line = straight((30.0, 0.0), (330.0, 60.0))
    assert [line.at(t) for t in (0, 0.25, 0.5, 1)] == [(30, 0), (105, 15), (180, 30), (330, 60)]


def test_the_line_of_a_support_begins_at_the_unit_that_gives_it() -> None:
    drawing = drawing_of(load_board("standard"))
    layer = orders_layer(drawing, ["FRANCE"], {"FRANCE": ["A PAR S A MAR - BUR"]}, {})
    ends = re.findall(r"(-?[\d.]+) (-?[\d.]+)", re.search(r' d="M([^"]+)"', layer)[1])
    first, last = (math.dist(map(float, ends[at]), drawing.end("PAR")) for at in (0, -1))
    assert first == pytest.approx(drawing.clear, abs=2)
    assert last > 2 * first


def test_the_line_of_a_move_that_fails_ends_before_that_of_one_that_succeeds() -> None:
    way = Curve(((0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (300.0, 0.0)))
    ends = [_between_units(way, 20.0, outcome).points[-1][0] for outcome in ("success", "bounce")]
    assert ends == pytest.approx([280, 272], abs=0.5)
