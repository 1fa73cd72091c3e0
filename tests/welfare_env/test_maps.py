"""Boards: all maps that are installed, maps of one's own, and maps with faults."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diplomacy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import welfare_env
from welfare_env import (
    Game,
    MapFormatError,
    RecordError,
    Rules,
    UnknownMapError,
    UnknownPowerError,
    load_board,
    map_names,
)

MAPS = Path(diplomacy.__file__).parent / "maps"
# name -> powers, provinces, centers, first year, centers that win, whether units are built anywhere
FACTS = {
    "ancmed": (5, 79, 34, 1, 18, False),
    "ancmed_age_of_empires": (5, 79, 34, 1, 18, True),
    "colonial": (7, 119, 58, 1870, 30, False),
    "empire": (10, 161, 58, 1999, 30, False),
    "modern": (10, 141, 64, 1994, 33, True),
    "pure": (7, 7, 7, 1901, 4, False),
    "standard": (7, 75, 34, 1901, 18, False),
    "standard_age_of_empires": (7, 75, 34, 1901, 18, True),
    "standard_age_of_empires_2": (7, 75, 34, 1901, 18, True),
    "standard_fleet_rome": (7, 75, 34, 1901, 18, False),
    "standard_france_austria": (2, 75, 34, 1901, 18, False),
    "standard_germany_italy": (2, 75, 34, 1901, 18, False),
}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in ("colonial", "empire") else name for name in FACTS]
LARGE = {"known_world_901": (16, 269, 109, 901, 55, True), "world": (17, 192, 86, 2000, 44, False)}

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
        assert set(map_names()) == FACTS.keys() | LARGE.keys()

    @pytest.mark.parametrize("name", NAMES)
    def test_facts(self, name: str) -> None:
        self.check(name, FACTS[name])

    @pytest.mark.slow
    @pytest.mark.parametrize("name", LARGE)
    def test_facts_of_large_maps(self, name: str) -> None:
        self.check(name, LARGE[name])

    def check(self, name: str, facts: tuple) -> None:
        board = load_board(name)
        numbers = (len(board.powers), len(board.provinces), len(board.centers))
        assert (*numbers, board.first_year, board.victory, board.build_anywhere) == facts

    @pytest.mark.parametrize("name", NAMES)
    def test_tables_agree_with_the_names(self, name: str) -> None:
        board = load_board(name)
        for index, piece in enumerate(board.pieces):
            assert board.provinces[board.piece_province[index]] == piece[2:5]
            assert board.locations[board.piece_location[index]] == piece[2:]
            assert "AF"[board.piece_type[index]] == piece[0]
            assert set(board.moves[piece]) <= set(board.locations)
        for index, center in enumerate(board.centers):
            assert board.provinces[board.center_province[index]] == center
            assert board.province_center[board.center_province[index]] == index
            owner = board.home_power[index]
            assert (owner >= 0) == any(center in homes for homes in board.homes.values())
            assert owner < 0 or center in board.homes[board.powers[owner]]
        assert (board.province_center >= 0).sum() == len(board.centers)
        for power in board.powers:
            assert board.power_index[board.check_power(power)] == board.powers.index(power)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_step_leads_both_ways(self, name: str) -> None:
        board = load_board(name)
        steps = {(piece[0], piece[2:5], to[:3]) for piece, reached in board.moves.items() for to in reached}
        assert steps == {(kind, end, start) for kind, start, end in steps}
        assert not any(start == end for _, start, end in steps)

    @pytest.mark.parametrize(
        "table", ["kind", "homes", "start_units", "start_centers", "moves", "supports", "long_names"]
    )
    def test_a_board_cannot_be_changed(self, table: str) -> None:
        board = load_board("pure")
        with pytest.raises(TypeError):
            getattr(board, table)["PAR"] = ()
        with pytest.raises(AttributeError):
            setattr(board, table, {})
        with pytest.raises(ValueError, match="read-only"):
            board.piece_province[0] = 1

    @pytest.mark.parametrize("name", NAMES)
    def test_the_opening_is_the_maps(self, name: str) -> None:
        game, board = Game(name, Rules(years=1)), load_board(name)
        assert game.phase == f"S{board.first_year:04d}M"
        assert game.units == board.start_units
        assert {power: set(held) for power, held in game.centers.items()} == {
            power: set(held) for power, held in board.start_centers.items()
        }

    def test_a_board_is_read_once_and_shared(self) -> None:
        assert load_board("pure") is load_board("pure")
        assert pickle.loads(pickle.dumps(load_board("pure"))) is load_board("pure")  # noqa: S301

    def test_an_unknown_power_is_named(self) -> None:
        with pytest.raises(UnknownPowerError, match=r"'ROME' on map 'standard': choose one of AUSTRIA"):
            load_board().check_power("ROME")


class TestToyBoards:
    """The boards G_n and G'_n of the paper's section 3.2: cores that border each other, and a home on each."""

    @pytest.mark.parametrize("size", [2, 3, 7, 20])
    @pytest.mark.parametrize(("shape", "more"), [("clique", 0), ("shared-clique", 1)])
    def test_facts(self, shape: str, more: int, size: int) -> None:
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

    def test_everybody_takes_a_core_and_disarms(self) -> None:
        game = Game("clique:4", Rules(years=3, press=None))
        while not game.is_done:
            for power in game.powers:
                (home,) = game.board.homes[power]
                (core,) = game.board.moves[f"A {home}"]
                orders = {"S1901M": [f"A {home} - {core}"], "W1901A": [f"A {core} D"]}.get(game.phase, [])
                game.submit(power, orders)
            game.advance()
        assert set(game.welfare.values()) == {3 * 2}


class TestOwnMaps:
    def test_is_read_from_its_path(self, isle: Callable[..., str]) -> None:
        board = load_board(isle())
        assert (board.powers, board.victory) == (("ALBION", "GALLIA"), 4)
        assert board.moves["F BRE"] == ("CHA", "OCE", "SPA/NC", "SPA/SC")
        assert board.kind == {
            **dict.fromkeys(("BEL", "BRE", "EDI", "LON", "SPA"), "coast"),
            **dict.fromkeys(("CHA", "OCE"), "sea"),
            "PAR": "land",
        }
        assert "A EDI - BEL VIA" in board.orders.index

    def test_can_be_played_saved_and_loaded(
        self, isle: Callable[..., str], tmp_path: Path, play_on: Callable[..., Game]
    ) -> None:
        game = play_on(Game(isle(), Rules(years=3)), np.random.default_rng(0))
        game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json", map_name=isle()).record() == game.record()

    def test_a_saved_game_does_not_choose_a_file_to_read(self, isle: Callable[..., str], tmp_path: Path) -> None:
        Game(isle()).save(tmp_path / "game.json")
        with pytest.raises(RecordError, match="map_name"):
            Game.load(tmp_path / "game.json")

    def test_a_saved_game_is_not_loaded_on_another_map(self, isle: Callable[..., str], tmp_path: Path) -> None:
        Game(isle()).save(tmp_path / "game.json")
        with pytest.raises(RecordError, match="map"):
            Game.load(tmp_path / "game.json", map_name="standard")

    def test_a_saved_game_of_a_map_that_is_gone(self, isle: Callable[..., str], tmp_path: Path) -> None:
        path = Path(isle())
        Game(str(path)).save(tmp_path / "game.json")
        path.unlink()
        with pytest.raises(RecordError, match=r"isle\.map"):
            Game.load(tmp_path / "game.json", map_name=str(path))

    def test_a_changed_file_is_read_anew(self, isle: Callable[..., str]) -> None:
        assert load_board(isle()).victory == 4
        assert load_board(isle("VICTORY 4", "VICTORY 5")).victory == 5

    def test_a_copy_of_the_standard_map_is_the_standard_map(self, tmp_path: Path) -> None:
        path = tmp_path / "copy.map"
        path.write_bytes((MAPS / "standard.map").read_bytes())
        assert load_board(str(path)).orders.texts == load_board().orders.texts


class TestFaults:
    @pytest.mark.parametrize(
        "name",
        [
            *("atlantis", "", " ", "standard.map", "Standard", "../standard", "nowhere/x.map", ".map", "\0", "\0.map"),
            *("/etc/passwd", "clique", "clique:", "clique:x", "clique:1", "clique:-3", "clique:1e3", "shared-clique:"),
            *(None, 5, b"standard", ["standard"], ("standard",), {}, Path("standard")),
        ],
        ids=repr,
    )
    def test_unknown_maps(self, name: Any) -> None:
        with pytest.raises(UnknownMapError) as error:
            load_board(name)
        assert repr(name) in str(error.value)

    def test_a_number_too_long_to_print_is_no_map(self) -> None:
        with pytest.raises(UnknownMapError, match="thousands of digits"):
            load_board(10**5000)  # type: ignore[arg-type]

    def test_an_unknown_name_is_answered_with_the_known_ones(self) -> None:
        with pytest.raises(UnknownMapError, match=r"standard.*world"):
            load_board("atlantis")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("stadnard", "'standard'"), ("Standard", "'standard'"), ("anc_med", "'ancmed'"), ("cliqe:4", "'clique:N'")],
    )
    def test_a_misspelt_name_is_answered_with_the_nearest(self, name: str, meant: str) -> None:
        with pytest.raises(UnknownMapError, match=rf"unknown map {name!r} \(did you mean .*{meant}.*\?\)"):
            load_board(name)

    def test_a_directory_is_no_map(self, tmp_path: Path) -> None:
        (tmp_path / "folder.map").mkdir()
        with pytest.raises(UnknownMapError):
            load_board(str(tmp_path / "folder.map"))

    @pytest.mark.parametrize(
        "content",
        [b"", b"\n\n", b"# nothing\n", bytes(range(256)), b"BEGIN SPRING 1901 MOVEMENT\n", b"MAP nowhere.map\n"],
        ids=lambda content: repr(content[:20]),
    )
    def test_no_map_in_the_file(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "wrong.map").write_bytes(content)
        with pytest.raises(MapFormatError, match=r"wrong\.map"):
            load_board(str(tmp_path / "wrong.map"))

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN SPRING x MOVEMENT", ""),
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN SPRING 1901", ""),
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN FALL 1901 MOVEMENT", "FALL"),
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN SPRING 1901 RETREATS", "RETREATS"),
            ("BEGIN SPRING 1901 MOVEMENT", "BEGIN WINTER 1901 ADJUSTMENTS", "WINTER"),
            ("VICTORY 4", "VICTORY four", "VICTORY"),
            ("VICTORY 4", "RULE NO_CHECK", "NO_CHECK"),
            ("ALBION", "GLOBAL", "GLOBAL"),
            ("ALBION", "MEDIATOR", "MEDIATOR"),
            ("A PAR\n", "F PAR\n", "F PAR"),
            ("F LON", "F XYZ", "XYZ"),
            ("UNOWNED SPA BEL", "UNOWNED SPA XYZ", "XYZ"),
            ("LAND PAR ABUTS BEL BRE SPA", "LAND PAR ABUTS BEL BRE", "PAR"),
            ("LAND PAR ABUTS BEL BRE SPA", "LAND PAR ABUTS BEL BRE SPA XYZ", "XYZ"),
            ("LAND PAR ABUTS BEL BRE SPA", "", "PAR"),
            ("Paris = par", "", "PAR"),
            ("GALLIA (GALLIC) PAR BRE\nA PAR\nF BRE", "", "TWO POWERS"),
        ],
    )
    def test_faults_are_told(self, isle: Callable[..., str], old: str, new: str, told: str) -> None:
        with pytest.raises(MapFormatError, match=r"isle\.map") as error:
            load_board(isle(old, new))
        assert told in str(error.value).upper()

    def test_all_faults_are_told_at_once(self, isle: Callable[..., str]) -> None:
        path = Path(isle("BEGIN SPRING 1901 MOVEMENT", "BEGIN FALL 1901 MOVEMENT"))
        text = path.read_text().replace("ALBION", "GLOBAL").replace("VICTORY 4", "VICTORY 4\nRULE NO_CHECK")
        path.write_text(text.replace("UNOWNED SPA BEL", "UNOWNED SPA XYZ").replace("F LON", "A NTH"))
        with pytest.raises(MapFormatError) as error:
            load_board(str(path))
        lines = str(error.value).splitlines()[1:]
        assert all(line.startswith("- ") for line in lines)
        for told in ("FALL 1901", "GLOBAL", "NO_CHECK", "XYZ", "A NTH"):
            assert any(told in line for line in lines), (told, lines)


WORDS = st.sampled_from(
    ["", "XYZ", "LAND", "=", "-", "/", "9", "ABUTS", "lon", "A", "F", "(", "UNOWNED", "MAP", "é", "spa/"]
)


def damage(data: st.DataObject) -> str:
    """The text of a map, changed in one to three places."""
    lines = ISLE.split("\n")
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        number = data.draw(st.integers(0, len(lines) - 1), label="line")
        words = lines[number].split(" ")
        place = data.draw(st.integers(0, len(words) - 1), label="word")
        words[place : place + data.draw(st.integers(0, 2))] = data.draw(st.lists(WORDS, max_size=2), label="new words")
        lines[number] = " ".join(words)
        if data.draw(st.integers(0, 9), label="kind") == 0:
            lines = [*lines[:number], *lines[number + 1 :], *lines[number : number + 1]]
    return "\n".join(lines)


@pytest.mark.slow
@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_map_is_refused_or_playable(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "damaged.map"
    path.write_text(damage(data), encoding="utf-8")
    try:
        game = Game(str(path), Rules(years=1))
    except MapFormatError:
        return
    while not game.is_done:
        for power in game.powers:
            assert all(game.legal_orders(power).values())
        game.advance()


def test_a_board_stands_for_its_map() -> None:
    board = load_board("clique:3")
    assert load_board(board) is board
    for engine in ("fast", "reference"):
        assert Game(board, engine=engine).board is board
        env = welfare_env.make(board, engine=engine)
        env.reset()
        assert env.unwrapped.game.board is board
    assert welfare_env.vector_env(1, board).board is board
    assert Game.from_position("S1901M", {}, {}, map_name=board).board is board


def test_the_reference_engine_refuses_a_map_that_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "isle.map"
    path.write_text(ISLE)
    board = load_board(str(path))
    path.write_text(ISLE.replace("VICTORY 4", "VICTORY 3"))
    with pytest.raises(MapFormatError, match="has changed"):
        Game(board, engine="reference")


def test_a_missing_file_of_a_map_is_said_to_be_missing(tmp_path):
    with pytest.raises(UnknownMapError, match=r"missing\.map': no such file$"):
        load_board(str(tmp_path / "missing.map"))
