"""Make the map of the standard board: `python -m tools.atlas`. The same version of shapely gives the same bytes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.atlas.anchors import coast_places, place_all, sites_of
from tools.atlas.borders import report
from tools.atlas.coverage import exact_faces, merged, smoothed, without_strays
from tools.atlas.output import as_json, drawing_data
from tools.atlas.partition import partition
from tools.atlas.sources import country_rings, fetched_topology, read_sources
from welfare_env.board.loading import load_board

ATLAS = Path(__file__).resolve().parents[2] / "welfare_env" / "render" / "atlas" / "standard.json"


def drawn(topology: Path | None) -> str:
    """The drawing as JSON; the file of countries is downloaded unless given."""
    board, sources = load_board("standard"), read_sources()
    seas = [name for name in board.provinces if board.kind[name] == "sea"]
    texts = {name: name if name in seas else name.title() for name in board.provinces}
    pieces = partition(country_rings(fetched_topology(topology)), sources, seas)
    faces = smoothed(merged(without_strays(exact_faces(pieces), seas)), seas)
    coasts = coast_places(faces, sources.coasts)
    anchors = place_all(sites_of(faces, texts, board.centers), coasts, seas)
    return as_json(drawing_data(faces, anchors, coasts))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.atlas", description=__doc__)
    parser.add_argument("--countries", type=Path, help="countries-50m.json of world-atlas 2.0.2 (default: download it)")
    parser.add_argument("--out", type=Path, default=ATLAS)
    options = parser.parse_args()
    options.out.write_text(drawn(options.countries), encoding="utf-8")
    print(f"{options.out}: {options.out.stat().st_size} bytes")
    lines, wrong = report(options.out)
    print("\n".join(lines))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
