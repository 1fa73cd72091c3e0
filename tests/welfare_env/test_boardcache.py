"""Boards kept on disk: the same board as the one that was read, and no harm from what is wrong with a file."""

import copyreg
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from welfare_env import Game, MapFormatError, Rules
from welfare_env.board import cache as boardcache
from welfare_env.board import loading as mapfile
from welfare_env.board.board import Board
from welfare_env.board.toy_boards import toy_map
from welfare_env.engine import tables
from welfare_env.engine.tables import tables_of

NAMES = ("standard", "pure", "ancmed", "clique:4", "standard_age_of_empires")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "welfare_env"


def read(name: str) -> tuple[Board, str]:
    text = mapfile._map_text(name)
    return mapfile._read_board(name, text), text


def assert_same(one: Board, other: Board) -> None:
    for field in fields(Board):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        assert type(mine) is type(theirs), field.name
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert not mine.flags.writeable
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs, field.name
            assert not hasattr(mine, "keys") or list(mine) == list(theirs), field.name
    np.testing.assert_array_equal(tables_of(one).numbers, tables_of(other).numbers)
    np.testing.assert_array_equal(tables_of(one).masks, tables_of(other).masks)


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_board_is_the_board(name: str) -> None:
    board, text = read(name)
    assert boardcache.load(name, text) is None
    boardcache.keep(board, text)
    kept = boardcache.load(name, text)
    assert kept is not None
    assert_same(kept, board)
    assert kept.orders.texts == board.orders.texts


def test_a_damaged_file_counts_as_missing(folder: Path) -> None:
    board, text = read("clique:4")
    boardcache.keep(board, text)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for broken in (b"", b"PK", b"not a file of arrays" * 100, whole[: len(whole) // 2], whole[:-40], whole + b"\0"):
        file.write_bytes(broken)
        assert boardcache.load("clique:4", text) is None
    for bit in rng.integers(0, 8 * len(whole), 300).tolist():
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        assert boardcache.load("clique:4", text) is None
    boardcache.keep(board, text)
    assert boardcache.load("clique:4", text) is not None


def test_another_map_or_code_is_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    board, text = read("clique:4")
    boardcache.keep(board, text)
    assert boardcache.load("clique:4", text + " ") is None
    assert boardcache.load("clique:5", text) is None
    monkeypatch.setattr(boardcache, "_code_digest", lambda: "another")
    assert boardcache.load("clique:4", text) is None


def test_all_code_that_builds_boards_is_in_the_key() -> None:
    """What the modules that build boards import of ours is among them, but for errors and rules."""
    root = Path(boardcache.__file__).parents[1]
    for name in boardcache.BUILT_BY:
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        used = [line.split()[1] for line in lines if line.startswith("from welfare_env")]
        for module in set(used) - {
            "welfare_env",
            "welfare_env.board",
            "welfare_env.checks",
            "welfare_env.errors",
            "welfare_env.rules",
        }:
            path = module.removeprefix("welfare_env.").replace(".", "/")
            assert {f"{path}.py", f"{path}/__init__.py"} & set(boardcache.BUILT_BY), f"{name} uses {module}"


def test_boards_are_kept_at_all(folder: Path) -> None:
    """A source that is listed and not there would turn the cache off without a word."""
    boardcache._code_digest.cache_clear()
    mapfile._load_board.cache_clear()
    mapfile.load_board("clique:2")
    assert any(folder.iterdir())


def test_old_files_go(folder: Path) -> None:
    board, text = read("clique:3")
    folder.mkdir()
    for number in range(boardcache.MOST_FILES + 5):
        (folder / f"board-{number}.npz").write_bytes(b"")
        os.utime(folder / f"board-{number}.npz", (number, number))
    boardcache.keep(board, text)
    assert len(list(folder.iterdir())) == boardcache.MOST_FILES
    assert boardcache.load("clique:3", text) is not None


def test_nowhere_to_write_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    board, text = read("clique:4")
    boardcache.keep(board, text)
    assert boardcache.load("clique:4", text) is None


def test_no_home_is_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    board, text = read("clique:4")
    boardcache.keep(board, text)
    assert boardcache.load("clique:4", text) is None


def test_a_board_that_the_fast_engine_refuses_is_kept_for_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_SEAS", 10)
    board, text = read("standard")
    boardcache.keep(board, text)
    kept = boardcache.load("standard", text)
    assert kept is not None
    with pytest.raises(MapFormatError, match="seas"):
        _ = tables_of(kept)


def test_a_map_that_changes_while_it_is_read_does_no_lasting_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.map"
    path.write_text(toy_map("clique:3"), encoding="utf-8")
    load = boardcache.load

    def meddling(name: str, text: str) -> Board | None:
        path.write_text(toy_map("clique:5"), encoding="utf-8")
        return load(name, text)

    monkeypatch.setattr(boardcache, "load", meddling)
    assert len(mapfile.load_board(str(path)).powers) == 3
    monkeypatch.setattr(boardcache, "load", load)
    mapfile._load_board.cache_clear()
    assert len(mapfile.load_board(str(path)).powers) == 5
    path.write_text(toy_map("clique:3"), encoding="utf-8")
    mapfile._load_board.cache_clear()
    assert len(mapfile.load_board(str(path)).powers) == 3


def test_a_board_that_was_sent_is_the_one_that_arrives(tmp_path: Path) -> None:
    path = tmp_path / "own.map"
    path.write_text(toy_map("clique:3"), encoding="utf-8")
    again, arguments = copyreg.dispatch_table[Board](Game(str(path), Rules(years=1)).board)
    assert again(*arguments) is mapfile.load_board(str(path))
    path.write_text(toy_map("clique:4"), encoding="utf-8")
    with pytest.raises(MapFormatError, match="has changed"):
        again(*arguments)


@pytest.mark.slow
def test_a_later_start_does_not_import_what_reads_maps() -> None:
    code = "import sys, welfare_env; welfare_env.load_board('clique:4'); print('diplomacy' in sys.modules)"
    seen = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert seen == ["True\n", "False\n"]
