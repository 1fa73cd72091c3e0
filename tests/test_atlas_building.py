"""The stages that draw the standard board, on small inputs; the whole needs a download, so it is not run here."""

import json
import math

import numpy as np
import pytest

shapely = pytest.importorskip("shapely")

from shapely.geometry import Point, Polygon, box  # noqa: E402 - skipped without shapely

from tools.atlas.anchors import Site, place_all  # noqa: E402
from tools.atlas.borders import Outlines, gaps, rings  # noqa: E402
from tools.atlas.boxes import unit_box  # noqa: E402
from tools.atlas.coverage import exact_faces, merged, smoothed, without_strays  # noqa: E402
from tools.atlas.output import area_path, as_json, border_lines  # noqa: E402
from tools.atlas.partition import Piece, partition  # noqa: E402
from tools.atlas.projection import FRAME, HEIGHT, WIDTH, project, spot  # noqa: E402
from tools.atlas.sources import Sources, country_rings, fetched_topology, read_sources  # noqa: E402
from welfare_env import load_board  # noqa: E402


def test_what_was_typed_by_hand_names_provinces_of_the_board():
    sources, board = read_sources(), load_board("standard")
    provinces = set(board.provinces)
    assert set(sources.seeds) == provinces
    assert {name for claims in sources.claims.values() for name in claims} <= provinces
    assert set(sources.islands) - {"impassable"} <= provinces
    assert set(sources.coasts) == {place for place in board.locations if "/" in place}


def test_north_is_up_east_is_right_and_the_frame_holds_the_board():
    (x, y), (east, _), (_, north) = project([(14, 50), (15, 50), (14, 51)])
    assert (east > x, north < y) == (True, True)
    assert all(FRAME.contains(spot(point)) for point in read_sources().coasts.values())


def test_the_projection_does_not_fold():
    """Neighboring points keep their orientation everywhere: who touches whom cannot change."""
    for lon in range(-25, 46, 3):
        for lat in range(28, 72, 3):
            (x, y), (a, b), (c, d) = project([(lon, lat), (lon + 0.5, lat), (lon, lat + 0.5)])
            assert (a - x) * (d - y) - (b - y) * (c - x) < 0, (lon, lat)


def test_another_file_of_countries_is_refused(tmp_path):
    file = tmp_path / "countries.json"
    file.write_text("{}")
    with pytest.raises(SystemExit, match="SHA-256"):
        fetched_topology(file)


def test_arcs_are_joined_to_rings_forwards_and_backwards():
    arcs = [[[0, 0], [10, 0], [0, 10]], [[0, 0], [0, 10], [10, 0]]]  # two ways from (0, 0) to (10, 10)
    shape = {"type": "Polygon", "arcs": [[0, -2]], "properties": {"name": "Square"}}
    topology = {
        "transform": {"scale": [1, 1], "translate": [0, 0]},
        "arcs": arcs,
        "objects": {"countries": {"geometries": [shape]}},
    }
    [[ring]] = country_rings(topology)["Square"]
    assert Polygon(ring).equals(box(0, 0, 10, 10))


@pytest.fixture
def small_world():
    """A country of two provinces with a strait, and two seas."""
    sources = Sources(
        seeds={"ONE": [(10, 50)], "TWO": [(20, 50)], "WET": [(-5, 50)], "SEA": [(40, 50)]},
        claims={"Land": ["ONE", "TWO"]},
        islands={},
        straits={},
        coasts={},
    )
    square = np.array([(5, 45), (25, 45), (25, 55), (5, 55)], float)
    return {"Land": [[square]]}, sources


def test_a_small_world_is_divided_without_gaps(small_world):
    countries, sources = small_world
    pieces = partition(countries, sources, ["WET", "SEA"])
    assert {piece.label for piece in pieces} == {"ONE", "TWO", "WET", "SEA"}
    assert sum(piece.area.area for piece in pieces) == pytest.approx(FRAME.area)
    faces = smoothed(merged(without_strays(exact_faces(pieces), ["WET", "SEA"])), ["WET", "SEA"])
    provinces = {name: {"area": area_path(area)} for name, area in faces.items()}
    data = {"provinces": provinces, "impassable": "", "open_water": "", "width": WIDTH, "height": HEIGHT}
    outlines = Outlines(data)
    assert gaps(outlines) == []
    assert outlines.touch("ONE", "TWO")
    assert outlines.touch("WET", "SEA")
    assert not outlines.touch("ONE", "SEA")
    land, sea = border_lines(faces, ["WET", "SEA"])
    assert (len(land), len(sea)) == (1, 2)  # above and below the land


def test_slivers_and_stray_parts_go_to_their_longest_neighbor():
    faces = [Piece("ONE", box(0, 0, 100, 100)), Piece("TWO", box(100, 0, 200, 100)), Piece("TWO", box(0, 100, 9, 110))]
    labels = [face.label for face in without_strays(faces, [])]
    assert labels == ["ONE", "TWO", "ONE"]


def test_path_data_say_what_the_area_is():
    area = Polygon([(0, 0), (10.5, 0.3), (10.5, 10), (0.2, 9.9)], [[(3, 3), (4, 3), (4, 4)]])
    outside, inside = rings(area_path(area))
    assert Polygon(outside, [inside]).area / 100 == pytest.approx(area.area)
    assert " 0." not in area_path(area)


def test_json_has_a_line_for_each_province():
    text = as_json({"width": 1, "provinces": {"ONE": {"area": "M0 0z"}, "TWO": {"area": "M1 1z"}}})
    assert json.loads(text)["provinces"]["TWO"] == {"area": "M1 1z"}
    assert sum(line.lstrip().startswith(('"ONE"', '"TWO"')) for line in text.splitlines()) == 2


def test_anchors_lie_within_their_province_and_apart():
    sites = [Site("ONE", "One", True, box(100, 100, 200, 200)), Site("TWO", "Two", False, box(200, 100, 300, 200))]
    anchors = place_all(sites, {"ONE/NC": (150.0, 120.0)}, [])
    assert all(site.area.contains(Point(anchors[site.name]["unit"])) for site in sites)
    assert math.dist(anchors["ONE"]["unit"], anchors["ONE"]["dislodged"]) > 15
    assert not unit_box(anchors["ONE"]["unit"]).overlaps(unit_box((150, 120)))
    marks = [anchors[name]["center"] for name in ("ONE", "TWO")]  # boards differ in who has a center
    assert math.dist(marks[0], anchors["ONE"]["label"]) < 40 > math.dist(marks[1], anchors["TWO"]["label"])
