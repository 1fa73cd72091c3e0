"""Boards: all maps that are installed, maps of one's own, maps with faults, what is kept on disk; and their orders."""

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diplomacy
import numpy as np
import pytest
from diplomacy.utils import convoy_paths

import welfare_env
from tests.processes import python
from tests.welfare_env.positions import play_on
from welfare_env import Game, MapFormatError, RecordError, Rules, UnknownMapError, load_board, map_names
from welfare_env.board import cache, map_file
from welfare_env.board.map_file import load_source
from welfare_env.board.maps import LARGEST_FILE
from welfare_env.board.orders import CONVOY, GIVE, MOVE, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA, WAIVE

MAPS = Path(diplomacy.__file__).parent / "maps"
QUICK = {"ancmed", "pure", "standard"}
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in map_names()]

# A map of our own: two powers, land, coasts, a sea, and a province with two coasts.
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

Belgium = bel
Brest = bre
Channel = cha
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


@pytest.fixture
def isle(tmp_path: Path) -> Callable[..., str]:
    """``isle(old, new)``: the path of our own map, changed in one place."""

    def write(old: str = "", new: str = "") -> str:
        assert old in ISLE
        path = tmp_path / "isle.map"
        path.write_text(ISLE.replace(old, new, 1), encoding="utf-8")
        return str(path)

    return write


