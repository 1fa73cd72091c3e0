"""The stages that draw the standard board, on small inputs; the whole needs a download, so it is not run here."""

import numpy as np
import pytest

shapely = pytest.importorskip("shapely")


from tools.atlas.borders import Outlines, gaps  # noqa: E402
from tools.atlas.coverage import exact_faces, merged, smoothed, without_strays  # noqa: E402
from tools.atlas.output import area_path, border_lines  # noqa: E402
from tools.atlas.partition import partition  # noqa: E402
from tools.atlas.projection import FRAME, HEIGHT, WIDTH, project  # noqa: E402
from tools.atlas.sources import Sources, fetched_topology, read_sources  # noqa: E402
from welfare_env import load_board  # noqa: E402


def test_what_was_typed_by_hand_names_provinces_of_the_board():
    sources, board = read_sources(), load_board("standard")
    provinces = set(board.provinces)
    assert set(sources.seeds) == provinces
    assert {name for claims in sources.claims.values() for name in claims} <= provinces
    assert set(sources.islands) - {"impassable"} <= provinces
    assert set(sources.coasts) == {place for place in board.locations if "/" in place}


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


def test_a_small_world_is_divided_without_gaps():
    """A country of two provinces, and two seas."""
    seeds = {"ONE": [(10, 50)], "TWO": [(20, 50)], "WET": [(-5, 50)], "SEA": [(40, 50)]}
    sources = Sources(seeds=seeds, claims={"Land": ["ONE", "TWO"]}, islands={}, straits={}, coasts={})
    square = np.array([(5, 45), (25, 45), (25, 55), (5, 55)], float)
    pieces = partition({"Land": [[square]]}, sources, ["WET", "SEA"])
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
