"""The status files of long work: what they say, and that nothing secret is in them."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.runtime import status
from agents.runtime.progress import metered
from agents.runtime.status import Sources, born, masked


@pytest.fixture(autouse=True)
def at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(status, "FIRST", 0.01)
    monkeypatch.setattr(status, "EVERY", 0.01)


def only_file() -> Path:
    (path,) = Path("runs/status").glob("*.json")
    return path


def until_written(done: int) -> dict:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := list(Path("runs/status").glob("*.json")):
            facts = json.loads(found[0].read_text())
            if facts["progress"][0]["done"] == done:
                return facts
        time.sleep(0.01)
    raise AssertionError("nothing was written")


def test_a_status_file_says_how_far_work_is_and_how_it_ended() -> None:
    spent = {"tokens": 12, "dollars": None, "max_tokens": 100, "max_dollars": None}
    with metered("playing", 60, "games", Sources("games.sqlite", "folder", lambda: spent)) as meter:
        meter.advance(12)
        running = until_written(12)
        assert stat.S_IMODE(only_file().stat().st_mode) == 0o600
    assert running["progress"] == [{"what": "playing", "done": 12, "total": 60, "unit": "games"}]
    assert (running["pid"], running["outcome"], running["ended"]) == (os.getpid(), "", None)
    assert (running["store"], running["folder"], running["spent"]) == ("games.sqlite", "folder", spent)
    ended = json.loads(only_file().read_text())
    assert ended["outcome"] == "finished"
    assert ended["ended"] >= ended["started"]
    assert list(Path("runs/status").iterdir()) == [only_file()], "a draft was left"


@pytest.mark.parametrize(("error", "outcome"), [(KeyboardInterrupt, "interrupted"), (ValueError, "failed")])
def test_work_that_is_broken_off_says_so(error: type[BaseException], outcome: str) -> None:
    def work() -> None:
        with metered("playing", 1, "games"):
            until_written(0)
            raise error

    with pytest.raises(error):
        work()
    assert json.loads(only_file().read_text())["outcome"] == outcome


def test_short_work_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "FIRST", 60)
    with metered("playing", 1, "games"):
        pass
    assert not Path("runs").exists()


def test_a_folder_that_cannot_be_written_stops_nothing() -> None:
    Path("runs").write_text("in the way")
    with metered("playing", 1, "games") as meter:
        time.sleep(0.05)
        meter.advance(1)
    assert Path("runs").read_text() == "in the way"


def test_files_of_a_day_ago_go_and_those_of_today_stay() -> None:
    folder = Path("runs/status")
    folder.mkdir(parents=True)
    for name, age in (("old", 25), ("new", 23)):
        (folder / f"{name}.json").write_text("{}")
        os.utime(folder / f"{name}.json", (time.time() - 3600 * age,) * 2)
    status.remove_old(folder)
    assert [path.name for path in folder.iterdir()] == ["new.json"]


def test_keys_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hush-hush-hush")
    monkeypatch.setenv("SHORT_KEY", "a")
    line = "welfare-env self-play lm:openai/m,api_key=abc123,effort=high --x hush-hush-hush http://me:word@host/v1"
    shown = masked(f"{line} sk-proj-abcdefgh123 --token=zzz")
    assert shown == (
        "welfare-env self-play lm:openai/m,api_key=***,effort=high --x *** http://***@host/v1 *** --token=***"
    )


def test_a_process_is_known_by_its_beginning() -> None:
    if not born(os.getpid()):
        pytest.skip("this system does not say when a process began")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert born(other.pid) not in ("", born(os.getpid()))
        other.kill()
    assert born(other.pid) == ""
