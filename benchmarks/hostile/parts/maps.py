"""Maps: damaged `.map` files, and names of boards."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled, nonsense, pick
from welfare_env import Game, Rules, load_board
from welfare_env.board import loading as mapfile
from welfare_env.board.toy_boards import toy_map
from welfare_env.errors import MapFormatError, UnknownMapError

FOLDER = Path(tempfile.mkdtemp(prefix="welfare-env-hostile-"))
os.environ["XDG_CACHE_HOME"] = str(FOLDER)  # no board of these is worth keeping
ISLE = """\
VICTORY 4
BEGIN SPRING 1901 MOVEMENT

ALBION (ALBIONIC) LON EDI
F LON
A EDI

GALLIA (GALLIC) PAR BRE
A PAR
F BRE

UNOWNED SPA BEL

Belgium = bel belg
Brest = bre
Channel = cha eng+ch
Edinburgh = edi
London = lon
Ocean = oce
Paris = par
Spain (north coast) = spa/nc
Spain (south coast) = spa/sc
Spain = spa

COAST BEL ABUTS CHA PAR
COAST BRE ABUTS CHA OCE PAR SPA/NC SPA/SC
WATER CHA ABUTS BEL BRE EDI LON OCE
COAST EDI ABUTS CHA LON
COAST LON ABUTS CHA EDI OCE
WATER OCE ABUTS BRE CHA LON SPA/NC SPA/SC
LAND PAR ABUTS BEL BRE SPA
COAST SPA/NC ABUTS BRE OCE
COAST SPA/SC ABUTS BRE OCE
COAST spa ABUTS BRE OCE PAR
"""
SOURCES = (ISLE, toy_map("clique:3"))
WORDS = (
    "LAND", "COAST", "WATER", "PORT", "SHUT", "AMEND", "ABUTS", "PAR", "bel", "SPA/NC", "spa", "LONG", "=",
    "->", "A", "F", "UNOWNED", "DROP", "OWNS", "CENTERS", "HOME", "INHABITS", "UNITS", "DUMMY", "DUMMIES",
    "ALL", "EXCEPT", "UNPLAYED", "ALBION", "RULE", "BUILD_ANY", "VICTORY", "BEGIN", "MAP", "USE", "pure",
    "/dev/zero", "9999999999", "-", "-PAR", "(", ")", "(X:Y)", "#", "%s", "NEUTRAL", "OCE",
)  # fmt: skip
NAMES = (
    "purest",
    "pure",
    "clique:4",
    "shared-clique:3",
    "own.map",
    "world.map",
    "../standard",
    "clique:" + "9" * 5000,
    "x" * 300 + ".map",
)


def _map(rng: np.random.Generator) -> str:
    text = pick(rng, SOURCES)
    if rng.random() < 0.3:
        return mangled(rng, text)
    lines = text.split("\n")
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(lines)))
        words = lines[at].split(" ")
        place = int(rng.integers(len(words)))
        match int(rng.integers(4)):
            case 0:
                words[place] = pick(rng, WORDS)
            case 1:
                words.insert(place, pick(rng, WORDS))
            case 2:
                del words[place]
            case _:
                lines.append(nonsense(rng, WORDS, 8).replace(",", " "))
        lines[at] = " ".join(words)
    return "\n".join(lines)


def _play(text: str) -> None:
    """What is a map can be played, and all its legal orders be given, by both engines."""
    path = FOLDER / f"{os.getpid()}.map"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        for engine in ("fast", "reference"):
            game = Game(str(path), Rules(years=1), engine=engine)
            while not game.is_done:
                for power in game.powers:
                    orders = [choices[-1] for choices in game.legal_orders(power).values()]
                    game.submit(power, [] if game.phase.endswith("A") else orders)
                game.advance()
    except MapFormatError as error:
        if "%" in str(error) and "%" not in text and "%" not in str(path):
            raise Broken(f"a template, not a text: {error}") from error
        raise
    finally:
        mapfile._load_source.cache_clear()
        mapfile._load_board.cache_clear()


def _name(rng: np.random.Generator) -> object:
    _warm_up()
    return mangled(rng, pick(rng, NAMES)) if rng.random() < 0.7 else junk(rng)


@functools.cache
def _warm_up() -> None:
    """The first time a large map takes up to a minute, by its documentation."""
    for name in ("world", "known_world_901"):
        load_board(name)


def _load(name: object) -> None:
    load_board(name)  # type: ignore[arg-type]


DOORS = [
    Door("a map file", _map, _play, (MapFormatError,), 8_000),
    Door("load_board", _name, _load, (UnknownMapError, MapFormatError), 20_000),
]
