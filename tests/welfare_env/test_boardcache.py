"""Boards kept on disk: the same board as the one that was read, and no harm from what is wrong with a file."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from welfare_env import boardcache, mapfile
from welfare_env.board import Board

NAMES = ("standard", "pure", "ancmed", "clique:4", "standard_age_of_empires")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "welfare_env"


def read(name: str) -> tuple[Board, str]:
    digest = mapfile._digest(mapfile._file_text(name))
    return mapfile._read_board(name, digest), digest


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
    np.testing.assert_array_equal(one.tables.numbers, other.tables.numbers)
    np.testing.assert_array_equal(one.tables.masks, other.tables.masks)


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_board_is_the_board(name: str) -> None:
    board, digest = read(name)
    assert boardcache.load(name, digest) is None
    boardcache.keep(board, digest)
    kept = boardcache.load(name, digest)
    assert kept is not None
    assert_same(kept, board)
    assert kept.orders.texts == board.orders.texts


@pytest.mark.parametrize("damage", [b"", b"PK", b"not a file of arrays" * 100])
def test_a_damaged_file_is_written_anew(folder: Path, damage: bytes) -> None:
    board, digest = read("clique:4")
    boardcache.keep(board, digest)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for broken in (damage, whole[: len(whole) // 2], whole[:-40]):
        file.write_bytes(broken)
        assert boardcache.load("clique:4", digest) is None
    boardcache.keep(board, digest)
    assert boardcache.load("clique:4", digest) is not None


def test_another_content_is_another_file(folder: Path) -> None:
    board, digest = read("clique:4")
    boardcache.keep(board, digest)
    assert boardcache.load("clique:4", digest[::-1]) is None
    assert boardcache.load("clique:5", digest) is None


def test_nowhere_to_write_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    board, digest = read("clique:4")
    boardcache.keep(board, digest)
    assert boardcache.load("clique:4", digest) is None


def test_a_later_start_does_not_import_what_reads_maps(tmp_path: Path) -> None:
    code = "import sys, welfare_env; welfare_env.load_board('clique:4'); print('diplomacy' in sys.modules)"
    seen = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert seen == ["True\n", "False\n"]
