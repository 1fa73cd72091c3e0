"""What every test shares: settings of hypothesis and of garbage, a folder of boards, and the option to rewrite golden
files."""

import gc
import os
import tempfile

import hypothesis
import pytest

# The same examples in every run, like everything else here; no deadline, since a first call may compile or load maps.
hypothesis.settings.register_profile("reproducible", derandomize=True, deadline=None)
hypothesis.settings.load_profile("reproducible")

# Boards are cached in a folder of this run, which its workers and their processes share; no earlier cache is read.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="welfare-env-tests-")
    os.environ["XDG_CACHE_HOME"] = _CACHE.name

gc.disable()  # while ten thousand tests are collected, of which nothing is garbage


def pytest_collection_finish() -> None:
    """From here on garbage is collected, but not looked for in what was there before."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--update-golden`; a test asks `request.config.getoption("--update-golden")` and writes its file anew."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the files under tests/golden")
