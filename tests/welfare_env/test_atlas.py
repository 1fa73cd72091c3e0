"""The drawing of the standard board: borders as the board has them, and nothing lies on anything else."""

import copy
import itertools
import json
from importlib import resources

import pytest

from tools.atlas.borders import KINDS, Outlines, board_facts, drawn_facts, gaps
from tools.atlas.boxes import ASCENT, DESCENT, label_box, unit_box
from welfare_env import load_board
from welfare_env.render.drawing import drawing_of

FILE = resources.files("welfare_env.render").joinpath("atlas/standard.json")
EXCEPTIONS = {kind: set() for kind in KINDS}  # (a, b) that touch on paper only or on the board only: none
ROOM = 540  # pixels of the map's width on a replay in a window of 1280x800, where labels are to be read


@pytest.fixture(scope="module")
def data():
    return json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def drawing():
    return drawing_of(load_board("standard"))


def test_provinces_touch_exactly_where_the_board_says_so(data):
    board = load_board("standard")
    facts, drawn = board_facts(board), drawn_facts(Outlines(data), board)
    assert {kind: facts[kind] ^ drawn[kind] for kind in KINDS} == EXCEPTIONS
    assert [len(facts[kind]) for kind in KINDS] == [111, 21, 75, 45]  # 252 together


def test_the_areas_fill_the_frame_without_gaps_or_overlaps(data):
    assert gaps(Outlines(data)) == []


def test_a_wrong_border_would_be_seen(data):
    board, wrong = load_board("standard"), copy.deepcopy(data)
    provinces = wrong["provinces"]
    provinces["TUS"]["area"], provinces["UKR"]["area"] = provinces["UKR"]["area"], provinces["TUS"]["area"]
    drawn = drawn_facts(Outlines(wrong), board)
    assert ("PIE", "TUS") not in drawn["land-land"]
    assert ("PIE", "UKR") in drawn["land-land"]
    assert gaps(Outlines(wrong)) == []


def test_every_label_is_at_least_nine_pixels_high(drawing):
    heights = [(ASCENT + DESCENT) * p.label_size * ROOM / drawing.width for p in drawing.provinces.values()]
    assert len(heights) == 75
    assert min(heights) >= 9


def test_no_label_lies_on_another_nor_under_a_unit(drawing):
    labels = {p.name: label_box(p) for p in drawing.provinces.values()}
    units = [unit_box(spot) for spot in _unit_spots(drawing)]
    assert [(a, b) for a, b in itertools.combinations(labels, 2) if labels[a].overlaps(labels[b])] == []
    assert [name for name, label in labels.items() if any(label.overlaps(unit) for unit in units)] == []


def test_no_two_units_of_a_full_board_overlap(drawing):
    """A unit in every province and at every named coast, and a dislodged one beside each."""
    boxes = [unit_box(spot) for spot in _unit_spots(drawing)]
    boxes += [unit_box(p.dislodged, dislodged=True) for p in drawing.provinces.values()]
    assert len(boxes) == 75 + 6 + 75
    assert [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)] == []


def test_everything_lies_within_the_frame(drawing):
    boxes = [label_box(p) for p in drawing.provinces.values()] + [unit_box(spot) for spot in _unit_spots(drawing)]
    boxes += [unit_box(p.dislodged, dislodged=True) for p in drawing.provinces.values()]
    assert min(min(box.left, box.top) for box in boxes) >= 0
    assert max(box.right for box in boxes) <= drawing.width
    assert max(box.bottom for box in boxes) <= drawing.height


def _unit_spots(drawing):
    return [spot for p in drawing.provinces.values() for spot in (p.unit, *p.coasts.values())]
