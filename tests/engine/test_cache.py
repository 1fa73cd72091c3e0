"""numba's cache on disk looks at the file of a kernel only, so that file has to change when what it imports does."""

import hashlib
from types import ModuleType

import pytest

from welfare_env.engine import kernels, tables
from welfare_env.envs import observation


@pytest.mark.parametrize(("module", "sources"), [(kernels, [kernels]), (observation, [tables, observation])])
def test_the_kernels_know_the_numbers_that_they_import(module: ModuleType, sources: list[ModuleType]) -> None:
    found = {
        name: value
        for source in sources
        for name, value in vars(source).items()
        if name.isupper() and isinstance(value, int)
    }
    digest = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16]
    assert digest == module.IMPORTS_DIGEST, f"write the new digest into {module.__name__}"
