"""What every test shares: hypothesis' settings, a folder of boards, and the option that rewrites golden files."""

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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--update-golden`; a test asks `request.config.getoption("--update-golden")` and writes its file anew."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the files under tests/golden")