class TestInstalled:
    def test_names(self) -> None:
        assert map_names() == tuple(sorted(path.stem for path in MAPS.glob("*.map")))

    @pytest.mark.parametrize("name", NAMES)
    def test_boards_are_what_their_maps_say(self, name: str) -> None:
        board, theirs = load_board(name), diplomacy.Map(name)
        places = [place.upper() for place in theirs.locs]
        assert set(board.provinces) == {place[:3] for place in places if theirs.area_type(place) != "SHUT"}
        assert (set(board.powers), set(board.centers)) == (set(theirs.powers), set(theirs.scs))
        rules = board.first_year, board.victory, board.build_anywhere
        assert rules == (theirs.first_year, len(theirs.scs) // 2 + 1, "BUILD_ANY" in theirs.rules)
        for index, piece in enumerate(board.pieces):
            assert board.provinces[board.piece_province[index]] == piece[2:5]
            assert board.locations[board.piece_location[index]] == piece[2:]
            assert "AF"[board.piece_type[index]] == piece[0]
        for index, center in enumerate(board.centers):
            assert board.provinces[board.center_province[index]] == center
            assert board.province_center[board.center_province[index]] == index
            owner = board.home_power[index]
            assert (owner >= 0) == any(center in homes for homes in board.homes.values())
            assert owner < 0 or center in board.homes[board.powers[owner]]
        steps = {(piece[0], piece[2:5], to[:3]) for piece, reached in board.moves.items() for to in reached}
        assert steps == {(kind, end, start) for kind, start, end in steps}
        game = Game(name, Rules(years=1))
        assert (game.phase, game.units) == (f"S{board.first_year:04d}M", board.start_units)

    def test_a_board_cannot_be_changed(self) -> None:
        board = load_board("pure")
        for table in ("kind", "homes", "start_units", "start_centers", "moves", "supports", "long_names"):
            with pytest.raises(TypeError):
                getattr(board, table)["PAR"] = ()
        with pytest.raises(AttributeError):
            board.kind = {}
        with pytest.raises(ValueError, match="read-only"):
            board.piece_province[0] = 1

    def test_a_board_is_read_once_and_shared(self) -> None:
        assert load_board("pure") is load_board("pure")
        assert pickle.loads(pickle.dumps(load_board("pure"))) is load_board("pure")  # noqa: S301


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize(("shape", "more"), [("clique", 0), ("shared-clique", 1)])
def test_toy_boards_are_cores_that_border_each_other_and_a_home_on_each(shape: str, more: int, size: int) -> None:
    """G_n and G'_n of the paper's section 3.2."""
    board = load_board(f"{shape}:{size}")
    homes = [home for homes in board.homes.values() for home in homes]
    cores = [province for province in board.provinces if province not in homes]
    assert (len(board.powers), len(homes), len(cores)) == (size + more, size + more, size)
    assert set(board.centers) == set(board.provinces)
    assert set(board.kind.values()) == {"land"}
    for core in cores:
        assert set(cores) - {core} <= set(board.moves[f"A {core}"])
    of_home = [board.moves[f"A {home}"] for home in homes]
    assert all(len(reached) == 1 and reached[0] in cores for reached in of_home)
    shared = [core for core in cores if of_home.count((core,)) == 2]
    assert len(shared) == more
    assert all(units == (f"A {board.homes[power][0]}",) for power, units in board.start_units.items())


class TestOwnMaps:
    def test_is_read_from_its_path(self, isle: Callable[..., str]) -> None:
        board = load_board(isle())
        assert (board.powers, board.victory) == (("ALBION", "GALLIA"), 4)
        assert board.moves["F BRE"] == ("CHA", "OCE", "SPA/NC", "SPA/SC")
        coasts, seas = ("BEL", "BRE", "EDI", "LON", "SPA"), ("CHA", "OCE")
        assert board.kind == dict.fromkeys(coasts, "coast") | dict.fromkeys(seas, "sea") | {"PAR": "land"}
        assert "A EDI - BEL VIA" in board.orders.index

    def test_can_be_played_saved_and_loaded(self, isle: Callable[..., str], tmp_path: Path) -> None:
        game, path = play_on(Game(isle(), Rules(years=3)), np.random.default_rng(0)), tmp_path / "game.json"
        game.save(path)
        assert Game.load(path, map_name=isle()).record() == game.record()
        for other in (None, "standard", isle("VICTORY 4", "VICTORY 5")):  # a saved game chooses no file to read
            with pytest.raises(RecordError, match="map"):
                Game.load(path, map_name=other)

    def test_a_changed_file_is_read_anew(self, isle: Callable[..., str]) -> None:
        board = load_board(isle())
        sent = pickle.dumps(board)
        env = welfare_env.parallel_env(board, years=1, press=None)
        assert load_board(isle("VICTORY 4", "VICTORY 5")).victory == 5
        env.reset()
        assert env.game.board is env.board is board
        for again in (lambda: pickle.loads(sent), lambda: Game(board, engine="reference")):  # noqa: S301
            with pytest.raises(MapFormatError, match="isle"):
                again()

    def test_a_board_stands_for_its_map(self) -> None:
        board = load_board("clique:3")
        env = welfare_env.make(board, engine="reference")
        env.reset()
        games = [Game(board), env.unwrapped.game, Game.from_position("S1901M", {}, {}, map_name=board)]
        assert all(each.board is board for each in (*games, welfare_env.vector_env(1, board)))


class TestFaults:
    def test_unknown_maps(self) -> None:
        names: list[Any] = ["", "Standard", "../standard", "nowhere/x.map", "\0.map", "/etc/passwd", "\ud800.map"]
        names += ["clique", "clique:1", "clique:1e3", "clique:\u0663", "clique:" + "9" * 5000, "x" * 300 + ".map"]
        for name in [*names, None, 5, b"standard", ["standard"], Path("standard")]:
            with pytest.raises(UnknownMapError) as error:
                load_board(name)
            assert len(str(error.value)) < 1000

    def test_no_map_in_the_file(self, tmp_path: Path) -> None:
        for content in (b"", bytes(range(256)), b"BEGIN SPRING 1901 MOVEMENT\n", b"#" * (LARGEST_FILE + 1)):
            (tmp_path / "wrong.map").write_bytes(content)
            with pytest.raises(MapFormatError, match=r"wrong\.map"):
                load_board(str(tmp_path / "wrong.map"))

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN FALL 1901 MOVEMENT", "FALL"),
            ("VICTORY 4", "RULE NO_CHECK", "NO_CHECK"),
            ("VICTORY 4", "A BEL", "UNIT BEFORE POWER"),
            ("A PAR\n", "F PAR\n", "F PAR"),
            ("UNOWNED SPA BEL", "UNOWNED SPA XYZ", "XYZ"),
            ("LAND PAR ABUTS BEL BRE SPA", "LAND PAR ABUTS BEL BRE", "PAR"),
            ("LAND PAR ABUTS BEL BRE SPA", "LAND PAR ABUTS BEL BRES SPA", "LINE 31: 'BRES' IS NOT A PLACE"),
            ("COAST SPA/NC ABUTS", "WATER SPA/NC ABUTS", "SPA IS WATER AND COAST"),
            ("GALLIA (GALLIC) PAR BRE\nA PAR\nF BRE", "", "TWO POWERS"),
            ("VICTORY 4", "MAP nowhere", "INSTALLED"),
        ],
    )
    def test_faults_are_told(self, isle, capfd, old, new, told) -> None:
        with pytest.raises(MapFormatError, match=r"isle\.map") as error:
            load_board(isle(old, new))
        assert told in str(error.value).upper()
        assert len(str(error.value)) < 3000
        assert capfd.readouterr() == ("", "")

    def test_a_file_in_the_working_folder_does_not_stand_for_an_installed_map(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isle: Callable[..., str]
    ) -> None:
        (tmp_path / "standard.map").write_text(ISLE, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        map_file._read_source.cache_clear()
        assert len(load_source(load_board("standard")).powers) == 7
        Path(isle()).write_text("MAP standard.map\n")
        assert len(load_board(str(tmp_path / "isle.map")).powers) == 7


class TestConvoys:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["standard", "ancmed", "modern"])
    def test_routes_are_those_of_the_package(self, name: str) -> None:
        theirs = convoy_paths.add_to_cache(name)
        rows = [row for length in sorted(theirs) for row in theirs[length]]
        assert list(load_board(name).convoys) == [(start, frozenset(a), frozenset(b)) for start, a, b in rows]

    @pytest.mark.slow
    @pytest.mark.parametrize("engine", ["fast", "reference"])
    def test_the_packages_pickle_is_neither_read_nor_written(self, tmp_path: Path, engine: str) -> None:
        kept = tmp_path / ".cache" / "diplomacy" / "convoy_paths_cache.pkl"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(pickle.dumps(Bomb(tmp_path / "read")))
        before = kept.read_bytes()
        code = f"import welfare_env as w; w.Game(engine={engine!r}).advance()"
        assert python(code, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "boards")) == ""
        assert not (tmp_path / "read").exists()
        assert kept.read_bytes() == before


