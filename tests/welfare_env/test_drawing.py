"""Drawings of boards: which board gets which, and graphs without discs on each other."""

import itertools
import math
import re
from importlib import resources

import numpy as np
import pytest

from tools.atlas.boxes import Box, label_box, unit_box
from welfare_env import load_board
from welfare_env.render.curves import Curve
from welfare_env.render.drawing import CLOSEST, RADIUS, drawing_of, graph_drawing
from welfare_env.render.orders import orders_layer

TOY = "shared-clique:20"
GRAPHS = ["ancmed", TOY]


@pytest.mark.parametrize("name", ["standard", "standard_fleet_rome"])
def test_boards_with_the_standard_borders_are_drawn_as_the_standard_one(name):
    board = load_board(name)
    drawing = drawing_of(board)
    assert drawing.edges == ()
    assert set(drawing.provinces) == set(board.provinces)
    assert {p.name for p in drawing.provinces.values() if p.center} == set(board.centers)


def _all_centers(tmp_path):
    """The standard board, but every province is a center."""
    standard = load_board("standard")
    text = resources.files("diplomacy").joinpath("maps/standard.map").read_text()
    file = tmp_path / "rich.map"
    more = " ".join(sorted(set(standard.provinces) - set(standard.centers)))
    file.write_text(text.replace("\nUNOWNED ", f"\nUNOWNED {more} ", 1))
    board = load_board(str(file))
    assert set(board.centers) == set(board.provinces)
    return board


def test_new_centers_have_marks_that_lie_on_nothing_else(tmp_path):
    usual, drawing = drawing_of(load_board("standard")), drawing_of(_all_centers(tmp_path))
    assert drawing.edges == ()
    marks = {
        p.name: Box(p.center[0] - 6.4, p.center[1] - 6.4, p.center[0] + 6.4, p.center[1] + 6.4)
        for p in drawing.provinces.values()
    }
    boxes = {f"label of {p.name}": label_box(p) for p in drawing.provinces.values()}
    boxes |= {f"unit in {p.name}": unit_box(p.unit) for p in drawing.provinces.values()}
    boxes |= {f"fleet at {place}": unit_box(at) for p in drawing.provinces.values() for place, at in p.coasts.items()}
    boxes |= {f"dislodged in {p.name}": unit_box(p.dislodged, dislodged=True) for p in drawing.provinces.values()}
    assert [(name, what) for name, mark in marks.items() for what, box in boxes.items() if mark.overlaps(box)] == []
    assert [pair for pair in itertools.combinations(marks, 2) if marks[pair[0]].overlaps(marks[pair[1]])] == []
    assert min(min(mark.left, mark.top) for mark in marks.values()) >= 0
    assert all(drawing.provinces[name].center == p.center for name, p in usual.provinces.items() if p.center)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_has_a_line_for_each_border(name):
    board = load_board(name)
    steps = {frozenset((piece[2:5], place[:3])) for piece, places in board.moves.items() for place in places}
    drawing = graph_drawing(board)
    assert {frozenset((edge.a, edge.b)) for edge in drawing.edges} == steps
    assert set(drawing.provinces) == set(board.provinces)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_two_discs_of_a_graph_touch(name):
    drawing = graph_drawing(load_board(name))
    spots = [_middle(p) for p in drawing.provinces.values()]
    assert min(math.dist(a, b) for a, b in itertools.combinations(spots, 2)) > CLOSEST - 0.2 > 2 * RADIUS
    assert min(min(spot) for spot in spots) > RADIUS
    assert max(x for x, _ in spots) < drawing.width - RADIUS
    assert max(y for _, y in spots) < drawing.height - RADIUS


@pytest.mark.parametrize("name", GRAPHS)
def test_unit_dislodged_unit_and_label_have_room_in_their_disc(name):
    for province in graph_drawing(load_board(name)).provinces.values():
        boxes = [unit_box(province.unit), unit_box(province.dislodged, dislodged=True), label_box(province)]
        assert [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])] == []
        x, y = _middle(province)
        assert all(
            x - RADIUS < b.left and b.right < x + RADIUS and y - RADIUS < b.top and b.bottom < y + RADIUS for b in boxes
        )


def test_on_a_toy_board_cores_are_on_a_circle_and_leaves_outside():
    drawing = graph_drawing(load_board(TOY))
    spots = {p.name: np.array(_middle(p)) for p in drawing.provinces.values()}
    middle = np.mean([spot for name, spot in spots.items() if name[0] == "C"], 0)
    away = {name: float(np.linalg.norm(spot - middle)) for name, spot in spots.items()}
    cores = [length for name, length in away.items() if name[0] == "C"]
    assert max(cores) - min(cores) < 0.3
    assert min(length for name, length in away.items() if name[0] == "H") > max(cores) + 20


def test_no_arrow_of_a_graph_crosses_a_label():
    """Every move, one at a time, failed or not: lines end at the edge of a disc."""
    board = load_board(TOY)
    drawing = graph_drawing(board)
    labels = [label_box(province) for province in drawing.provinces.values()]
    steps = {(piece[2:], place) for piece, places in board.moves.items() for place in places}
    for start, end in sorted(steps)[:: max(1, len(steps) // 60)]:
        layer = orders_layer(drawing, ["X"], {"X": [f"A {start} - {end}"]}, {})
        path = re.search(r'class="line" d="M([^"]+)"', layer)[1]
        points = tuple(tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path))
        assert not any(
            box.overlaps(Box(x, y, x, y))
            for x, y in (Curve(points).at(step / 16) for step in range(17))
            for box in labels
        )


def _middle(province):
    return province.middle
