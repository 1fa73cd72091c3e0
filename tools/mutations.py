"""Mutation tests: one small error at a time in a copy of the tree, and the tests that should fail.

``python -m tools.mutations`` tries every mutant of mutations.toml and prints the number killed, by room, and the
survivors. A mutant is killed if a test fails with it that passes without it. The data name its tests, since coverage
does not see compiled code. If none of the named tests in `make test` fails, the named slow tests are tried, which only
`make test-all` runs: such mutants have a separate column. If these do not fail either, all quick tests in the same
folders are tried. Mutants of the engine's kernels, which take a minute or two to recompile, come last.

An interrupted run resumes. Verdicts are saved in runs/mutations, and a mutant is tried again only if its file, its
tests or its own text have changed; remove that folder to try all again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import signal
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).with_suffix(".toml")
LEFT_OUT = (".git", ".venv", "runs", "build", "dist", "htmlcov", ".mypy_cache", ".ruff_cache", ".hypothesis")
# Imported once, before forking a process per mutant: none of our own modules, and none that starts a thread.
PRELOADED = ("hypothesis", "scipy.stats", "numba", "pettingzoo", "typer.testing", "rich.table", "diplomacy", "torch",
             "ray.rllib.algorithms.ppo.torch.ppo_torch_learner")  # fmt: skip
KILLED, KILLED_BY_SLOW, SURVIVED, TIME_OUT = "killed", "slow only", "survived", "out of time"
QUICK, SLOW, ANY = ("not slow and not tools", "slow", "not tools")
NO_TESTS = 5  # pytest's exit status if the marks or -k leave nothing
LIMIT = 600  # seconds per mutant, including recompilation


class MutationError(Exception):
    """A mutant cannot be tried: its text is not found exactly once, or its tests do not run or fail without it."""


@dataclass(frozen=True)
class Mutant:
    """An error to introduce, and the tests that should detect it.

    Attributes:
        name: description of the error.
        room: the room under which it is counted.
        file: path from the root of the tree.
        old, new: the text to replace, which occurs exactly once in the file, and its replacement.
        tests: arguments of pytest.
        survives: why no test can or need fail; "" if one must.
    """

    name: str
    room: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    @property
    def recompiles(self) -> bool:
        """Whether its file has compiled functions."""
        return "kernels" in self.file

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of its tests."""
        files = [Path(test.partition("::")[0]) for test in self.tests if test.startswith("tests/")]
        return tuple(dict.fromkeys(str(file.parent if file.suffix else file) for file in files))


Tried = tuple[Mutant, dict[str, Any]]


