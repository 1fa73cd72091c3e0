"""Every engine there is, for tests that ask for one."""

import pytest

from welfare_env.engine.engines import ENGINES


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """What is asserted with it holds for all engines."""
    return str(request.param)
