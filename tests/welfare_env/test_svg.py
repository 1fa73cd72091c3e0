"""Boards as SVG: stable ids and classes, every kind of order with its result, and hostile text shown as text."""

import xml.etree.ElementTree as ET

import pytest

from tests.playing import ordered
from welfare_env import Game, Rules, load_board
from welfare_env.render.drawing import drawing_of
from welfare_env.render.marks import units_layer
from welfare_env.render.orders import marks_layer, orders_layer
from welfare_env.render.phase import phase_svg
from welfare_env.render.svg import board_svg, map_layer

SVG = "{http://www.w3.org/2000/svg}"
BOARD = load_board("standard")
POWERS = BOARD.powers


@pytest.fixture(scope="module")
def standard():
    return drawing_of(BOARD)


def classes(svg):
    """Id -> classes of every element that has both."""
    return {e.get("id"): e.get("class", "").split() for e in ET.fromstring(svg).iter() if e.get("id")}  # noqa: S314


def orders_of(standard, orders, results=None, **more):
    """Class attributes and titles of the orders that are drawn."""
    layers = orders_layer(standard, POWERS, orders, results or {}), marks_layer(standard, orders, results or {}, **more)
    groups = [group for layer in layers for group in ET.fromstring(layer).findall("g")]  # noqa: S314
    return [(group.get("class"), group.findtext("title")) for group in groups]


def test_the_map_has_an_area_for_each_province_and_a_mark_for_each_center(standard):
    found = classes(map_layer(standard))
    assert {name for name in found if name.startswith("p-")} == {f"p-{name}" for name in BOARD.provinces}
    assert {name for name in found if name.startswith("c-")} == {f"c-{name}" for name in BOARD.centers}


def test_areas_and_centers_have_the_class_of_their_owner(standard):
    found = classes(map_layer(standard, POWERS, {"FRANCE": ["PAR"]}, {"FRANCE": ["PAR", "BUR"], "ITALY": ["ROM"]}))
    france, italy = (f"power-{POWERS.index(power)}" for power in ("FRANCE", "ITALY"))
    assert [france in found[name] for name in ("p-PAR", "c-PAR", "p-BUR", "p-GAS")] == [True, True, True, False]
    assert italy in found["p-ROM"]
    assert italy not in found["c-ROM"]


def test_units_have_shapes_letters_and_titles(standard):
    layer = ET.fromstring(units_layer(standard, POWERS, {"FRANCE": ["A PAR", "F SPA/SC"]}, {"ITALY": ["A MAR"]}))  # noqa: S314
    units = {group.get("id"): group for group in layer.findall("g")}
    assert set(units) == {"u-PAR", "u-SPA", "u-MAR-dislodged"}
    assert units["u-PAR"].find("path").get("d") != units["u-SPA"].find("path").get("d")
    assert [unit.findtext("text") for unit in units.values()] == ["F", "F", "I"]
    assert units["u-SPA"].findtext("title") == "Fleet of France in Spain, sc (SPA/SC)"
    assert "dislodged" in units["u-MAR-dislodged"].get("class").split()


@pytest.mark.parametrize(
    ("order", "words", "drawn"),
    [
        ("A PAR H", [], "order hold success"),
        ("A PAR - BUR", [], "order move success"),
        ("A PAR - BUR", ["bounce", "dislodged"], "order move bounce"),
        ("A PAR - BUR", ["void"], "order move void"),
        ("A BRE - LON VIA", ["no convoy"], "order move no-convoy"),
        ("A PAR S A MAR - BUR", ["cut"], "order support cut"),
        ("A PAR S A MAR", [], "order support success"),
        ("F ENG C A BRE - LON", ["disrupted"], "order convoy disrupted"),
        ("A PAR R BUR", ["bounce", "disband"], "order retreat disband"),
        ("A PAR D", [], "order disband success"),
        ("F STP/NC B", [], "order build success"),
    ],
)
def test_every_kind_of_order_has_its_classes(standard, order, words, drawn):
    unit = " ".join(order.split()[:2])
    found = orders_of(standard, {"FRANCE": [order]}, {unit: words})
    assert found[0] == (drawn, f"{order}: {', '.join(words) or 'succeeds'}")
    assert [name for name, _ in found[1:]] == ["dislodged-mark"] * ("dislodged" in words)


def test_a_refused_order_is_marked_at_its_unit(standard):
    refused = {"FRANCE": [("A PAR - MOS", "too far"), ("nonsense", "no order"), ("", ""), ("A XYZ H", "no place")]}
    assert orders_of(standard, {}, refused=refused) == [("refused", "refused: A PAR - MOS: too far")]


def test_hostile_text_is_shown_as_text(standard):
    """What XML does not allow is replaced, and long text cut."""
    nasty = "<script>alert(1)</script>\"&'\u202e"
    refused = marks_layer(standard, {}, {}, refused={"FRANCE": [(f"A PAR {nasty}", nasty)]})
    assert ET.fromstring(refused).findtext("g/title") == f"refused: A PAR {nasty}: {nasty}"  # noqa: S314
    for text in (nasty, "\0\x0b\x1b[31m\ud800\ufffe]]><!--", "x" * 100_000):
        svg = board_svg(standard, POWERS, {"FRANCE": ["A PAR"]}, {}, title=text, notes={"FRANCE": text})
        root = ET.fromstring(svg.encode())  # noqa: S314
        assert [e for e in root.iter() if e.tag in ("script", f"{SVG}script")] == []
        assert root.findtext(f"{SVG}title") == nasty or text != nasty
        assert len(svg) < 150_000


@pytest.mark.parametrize("name", ["clique:3", "standard"])
def test_a_game_on_any_board_is_well_formed_from_start_to_end(name):
    game = Game(name, Rules(years=1))
    while not game.is_done:
        ET.fromstring(phase_svg(ordered(game, {})))  # noqa: S314
    assert phase_svg(game) == phase_svg(game)