def load(data: Path, root: Path) -> list[Mutant]:
    """The mutants of a data file; those that recompile come last.

    Raises:
        MutationError: a text is not found exactly once, or two mutants have the same name.
    """
    given = tomllib.loads(data.read_text(encoding="utf-8"))["mutant"]
    mutants = [Mutant(**{**each, "tests": tuple(each["tests"])}) for each in given]
    names = [mutant.name for mutant in mutants]
    faults = [f"{name}: a name given twice" for name in sorted(set(names)) if names.count(name) > 1]
    for mutant in mutants:
        found = (root / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if found != 1 or mutant.old == mutant.new:
            faults.append(f"{mutant.name}: {mutant.file} contains its text {found} times, not once: {mutant.old!r}")
    if faults:
        raise MutationError("\n".join(faults))
    return sorted(mutants, key=lambda mutant: mutant.recompiles)


class Copy:
    """A copy of the tree, with its compiled code, in which mutants are tried."""

    def __init__(self, root: Path, place: Path, limit: float) -> None:
        self._root, self.place, self._limit = root, place, limit
        if place.exists():
            shutil.rmtree(place)
        for name in PRELOADED:
            with suppress(ImportError):
                import_module(name)
        shutil.copytree(root, place, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def attempt(self, mutant: Mutant) -> dict[str, Any]:
        """The verdict on a mutant, and the test that fails with it.

        Raises:
            MutationError: the mutant's tests do not run.
        """
        file = self.place / mutant.file
        file.write_text(file.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
        began = time.monotonic()
        try:
            verdict, failed = self._test_in_steps(mutant)
        finally:
            self._restore(mutant)
        return {"verdict": verdict, "by": failed, "seconds": round(time.monotonic() - began), "name": mutant.name}

    def _test_in_steps(self, mutant: Mutant) -> tuple[str, list[str]]:
        """Run the named quick tests, then the named slow tests, then all quick tests in their folders."""
        if not mutant.tests:
            return SURVIVED, []
        verdict, failed = self._test("-x", "-m", QUICK, *mutant.tests)
        if verdict == SURVIVED:
            verdict, failed = self._test("-x", "-m", SLOW, *mutant.tests)
            verdict = KILLED_BY_SLOW if verdict == KILLED else verdict
        if verdict == SURVIVED:
            verdict, failed = self._test("-x", "-m", QUICK, *mutant.folders)
        return verdict, failed

    def failing(self, tests: Sequence[str]) -> list[str]:
        """The tests, among these, that fail without any mutant."""
        return self._test("-m", ANY, *tests)[1] if tests else []

    def _restore(self, mutant: Mutant) -> None:
        """Restore the file and its compiled code, with their modification times, which caches check."""
        shutil.copy2(self._root / mutant.file, self.place / mutant.file)
        compiled = Path(mutant.file).parent / "__pycache__"
        shutil.rmtree(self.place / compiled, ignore_errors=True)
        if (self._root / compiled).exists():
            shutil.copytree(self._root / compiled, self.place / compiled)

    def _test(self, *arguments: str) -> tuple[str, list[str]]:
        """Run tests: the verdict, and those that failed."""
        cache, log = self.place / ".pytest_cache", self.place / "pytest.log"
        shutil.rmtree(cache, ignore_errors=True)
        if not (child := os.fork()):  # the child inherits imported modules
            self._become_pytest(arguments, log)
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes left over by tests
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            return TIME_OUT, []
        code, failures = os.waitstatus_to_exitcode(status), cache / "v" / "cache" / "lastfailed"
        if code in (0, NO_TESTS):
            return SURVIVED, []
        if code in (1, 2) and failures.exists():
            return KILLED, list(json.loads(failures.read_text(encoding="utf-8")))
        told = log.read_text(encoding="utf-8", errors="replace")
        if code < 0 or "\nE   " in told:  # compiled code wrote outside its arrays; or the tests cannot be imported
            return KILLED, []
        raise MutationError(f"{' '.join(arguments)}: pytest ended with {code}:\n{told[-2000:]}")

    def _become_pytest(self, arguments: Sequence[str], log: Path) -> NoReturn:
        """In a forked process: run tests in the copy, within the time limit, and exit."""
        os.setsid()
        signal.alarm(math.ceil(self._limit))
        os.chdir(self.place)
        (self.place / "tmp").mkdir(exist_ok=True)
        os.environ.update(PYTHONPATH=str(self.place), TMPDIR=str(self.place / "tmp"))
        sys.path[:] = [str(self.place), *(path for path in sys.path if Path(path).resolve() != self._root)]
        with log.open("w") as told:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
        os._exit(int(pytest.main(["-q", "--tb=short", *arguments])))


def fingerprint(mutant: Mutant, root: Path) -> str:
    """Digest of everything that the verdict depends on, except other files of the library."""
    tests = [root / test.partition("::")[0] for test in mutant.tests if test.startswith("tests/")]
    files = [root / mutant.file, *(file for test in tests for file in (sorted(test.rglob("*.py")) or [test]))]
    parts = [repr((mutant.old, mutant.new, mutant.tests)).encode(), *(file.read_bytes() for file in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def tried(mutants: Sequence[Mutant], root: Path, folder: Path, limit: float) -> list[Tried]:
    """Mutants with their verdicts, which are saved in a folder.

    Raises:
        MutationError: tests do not run, or fail without a mutant.
    """
    kept = folder / "verdicts.json"
    verdicts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    marks = [fingerprint(mutant, root) for mutant in mutants]  # before the copy, in case the tree is edited meanwhile
    if not all(mark in verdicts and verdicts[mark]["is_sound"] for mark in marks):
        copy = Copy(root, (folder / "tree").resolve(), limit)
        for mutant, mark in zip(mutants, marks, strict=True):
            if mark not in verdicts:
                verdicts[mark] = copy.attempt(mutant) | {"is_sound": False}
                kept.write_text(json.dumps(verdicts, indent=1), encoding="utf-8")
            print(f"{verdicts[mark]['verdict']:<12}{verdicts[mark]['seconds']:>4} s  {mutant.name}", file=sys.stderr)
        _make_sound(copy, [verdicts[mark] for mark in marks])
        kept.write_text(json.dumps(verdicts, indent=1), encoding="utf-8")
        shutil.rmtree(copy.place)
    return [(mutant, verdicts[mark]) for mutant, mark in zip(mutants, marks, strict=True)]


def _make_sound(copy: Copy, verdicts: Sequence[dict[str, Any]]) -> None:
    """Check that the tests that failed with a mutant pass without it, all in one run."""
    doubtful = [verdict for verdict in verdicts if not verdict["is_sound"]]
    failing = copy.failing(sorted({test for verdict in doubtful for test in verdict["by"]}))
    for verdict in doubtful:
        verdict["is_sound"] = not set(verdict["by"]) & set(failing)
    if failing:
        raise MutationError(f"these tests fail without a mutant, too: {', '.join(failing)}")


def table(found: Sequence[Tried]) -> str:
    """Numbers of mutants by room: tried, killed by make test, killed by slow tests only; and survivors with reasons."""
    lines = [f"{'room':<14}{'tried':>6}{'make test':>11}{'only make test-all':>20}{'survived':>10}"]
    rooms = {
        room: [v["verdict"] for m, v in found if m.room == room] for room in dict.fromkeys(m.room for m, _ in found)
    }
    for room, verdicts in (rooms | {"all": [verdict["verdict"] for _, verdict in found]}).items():
        killed, by_slow = verdicts.count(KILLED), verdicts.count(KILLED_BY_SLOW)
        left = len(verdicts) - killed - by_slow
        lines.append(f"{room:<14}{len(verdicts):>6}{killed:>11}{by_slow:>20}{left:>10}")
    for mutant, verdict in found:
        if verdict["verdict"] == KILLED_BY_SLOW:
            lines.append(f"{KILLED_BY_SLOW}: {mutant.name} ({mutant.file}): {verdict['by'][0]}")
        elif verdict["verdict"] != KILLED:
            reason = mutant.survives or "no reason is given: it needs a test"
            lines.append(f"{verdict['verdict']}: {mutant.name} ({mutant.file}): {reason}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, data: Path = DATA) -> int:
    """Returns 0 if every mutant is killed or has a reason to survive."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data, help="the mutants, such as of tools.draw_mutants")
    parser.add_argument("--only", metavar="TEXT", help="only mutants with this text in their name or file")
    parser.add_argument("--room", help="only mutants of a room")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds per mutant (default {LIMIT})")
    parser.add_argument("--folder", type=Path, default=root / "runs" / "mutations", help="for the copy and verdicts")
    given = parser.parse_args(arguments)
    try:
        chosen = [
            mutant
            for mutant in load(given.data, root)
            if given.room in (None, mutant.room) and (given.only or "") in f"{mutant.name} {mutant.file}"
        ]
        given.folder.mkdir(parents=True, exist_ok=True)
        found = tried(chosen, root, given.folder, given.limit)
    except MutationError as error:
        print(error, file=sys.stderr)
        return 2
    print(table(found))
    return int(any(v["verdict"] not in (KILLED, KILLED_BY_SLOW) and not mutant.survives for mutant, v in found))


if __name__ == "__main__":
    sys.exit(main())