class Bomb:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.mark),)


class TestKeptOnDisk:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An empty cache folder."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return tmp_path / "welfare_env"

    def arrays(self, number: int = 1) -> tuple[int, bool]:
        """A kept number, and whether it was made now."""
        made = []

        def make() -> cache.Arrays:
            made.append(number)
            return {"number": np.array([number])}

        return int(cache.cached("test", (str(number),), make)["number"][0]), bool(made)

    def test_what_was_made_once_is_read(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert [self.arrays(1), self.arrays(2), self.arrays(1)] == [(1, True), (2, True), (1, False)]
        monkeypatch.setattr(cache, "_code_digest", lambda: "another")
        assert self.arrays(1) == (1, True)
        assert len(list(folder.iterdir())) == 3

    def test_a_damaged_file_counts_as_missing(self, folder: Path) -> None:
        self.arrays()
        (file,) = folder.iterdir()
        whole = file.read_bytes()
        for broken in (b"", b"PK", b"not a file of arrays" * 100, whole[: len(whole) // 2], whole[:-40]):
            file.write_bytes(broken)
            assert self.arrays() == (1, True)
            assert self.arrays() == (1, False)

    def test_nowhere_to_write_is_no_harm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert [self.arrays(), self.arrays()] == [(1, True)] * 2


# Order numbers are in saved networks and datasets: when one of these changes, so must the environments' version.
FINGERPRINTS = {
    "standard": (19338, "b4bfc52e253f45bf58a58d823aeec212fe540a3ff86acbc4bb768f3c0925db2d"),
    "ancmed": (25839, "40b7c1ce7e26029c918dc665b85a9d4c0710ef20d308c84f13649a4c826f4dd6"),
    "pure": (365, "b0398702e79756ea57e5ab26cd3de51aa12f4e5b202a8e2d8863b0f037aa1545"),
}


@pytest.mark.parametrize("map_name", FINGERPRINTS)
def test_the_list_of_orders_is_stable_and_holds_every_order_once(map_name: str) -> None:
    orders = load_board(map_name).orders
    texts = orders.texts
    assert (len(texts), hashlib.sha256("\n".join(texts).encode()).hexdigest()) == FINGERPRINTS[map_name]
    assert len(orders) == len(texts) == len(set(texts))
    assert orders.index == {text: number for number, text in enumerate(texts)}


@pytest.mark.parametrize("map_name", FINGERPRINTS)
def test_arrays_of_orders_say_what_the_texts_say(map_name: str) -> None:
    board = load_board(map_name)
    orders = board.orders
    for number, text in enumerate(orders.texts):
        words = text.removesuffix(" VIA").split()
        kind, piece, other, dest = (int(getattr(orders, name)[number]) for name in ("kind", "piece", "other", "dest"))
        if kind in (WAIVE, GIVE):
            assert (piece, other) == (-1, -1)
            assert dest == (-1 if kind == WAIVE else board.power_index[words[1]])
            continue
        assert board.pieces[piece] == " ".join(words[:2])
        helped = " ".join(words[3:5]) if kind in (SUPPORT_HOLD, SUPPORT_MOVE, CONVOY) else None
        assert (board.pieces[other] if other >= 0 else None) == helped
        end = words[-1] if kind in (MOVE, VIA, RETREAT, SUPPORT_MOVE, CONVOY) else None
        assert (board.locations[dest] if dest >= 0 else None) == end
