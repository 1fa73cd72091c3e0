"""Interrupted and killed commands: what they say, that nothing of them is left, and that they can be resumed.

Ctrl-C is sent to the whole process group, as a terminal does.
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evaluation
from evaluation.cli.commands import app

CODE = Path(evaluation.__file__).parents[1]
PATIENCE = 600  # seconds after which what never comes is a failure; no machine is so slow

# As the console script; workers import it, too.
SCRIPT = """
import os
import sys
from evaluation.cli.main import end_at_interruptions, main
if __name__ == "__main__":
    end_at_interruptions()
    print("begun", flush=True)
    sys.exit(main())
"""
Launch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts a Python script in a process group of its own, and waits until it prints a line.

    With `module`, starts ``python -m MODULE``, which finds the script in place of PettingZoo.
    """
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str, code: Path = CODE, module: str = "") -> subprocess.Popen[str]:
        file = tmp_path / ("pettingzoo.py" if module else "script.py")
        file.write_text(script)
        process = subprocess.Popen(
            [sys.executable, *(("-m", module) if module else (str(file),)), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(code)},
            text=True,
            start_new_session=True,
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        _kill_group(process)
        process.communicate()


def _living(group: int) -> list[int]:
    """Processes of a group that still do something."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(process_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def _kill_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _is_worker(process: int) -> bool:
    """Not the command, Python's resource tracker, or a process that compiles."""
    try:
        return b"--multiprocessing-fork" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Until the condition holds; the process must not end before."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _stored(path: Path) -> dict[str, tuple[float, str]]:
    """Key -> when it was stored, and its checksum; of a store that may be in use, or not be there yet."""
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {row[0]: row[1:] for row in connection.execute("SELECT key, created, checksum FROM games")}
    return {}


def _interrupted(process: subprocess.Popen[str]) -> str:
    """What is on stderr after an interruption; checks the rest."""
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("interrupted"), err
    assert err.count("interrupted") == 1
    _wait_for(lambda: not _living(process.pid))
    return err


@pytest.fixture
def stop(tmp_path: Path) -> Path:
    """The file that keeps `PLAYER` from beginning another game."""
    (tmp_path / "stopping.py").write_text(STOPPING)
    (tmp_path / "stop").touch()
    return tmp_path / "stop"


# Each prints a line once it is at it.
STUCK = {
    "compiled code": """
    def tell():
        while time.process_time() < began + 0.2:
            time.sleep(0.01)
        print('begun', flush=True)
    began = time.process_time()
    threading.Thread(target=tell, daemon=True).start()
    hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)""",
    "it is swallowed": """
    told = iter(["begun\\n"])
    while True:
        try:
            sys.stdout.write(next(told, ""))
            sys.stdout.flush()
            time.sleep(60)
        except KeyboardInterrupt:
            pass""",
}


@pytest.mark.slow
@pytest.mark.parametrize("work", STUCK.values(), ids=STUCK)
def test_it_ends_even_where_python_does_not_see_it(launch: Launch, work: str) -> None:
    script = "import hashlib, sys, threading, time\nfrom modal_env.interruptions import ended_soon\n"
    process = launch(f"{script}with ended_soon('interrupted: really'):{work}\n")
    assert _interrupted(process) == "interrupted: really\n"


@pytest.mark.slow
def test_patience_waits_for_the_block(launch: Launch) -> None:
    script = (
        "import time\nfrom modal_env import interruptions\n"
        "interruptions.GRACE = 0.1\n"
        "with interruptions.ended_soon('interrupted: too early'), interruptions.patient():\n"
        "    try:\n        print('begun', flush=True)\n        time.sleep(60)\n"
        "    except KeyboardInterrupt:\n        time.sleep(0.5)\n        raise SystemExit('saved')\n"
    )
    process = launch(script)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == ("", "saved\n")


# As the demo, with networks and compiled code in the workers, but of more games than are over at any of the moments.
LASTING = ("exploitability", "prosocial", "--deviator", "rl:best-response", "--coalitions", "pairs")
LASTING += ("--games", "200", "--message-rounds", "0", "--workers", "2")


@pytest.mark.slow
def test_while_a_module_is_imported(launch: Launch) -> None:
    process = launch("import time\nprint('begun', flush=True)\ntime.sleep(60)\n", "--help", module="evaluation")
    assert _interrupted(process) == "interrupted\n"


def _has_loaded(process: int, library: str) -> bool:
    try:
        return library.encode() in Path(f"/proc/{process}/maps").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _workers(group: int) -> list[int]:
    return [process for process in _living(group) if _is_worker(process)]


# What has just begun when the interruption comes: (process group, folder) -> whether it has.
MOMENTS: dict[str, Callable[[int, Path], bool]] = {
    "the command": lambda group, folder: True,
    "compiled code is loaded": lambda group, folder: _has_loaded(group, "llvmlite"),
    "a worker": lambda group, folder: bool(_workers(group)),
    "a worker loads compiled code": lambda group, folder: any(_has_loaded(one, "llvmlite") for one in _workers(group)),
    "a worker loads torch": lambda group, folder: any(_has_loaded(one, "libtorch") for one in _workers(group)),
    "a game is stored": lambda group, folder: bool(_stored(folder / "games.sqlite")),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_at_any_moment(launch: Launch, tmp_path: Path, moment: str) -> None:
    process = launch(SCRIPT, *LASTING, "--store", "games.sqlite")
    _wait_for(lambda: MOMENTS[moment](process.pid, tmp_path), process)
    _interrupted(process)


@pytest.mark.slow
def test_while_kernels_are_compiled(launch: Launch, tmp_path: Path) -> None:
    """With a copy of the code without its cache, once the first kernel is compiled and stored there."""
    code = tmp_path / "code"
    for name in ("welfare_env", "modal_env", "agents", "training", "evaluation"):
        shutil.copytree(CODE / name, code / name, ignore=shutil.ignore_patterns("__pycache__"))
    process = launch(SCRIPT, *LASTING, code=code)
    _wait_for(lambda: any(code.rglob("*.nbc")), process)
    _interrupted(process)


# With workers, and ended without any cleaning up, as if the block did not end in time.
ENDED = """
import os
from evaluation.play.workers import Workers
if __name__ == "__main__":
    print("begun", flush=True)
    for _ in Workers(2).run(abs, range(8)):
        os._exit(130)
"""


@pytest.mark.slow
def test_a_command_that_is_ended_at_once_says_nothing_of_semaphores(launch: Launch) -> None:
    process = launch(ENDED)
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 130


# While the file `stop` is there, each process plays some seven games and then begins no other.
STOPPING = """
import time
from pathlib import Path
from agents import DumbBotPolicy

class Stopping(DumbBotPolicy):
    resets = 0

    def reset(self, agent, seed=0):
        Stopping.resets += 1
        while Stopping.resets > 7 * 3 and Path("stop").exists():
            time.sleep(0.01)
        super().reset(agent, seed)
"""
PLAYER = "import:stopping.Stopping"
LONG = ("exploitability", PLAYER, "--deviator", "random", "--map", "clique:3")
LONG += ("--games", "9", "--years", "3", "--message-rounds", "0")
LONG_GAMES = 4 * 5 + 4 * 9  # choosing and measuring, each of three seats and without a deviator


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("stop")
def test_an_interruption_says_how_to_go_on(launch: Launch, store_path: Path, workers: int, lasting_lines) -> None:
    process = launch(SCRIPT, *LONG, "--workers", str(workers), "--store", str(store_path))
    _wait_for(lambda: len(_stored(store_path)) >= 3, process)
    told = "interrupted: finished games and all replies are saved; run the same command to resume"
    assert lasting_lines(_interrupted(process)) == [told]
    assert 3 <= len(_stored(store_path)) < LONG_GAMES


@pytest.mark.slow
@pytest.mark.usefixtures("stop")
def test_an_impatient_interruption_ends_as_well(launch: Launch, store_path: Path) -> None:
    options = ("--map", "clique:3", "--games", "60", "--years", "3", "--message-rounds", "0", "--workers", "2")
    process = launch(SCRIPT, "self-play", PLAYER, *options, "--store", str(store_path))
    _wait_for(lambda: len(_stored(store_path)) >= 3, process)
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    assert 3 <= len(_stored(store_path)) < 60


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_command_goes_on_where_it_was(launch: Launch, tmp_path: Path, workers: int, stop: Path) -> None:
    command = (*LONG, "--workers", str(workers), "--store", "killed.sqlite", "--json")
    process = launch(SCRIPT, *command)
    _wait_for(lambda: len(_stored(tmp_path / "killed.sqlite")) >= 3, process)
    _kill_group(process)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (-signal.SIGKILL, "")
    before = _stored(tmp_path / "killed.sqlite")
    assert 3 <= len(before) < LONG_GAMES

    stop.unlink()
    resumed = launch(SCRIPT, *command)
    out, err = resumed.communicate(timeout=PATIENCE)
    assert resumed.returncode == 0, err
    undisturbed = launch(SCRIPT, *LONG, "--workers", "1", "--store", "undisturbed.sqlite", "--json")
    assert out == undisturbed.communicate(timeout=PATIENCE)[0]
    after = _stored(tmp_path / "killed.sqlite")
    assert len(after) == LONG_GAMES
    assert before.items() <= after.items()  # none of the finished games was played and stored again
    records = [
        {key: row[1] for key, row in _stored(tmp_path / name).items()}
        for name in ("killed.sqlite", "undisturbed.sqlite")
    ]
    assert records[0] == records[1]


@pytest.mark.slow
@pytest.mark.usefixtures("stop")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=str)
def test_workers_end_with_their_parent(launch: Launch, store_path: Path, how: signal.Signals) -> None:
    process = launch(SCRIPT, *LONG, "--workers", "2", "--store", str(store_path))
    _wait_for(lambda: len(_stored(store_path)) >= 3, process)
    process.send_signal(how)
    process.wait(PATIENCE)
    _wait_for(lambda: not _living(process.pid))


@pytest.mark.slow
@pytest.mark.usefixtures("stop")
def test_a_lost_worker_is_told(launch: Launch, store_path: Path, lasting_lines) -> None:
    process = launch(SCRIPT, *LONG, "--workers", "2", "--store", str(store_path))
    _wait_for(lambda: len(_stored(store_path)) >= 3, process)
    os.kill(max(filter(_is_worker, _living(process.pid))), signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    (line,) = lasting_lines(err)
    assert line.startswith("error: a worker process ended")
    assert "Finished games are in the store" in line


COMMANDS = {
    "exact": ("exact.load_board", ["exact", "hold"]),
    "transcript": ("games.saved_games", ["transcript", "1"]),
    "plot": ("experiments.read_study", ["experiment", "folder", "--plot", "png"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("called", "command"), COMMANDS.values(), ids=COMMANDS)
def test_they_start_again(called: str, command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"evaluation.cli.{called}", interrupted)
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stderr) == (130, "interrupted: run the same command to start over\n")
