"""Compiling ahead of time: what is compiled is what is used, and who waits is told why."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from numba import njit

import welfare_env
from welfare_env import compiling
from welfare_env.engine import precompile

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
COMPARE = """
from welfare_env.engine import precompile
for name in sum((*precompile.GAMES, *precompile.VECTORS), ()):
    kernel, signature = precompile._kernel(name)
    assert list(kernel.signatures) == [signature], (name, kernel.signatures, signature)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
def test_kernels_are_compiled_ahead_for_the_types_that_they_are_called_with() -> None:
    ended = run(USE + COMPARE)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


@pytest.mark.slow
def test_vector_env_compiles_nothing_that_only_single_games_need() -> None:
    code = "import welfare_env; welfare_env.vector_env(1).reset()\nfrom welfare_env.engine import kernels\n"
    ended = run(code + "assert kernels.legal_games.signatures and not kernels.legal_flat.signatures")
    assert ended.returncode == 0, ended.stderr


def test_what_is_in_the_cache_starts_no_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
    welfare_env.warm_up()
    capfd.readouterr()
    monkeypatch.setattr(subprocess, "Popen", None)
    reports: list[tuple[int, int]] = []
    welfare_env.warm_up(on_progress=lambda ready, total: reports.append((ready, total)))
    welfare_env.warm_up()
    names = sum((*precompile.SHARED, *precompile.GAMES, *precompile.VECTORS), ())
    assert reports == [(len(names), len(names))]
    assert capfd.readouterr() == ("", "")


PYTHON = sys.executable
FAILS = "#!/bin/sh\necho 'no module numba' >&2; exit 1\n"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are compiled in this process, when none is in the cache."""
    names: list[str] = []
    monkeypatch.setattr(precompile, "_is_cached", lambda name: False)
    monkeypatch.setattr(precompile, "_compile", names.append)
    monkeypatch.setattr(precompile, "SHARED", ((), ()))
    return names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executable", "ready", "told"),
    [
        (PYTHON, 3, ""),
        ("", 1, ""),  # an embedded Python
        ("python-missing", 1, "cannot start a process for compiling ("),
        ("python-fails", 1, "a process for compiling has failed (no module numba): compiling in this one"),
    ],
)
def test_what_processes_cannot_compile_is_compiled_here(
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture,
    executable: str,
    ready: int,
    told: str,
) -> None:
    (tmp_path / "python-fails").write_text(FAILS)
    (tmp_path / "python-fails").chmod(0o700)
    monkeypatch.setattr(sys, "executable", executable if executable in (PYTHON, "") else str(tmp_path / executable))
    reports: list[tuple[int, int]] = []
    precompile.compile_engine(precompile.GAMES, on_progress=lambda *numbers: reports.append(numbers))
    assert compiled == ["step_flat", "legal_flat"]
    assert (len(reports), reports[-1]) == (ready, (2, 2))
    out, err = capfd.readouterr()
    assert (out, told in err, bool(err)) == ("", True, bool(told))


@pytest.mark.slow
def test_the_current_folder_hides_no_module(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    (tmp_path / "llvmlite.py").write_text("raise SystemExit('the wrong llvmlite')")
    monkeypatch.chdir(tmp_path)
    precompile.compile_engine(precompile.GAMES, on_progress=lambda ready, total: None)
    assert capfd.readouterr() == ("", "")


def test_threads_ask_the_cache_at_once() -> None:
    """While one asks, others compile functions of their own."""
    mine = njit(lambda x: x + 1)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(precompile.compile_engine, precompile.GAMES) for _ in range(8)]
        assert [pool.submit(mine, number).result() for number in (1, 1.5, 1j)] == [2, 2.5, 1 + 1j]
        assert [task.result() for task in asked] == [None] * 8


def test_a_notice_is_printed_once_and_never_after_silence(capfd: pytest.CaptureFixture) -> None:
    announcer = compiling.Announcer()
    for _ in range(2):
        for text in compiling.NOTICES.values():
            announcer.announce(text)
    out, err = capfd.readouterr()
    assert (out, err.splitlines()) == ("", list(dict.fromkeys(compiling.NOTICES.values())))
    silent = compiling.Announcer()
    silent.keep_silent()
    silent.announce(compiling.NOTICES["agents."])
    assert capfd.readouterr() == ("", "")


KERNELS = """
import sys
from numba import njit
import welfare_env.compiling

for module in ("theirs.welfare_env.", "welfare_env.engine.kernels.movement", "agents.rl.inputs"):
    def add(x):
        return x + 1

    add.__module__ = module
    kernel = njit(add)
    print(module, file=sys.stderr)
    print(kernel(1), kernel(1.5))
"""


@pytest.mark.slow
def test_python_says_once_that_it_compiles_what_is_ours() -> None:
    ended = run(KERNELS)
    assert (ended.returncode, ended.stdout) == (0, "2 2.5\n" * 3)
    ours, players = compiling.NOTICES["welfare_env."], compiling.NOTICES["agents."]
    modules = "theirs.welfare_env.", "welfare_env.engine.kernels.movement", "agents.rl.inputs"
    assert ended.stderr.splitlines() == [*modules[:2], ours, modules[2], players]


@pytest.mark.slow  # compiles everything
def test_from_an_empty_cache(tmp_path: Path) -> None:
    """Python says that it compiles, warm_up compiles all that is used, and each kernel for one set of types."""
    cold = run("import welfare_env; welfare_env.warm_up(print)", NUMBA_CACHE_DIR=str(tmp_path))
    assert (cold.returncode, cold.stdout.splitlines()[-1], cold.stderr) == (0, "12 12", "")
    warm = run(USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert (warm.returncode, warm.stdout, warm.stderr) == (0, "", "")
    versions = Counter(path.name.rsplit(".", 2)[0] for path in tmp_path.rglob("*.nbc"))
    assert {kernel for kernel, count in versions.items() if count > 1} == set()
