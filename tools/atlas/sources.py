"""The drawing's sources: points set by hand, the board, and the countries of the world.

The countries are Natural Earth 4.1 at 1:50m, in the public domain, as TopoJSON by world-atlas 2.0.2 (ISC).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "world-atlas@2.0.2"
MEMBER = "package/countries-50m.json"
SHA256 = "04342cdc1e3016bcd7db1630de95684d67b79fe3c8c460321e87aef469502394"

LonLat = tuple[float, float]
Ring = np.ndarray  # float [points, 2], longitude and latitude
IMPASSABLE = "#"  # label of impassable land


@dataclass(frozen=True)
class Sources:
    """The points set by hand in `sources.json`, which explains each part."""

    seeds: Mapping[str, list[LonLat]]
    claims: Mapping[str, list[str]]
    islands: Mapping[str, list[LonLat]]
    straits: Mapping[str, list[LonLat]]
    coasts: Mapping[str, LonLat]


def read_sources() -> Sources:
    data = json.loads(Path(__file__).with_name("sources.json").read_text("utf-8"))
    del data["about"]
    return Sources(**data)


def fetched_topology(file: Path | None) -> dict[str, Any]:
    """The countries as TopoJSON, from a file or from npm; other versions are refused."""
    content = file.read_bytes() if file else _from_npm()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{file or PACKAGE}: its SHA-256 is {found}, not {SHA256}")
    return json.loads(content)


def _from_npm() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", PACKAGE]  # the user's npm
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            member = archive.extractfile(MEMBER)
            if member is None:
                raise SystemExit(f"{PACKAGE} has no file {MEMBER}")
            return member.read()


def country_rings(topology: Mapping[str, Any]) -> dict[str, list[list[Ring]]]:
    """Country -> its polygons, each an outline and the outlines of its holes."""
    scale, shift = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = [np.cumsum(np.array(arc, float), 0) * scale + shift for arc in topology["arcs"]]
    countries: dict[str, list[list[Ring]]] = {}
    for shape in topology["objects"]["countries"]["geometries"]:
        polygons = [shape["arcs"]] if shape["type"] == "Polygon" else shape.get("arcs", [])
        rings = [[_ring(arcs, ids) for ids in polygon] for polygon in polygons]
        countries.setdefault(shape["properties"]["name"], []).extend(rings)
    return countries


def _ring(arcs: list[np.ndarray], ids: list[int]) -> Ring:
    """Join arcs; a negative id is a reversed arc. Russia's far east has longitudes beyond 180 degrees."""
    parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ids]
    ring = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
    if np.ptp(ring[:, 0]) > 300:
        ring[ring[:, 0] < -60, 0] += 360
    return ring
