"""Ctrl-C, sent to the whole process group as a terminal does: a line, code 130, no traceback, and nothing left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import evaluation

CODE = Path(evaluation.__file__).parents[1]
PATIENCE = 120  # seconds; a busy machine takes its time to start Python
PROMPT = 20  # seconds to end, where an idle machine takes two at most

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
        if _living(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
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


def _is_worker(process: int) -> bool:
    """Not the command, Python's resource tracker, or a process that compiles."""
    try:
        return b"--multiprocessing-fork" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _interrupted(process: subprocess.Popen[str]) -> str:
    """What is on stderr after an interruption; checks the rest."""
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PROMPT)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("interrupted"), err
    assert err.count("interrupted") == 1
    _wait_for(lambda: not _living(process.pid))
    return err


STUCK = {
    "compiled code": "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
    "it is swallowed": """
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass""",
}


@pytest.mark.slow
@pytest.mark.parametrize("work", STUCK.values(), ids=STUCK)
def test_it_ends_even_where_python_does_not_see_it(launch: Launch, work: str) -> None:
    script = "import hashlib, time\nfrom modal_env.interruptions import ended_soon\n"
    script += f"with ended_soon('interrupted: really'):\n    print('begun', flush=True)\n    {work}\n"
    process = launch(script)
    time.sleep(0.5)  # so that it is at it
    assert _interrupted(process) == "interrupted: really\n"


@pytest.mark.slow
def test_patience_waits_for_the_block(launch: Launch) -> None:
    script = (
        "import time\nfrom modal_env import interruptions\n"
        "interruptions.GRACE = 0.1\n"
        "with interruptions.ended_soon('interrupted: too early'), interruptions.patient():\n"
        "    print('begun', flush=True)\n"
        "    try:\n        time.sleep(60)\n"
        "    except KeyboardInterrupt:\n        time.sleep(1)\n        raise SystemExit('saved')\n"
    )
    process = launch(script)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=PROMPT) == ("", "saved\n")


DEMO = ("demo", "--workers", "2")


@pytest.mark.parametrize("moment", [0, 0.5])
def test_while_the_command_is_imported(launch: Launch, moment: float) -> None:
    process = launch(SCRIPT, *DEMO)
    time.sleep(moment)
    _interrupted(process)


@pytest.mark.parametrize("module", ["evaluation", "training", "modal_env"])
def test_while_a_module_is_imported(launch: Launch, module: str) -> None:
    process = launch("import time\nprint('begun', flush=True)\ntime.sleep(60)\n", "--help", module=module)
    assert _interrupted(process) == "interrupted\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", [pytest.param(0, marks=pytest.mark.slow), 0.3, pytest.param(1, marks=pytest.mark.slow)]
)
def test_while_workers_start(launch: Launch, moment: float) -> None:
    process = launch(SCRIPT, *DEMO)
    _wait_for(lambda: any(_is_worker(each) for each in _living(process.pid)))
    time.sleep(moment)
    assert "finished games" in _interrupted(process)


@pytest.mark.slow
@pytest.mark.parametrize("is_cold", [False, True], ids=["compiled", "cold"])
@pytest.mark.parametrize("moment", [0.2 + 0.7 * step for step in range(22)])
def test_at_any_moment(launch: Launch, tmp_path: Path, moment: float, is_cold: bool) -> None:
    """With a copy of the code without its cache, too, so that workers are compiling."""
    code = CODE
    if is_cold:
        code = tmp_path / "code"
        for name in ("welfare_env", "modal_env", "agents", "training", "evaluation"):
            shutil.copytree(CODE / name, code / name, ignore=shutil.ignore_patterns("__pycache__"))
    process = launch(SCRIPT, *DEMO, code=code)
    time.sleep(moment)
    _interrupted(process)
