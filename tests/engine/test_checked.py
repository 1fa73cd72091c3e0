"""The kernels with the compiler's bounds checks, without the compiler, and for a long time."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from welfare_env import Rules, load_board
from welfare_env.engine import initial_state, kernels
from welfare_env.engine import tables as t
from welfare_env.engine.fast import Scratch, rules_array
from welfare_env.engine.tables import tables_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ["--games", "1", "--positions", "20", "--others", "3", "--dumbbots", "1", "--seed", "5"]

# A scratch array that is one row short: only checked code notices.
SHORT = """
import numpy as np
from welfare_env import load_board
from welfare_env.engine import initial_state, kernels
from welfare_env.engine import tables as t
board = load_board()
scratch = np.zeros((t.W_SEA, t.tables_of(board)[t.SCRATCH_WIDTH]), np.int32)
try:
    kernels.occupy(t.tables_of(board).numbers, initial_state(board).row.copy(), scratch)
except IndexError:
    print("checked", "compiled" if hasattr(kernels.occupy, "py_func") else "interpreted")
"""


def run(setting: str, cache: Path, *arguments: str) -> str:
    """What a fresh Python prints under one of numba's settings, with a cache of its own."""
    env = os.environ | {setting: "1", "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=env, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "seen"), [("NUMBA_BOUNDSCHECK", "compiled"), ("NUMBA_DISABLE_JIT", "interpreted")])
def test_no_kernel_leaves_its_arrays(setting: str, seen: str, tmp_path: Path) -> None:
    assert run(setting, tmp_path, "-c", SHORT).split() == ["checked", seen]
    assert "all" in run(setting, tmp_path, "-m", "tools.equivalence", *SAMPLE)


def resident() -> int:
    """The most memory this process has had so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["standard", "welfare"])
def test_a_million_phases_take_no_memory(variant: str) -> None:
    """Two million in all, in pieces; the first piece fills caches."""
    board = load_board()
    rules = rules_array(board, Rules(variant, press=None))
    tables, at, start = tables_of(board), Scratch(tables_of(board)), initial_state(board).row
    row, rng = start.copy(), np.array([2024], np.uint64)
    ended, memory = 0, []
    for _ in range(10):
        ended += kernels.play(
            tables.numbers,
            tables.masks,
            rules,
            row,
            at.w,
            at.b,
            at.x,
            start,
            rng,
            at.orders,
            at.starts,
            at.slots,
            at.powers,
            at.flags,
            100_000,
        )
        memory.append(resident())
    assert ended > 20_000
    assert row[t.UNITS] <= len(board.provinces)
    assert memory[-1] - memory[0] < 512
