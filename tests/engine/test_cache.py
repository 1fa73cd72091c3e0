"""numba's cache on disk looks at the file of a kernel only, so that file has to change when what it imports does."""

import hashlib

from welfare_env.engine import kernels, tables


def test_the_kernels_know_the_positions_of_the_tables() -> None:
    positions = {name: value for name, value in vars(tables).items() if name.isupper() and isinstance(value, int)}
    digest = hashlib.sha256(repr(sorted(positions.items())).encode()).hexdigest()[:16]
    assert digest == kernels.POSITIONS_DIGEST, "write the new digest into kernels.py (and save observation.py anew)"
