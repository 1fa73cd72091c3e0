"""The kernels as they are loaded, from an empty cache, without the compiler, and for a long time."""

import resource
from pathlib import Path

import pytest

import welfare_env
from tests.processes import run
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

LOADED = """
import gc, welfare_env
from numba.core.dispatcher import Dispatcher
def loaded():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    assert all(len(each.signatures) <= 1 for each in kernels)
    return sorted((each.py_func.__qualname__, str(each.signatures)) for each in kernels if each.signatures)
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


def test_warm_up_loads_all_that_is_used() -> None:
    """Each kernel for one set of types, or Python would compile in the middle of a game."""
    code = f"{LOADED}\nwelfare_env.warm_up()\nbefore = loaded()\n{USE}\nprint(loaded() == before)"
    assert run("-c", code, NUMBA_DISABLE_JIT="0") == ("True\n", "")


@pytest.mark.slow
def test_from_an_empty_cache(tmp_path: Path) -> None:
    """Python says once that it compiles; the compiler can check bounds, too."""
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run("-c", SHORT, **checked) == ("checked compiled\n", f"{NOTICE}\n")
    assert run("-c", SHORT, **checked) == ("checked compiled\n", "")


@pytest.mark.slow
def test_without_the_compiler() -> None:
    """No kernel leaves its arrays: Python checks their bounds, also in games beside the package's."""
    assert run("-c", USE + SHORT, NUMBA_DISABLE_JIT="1")[0].split() == ["checked", "interpreted"]
    assert "all" in run("-m", "tools.equivalence", *SAMPLE, cwd=ROOT, NUMBA_DISABLE_JIT="1")[0]


@pytest.mark.slow
def test_many_phases_take_no_memory() -> None:
    """Six hundred thousand in all, in pieces; the first piece fills caches. Two bytes a phase would be seen."""
    games = welfare_env.vector_env(100, rules=Rules(press=None), threads=1)
    games.reset(seed=2024)
    ended, memory = 0, []
    for _ in range(3):
        for _ in range(2_000):
            ended += int(games.step(games.sample())[1].sum())
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # KiB
    assert ended > 6_000
    assert memory[-1] - memory[0] < 512
