"""Files that are there in full or not at all."""

from pathlib import Path

import pytest

from welfare_env.writing import replaced


def test_a_file_is_replaced_once_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 50)
    path.write_text("old")
    with replaced(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


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


def test_a_draft_that_was_not_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="draft"), replaced(tmp_path / "file"):
        pass
