"""Files that are there in full or not at all."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from welfare_env import RecordError
from welfare_env.game.record import save_text
from welfare_env.writing import remove_abandoned, replaced


def _break_off(path: Path, error: type[BaseException]) -> None:
    with replaced(path) as draft:
        draft.write_text("ne")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_changes_when_writing_breaks_off(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(error):
        _break_off(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o444])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    save_text("new", path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path: Path, there: bool) -> None:
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real", tmp_path / "link"
    if there:
        real.write_text("old")
    link.symlink_to(real)
    save_text("new", link)
    assert (link.is_symlink(), real.read_text()) == (True, "new")
    assert list((tmp_path / "folder").iterdir()) == [real]


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(RecordError, match=tmp_path.name):
        save_text("new", tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    path, victim = tmp_path / "file", tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".file.{os.getpid()}.draft").symlink_to(victim)
    save_text("new", path)
    assert (path.read_text(), victim.read_text()) == ("new", "precious")


def test_writers_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 50)
    path.write_text("old")
    with replaced(path) as one, replaced(path) as other:
        one.write_text("one")
        other.write_text("other")
        assert path.read_text() == "old"
    assert path.read_text() == "one"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: save_text(str(number) * 10_000, path), range(10)))
    assert len(set(path.read_text())) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught, replaced(tmp_path / "game.json") as draft:
        draft.write_text("x")
    assert caught.value.filename == str(tmp_path / "game.json")
    assert not list(tmp_path.iterdir())


def test_drafts_of_killed_processes_are_removed_after_an_hour(tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    for name, age in (("killed_1", 4000), ("at_work1", 0), ("of_the_user", 4000)):
        draft = tmp_path / f".game.json.{name}.draft" / "game.json.draft"
        draft.parent.mkdir()
        draft.write_text("half")
        os.utime(draft, (time.time() - age,) * 2)
    with replaced(file) as draft:
        draft.write_text("whole")
    remove_abandoned(tmp_path)
    left = {".game.json.at_work1.draft", ".game.json.of_the_user.draft", "game.json"}
    assert {each.name for each in tmp_path.iterdir()} == left
