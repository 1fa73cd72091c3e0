"""The kernels from an empty cache with the compiler's bounds checks, without the compiler, and for a long time."""

import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import welfare_env
from welfare_env import Rules
from welfare_env.compiling import NOTICE

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ["--games", "1", "--positions", "20", "--others", "3", "--dumbbots", "1", "--seed", "5"]
USE = """
import numpy as np, welfare_env
game = welfare_env.Game(rules=welfare_env.Rules(years=2))
game.legal_orders("FRANCE")
while not game.is_done:
    game.advance()
games = welfare_env.vector_env(4, years=1)
games.reset(seed=0)
games.step(games.sample())
games.observe(np.arange(4), np.arange(4))
env = welfare_env.make(press=None, years=1)
env.reset(seed=0)
env.last()
"""

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


def run(*arguments: str, **settings: str) -> tuple[str, str]:
    """What a fresh Python prints on stdout and on stderr under some settings of numba."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=os.environ | settings
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow  # compiles everything
def test_from_an_empty_cache(tmp_path: Path) -> None:
    """Python says once that it compiles; warm_up compiles all that is used, each kernel for one set of types.

    No kernel leaves its arrays: everything is compiled with checks of their bounds.
    """
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run("-c", "import welfare_env; welfare_env.warm_up()", **checked) == ("", f"{NOTICE}\n")
    assert run("-c", USE, **checked) == ("", "")
    versions = Counter(path.name.rsplit(".", 2)[0] for path in tmp_path.rglob("*.nbc"))
    assert {kernel for kernel, count in versions.items() if count > 1} == set()
    assert run("-c", SHORT, **checked)[0].split() == ["checked", "compiled"]
    assert "all" in run("-m", "tools.equivalence", *SAMPLE, **checked)[0]


@pytest.mark.slow
def test_without_the_compiler() -> None:
    assert run("-c", USE + SHORT, NUMBA_DISABLE_JIT="1")[0].split() == ["checked", "interpreted"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["standard", "welfare"])
def test_many_phases_take_no_memory(variant: str) -> None:
    """Six hundred thousand in all, in pieces; the first piece fills caches. A byte a phase would be seen."""
    games = welfare_env.vector_env(100, rules=Rules(variant, press=None), threads=1)
    games.reset(seed=2024)
    ended, memory = 0, []
    for _ in range(3):
        for _ in range(2_000):
            ended += int(games.step(games.sample())[1].sum())
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # KiB
    assert ended > 6_000
    assert memory[-1] - memory[0] < 512
