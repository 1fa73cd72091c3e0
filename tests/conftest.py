"""What every test shares: settings of hypothesis and of garbage, a folder of boards, and the option to rewrite golden
files."""

import gc
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator

import hypothesis
import pytest

from agents.runtime.progress import Meter

# The same examples in every run, like everything else here; no deadline, since a first call may compile or load maps.
hypothesis.settings.register_profile("reproducible", derandomize=True, deadline=None)
hypothesis.settings.load_profile("reproducible")

# Boards are cached in a folder of this run, which its workers and their processes share; no earlier cache is read.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="welfare-env-tests-")
    os.environ["XDG_CACHE_HOME"] = _CACHE.name

# Workers share the cores: torch's threads would wait for each other, busily, for four times as long as they compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background has their processes ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # while ten thousand tests are collected, of which nothing is garbage


# What a command says on stderr only where something takes long: its progress every ten seconds, and that it compiles.
PASSING = r"compiling .*|.*: .* so far(, about .* left|, time left not known yet)?|.*: \d+% done in .*, about .* left"


@pytest.fixture(scope="session")
def lasting_lines() -> Callable[[str], list[str]]:
    """``lasting_lines(stderr)``: its lines without those that a slow or busy machine adds."""
    return lambda stderr: [line for line in stderr.splitlines() if not re.fullmatch(PASSING, line)]


@pytest.fixture(scope="session", autouse=True)
def no_bar_passes_its_end() -> Iterator[None]:
    """Whatever a test runs in this process: no more is done than the total that its progress bar began with."""
    tell = Meter._tell

    def checked(self: Meter) -> None:
        task = self.bar.tasks[-1]
        assert task.completed <= (task.total or 0), f"{task.description}: {task.completed} of {task.total}"
        tell(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Meter, "_tell", checked)
        yield


def pytest_collection_finish() -> None:
    """From here on garbage is collected, but not looked for in what was there before."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--update-golden`; a test asks `request.config.getoption("--update-golden")` and writes its file anew."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the files under tests/golden")
