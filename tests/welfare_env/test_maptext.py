"""Maps of one's own with faults: told in our words with the line, soon, and without a look at other files."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import diplomacy
import pytest
from diplomacy.utils import convoy_paths

from welfare_env import MapFormatError, UnknownMapError, load_board
from welfare_env.board import convoys
from welfare_env.board.convoys import convoy_routes
from welfare_env.board.loading import LARGEST_FILE, import_package, load_source
from welfare_env.board.toy_boards import toy_map

MAPS = Path(diplomacy.__file__).parent / "maps"
OURS = toy_map("clique:3")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    """``write(text)``: the path of a map file."""

    def save(text: str) -> str:
        (tmp_path / "own.map").write_text(text, encoding="utf-8")
        return str(tmp_path / "own.map")

    return save


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("LAND LONG", "'LONG' is not a place"),
        ("LAND LO", "'LO' is not a place"),
        ("LAND L\u00d6N", "is not a place"),
        ("LAND", "LAND takes a place"),
        ("Land XYZ ABUTS CAX", "write LAND in capitals"),
        ("LAND XYZ BORDERS CAX", "LAND takes a place"),
        ("LAMD XYZ ABUTS CAX", "unknown keyword 'LAMD' (did you mean 'LAND'?)"),
        ("LAND XYZ ABUTS CAX %s", "'%s' is not a place"),
        ("LAND XYZ", "XYZ borders nothing"),
        ("AMEND XYZ", "AMEND takes"),
        ("AMEND XYZ ABUTS CAX", "lines are inconsistent"),
        ("Nowhere = xyz", "XYZ has a name, but no line with its kind"),
        ("= cax", "give a name as in"),
        ("Nowhere =", "give a name as in"),
        ("Nowhere = x", "'x' is not a place"),
        ("Old -> New = xyz", "give a name as in"),
        ("VICTORY", "VICTORY takes a number"),
        ("VICTORY " + "9" * 5000, "VICTORY takes a number"),
        ("BEGIN SPRING 190x MOVEMENT", "BEGIN takes a season"),
        ("A CAX CBX", "a unit has one place"),
        ("ROME (ROMAN) CAX\nA XYZ", "ROME begins with the unit A XYZ, which cannot stand there"),
        ("PL%YER HAX", "is not a valid name for a power"),
        ("X" * 50 + " HAX", "is not a valid name for a power"),
        ("ROME (ROMAN HAX", "is not a valid name for the people of ROME"),
        ("ROME (ROMAN) HA", "'HA' is not a place"),
        ("ROME (ROMAN) HAX", "HAX has more than one owner"),
        ("ROM (ROMAN) CAX", "ROM is not a valid name for a power"),
        ("HOMES ABCD", "'ABCD' is not a place"),
        ("SHUT CAX", "the center CAX is not a province that can be entered"),
        ("UNOWNED CAX/NC", "CAX/NC"),
        ("Port = xyz\nWATER XYZ ABUTS CAX\nCOAST XYZ/NC ABUTS CAX", "XYZ is WATER and COAST"),
        ("UNPLAYED NOBODY", "NOBODY is not a power, so it cannot be removed"),
        ("RULE NO_CHECK", "NO_CHECK"),
        ("MAP nowhere", "not an installed map"),
        ("MAP /etc/passwd", "not an installed map"),
        ("USE /dev/zero", "not an installed map"),
        ("USE own.map", "not an installed map"),
        ("LAND CAX ABUTS " + "CBX " * 500, "more than 200 words"),
        ("\n".join(f"LAND X{number:02}" for number in range(500)), "more than 400 places"),
    ],
    ids=lambda value: value[:20],
)
def test_faults_are_told_in_our_words(
    write: Callable[[str], str], capfd: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    path = write(f"{OURS}{line}\n")
    with pytest.raises(MapFormatError) as error:
        load_board(path)
    assert told in str(error.value)
    assert str(error.value).startswith(f"map {path!r} has faults:\n- ")
    assert len(str(error.value)) < 3000
    assert capfd.readouterr() == ("", "")


def test_units_before_any_power_are_told_without_templates(write: Callable[[str], str]) -> None:
    with pytest.raises(MapFormatError, match="a unit comes before any power") as error:
        load_board(write("A CAX\n" + OURS))
    assert "%" not in str(error.value)


def test_a_file_far_too_large(write: Callable[[str], str]) -> None:
    with pytest.raises(MapFormatError, match="more than"):
        load_board(write("#" * (LARGEST_FILE + 1)))


def test_a_map_with_too_many_convoy_routes(monkeypatch: pytest.MonkeyPatch, write: Callable[[str], str]) -> None:
    monkeypatch.setattr(convoys, "MOST_WAYS", 500)
    with pytest.raises(MapFormatError, match="more than 500 convoy routes"):
        load_board(write("MAP standard.map\n"))


@pytest.mark.parametrize(
    "name", ["x" * 300 + ".map", "a/" * 3000 + "b.map", "clique:" + "9" * 5000, "clique:\u0663", "\ud800.map"]
)
def test_names_that_no_map_can_have(name: str) -> None:
    with pytest.raises(UnknownMapError) as error:
        load_board(name)
    assert len(str(error.value)) < 1000


def test_what_is_no_regular_file_is_no_map(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.map")
    os.symlink("/dev/zero", tmp_path / "zero.map")
    for name in ("pipe.map", "zero.map"):
        with pytest.raises(UnknownMapError):
            load_board(str(tmp_path / name))


def test_a_file_in_the_working_folder_does_not_stand_for_an_installed_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[str], str]
) -> None:
    (tmp_path / "standard.map").write_text(OURS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    load_source.__globals__["_load_source"].cache_clear()
    assert len(load_source(load_board("standard")).powers) == 7
    assert len(load_board(write("MAP standard.map\n")).powers) == 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standard", "ancmed", "modern"])
def test_convoy_routes_are_those_of_the_package(name: str) -> None:
    theirs = convoy_paths.add_to_cache(name)
    assert list(load_board(name).convoys) == [
        (start, frozenset(seas), frozenset(ends)) for length in sorted(theirs) for start, seas, ends in theirs[length]
    ]


def test_convoy_routes_of_an_own_map_are_those_of_the_package(write: Callable[[str], str]) -> None:
    text = (MAPS / "standard.map").read_text(encoding="utf-8").replace("WATER    ENG", "PORT    ENG")
    text = text.replace("ABUTS    BRE ENG GAS", "ABUTS    TUN BRE ENG GAS").replace(
        "ABUTS    ION NAF", "ABUTS    MAO ION NAF"
    )
    source = import_package().Map(write(text), use_cache=False)
    kind = {place.upper(): source.area_type(place) or "" for place in source.locs}
    words = {"WATER": "sea", "COAST": "coast", "PORT": "port"}
    near = {place: [other.upper() for other in source.abut_list(place, incl_no_coast=True)] for place in kind}
    theirs = [
        (start, frozenset(seas), frozenset(ends))
        for coast in kind
        for start, seas, ends in convoy_paths._get_convoy_paths(source, coast, 13, Queue())
    ]
    ours = convoy_routes({place: words.get(what, "") for place, what in kind.items()}, near)
    assert list(ours) == sorted(theirs, key=lambda route: len(route[1]))


class Bomb:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.mark),)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_packages_pickle_is_neither_read_nor_written(tmp_path: Path, engine: str) -> None:
    kept = tmp_path / ".cache" / "diplomacy" / "convoy_paths_cache.pkl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(pickle.dumps(Bomb(tmp_path / "read")))
    (tmp_path / "own.map").write_text(OURS, encoding="utf-8")
    before = kept.read_bytes()
    code = f"import welfare_env as w; [w.Game(name, engine={engine!r}).advance() for name in ('standard', 'own.map')]"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "boards")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "read").exists()
    assert kept.read_bytes() == before
