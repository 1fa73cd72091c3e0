"""Tests that need libraries which the project's own environment has not: ``make test-tools`` makes one for each.

A library that is missing there is a failure. Without ``-m tools`` these files are not even imported.
"""

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves these files out unless they are asked for."""
    return None if config.option.markexpr == "tools" else True
