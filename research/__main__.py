"""Smoke test: runs the commands in the last column of README.md's table, in a temporary folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commands() -> list[list[str]]:
    """The arguments of each command behind `python`."""
    page = (ROOT / "research" / "README.md").read_text(encoding="utf-8")
    return [shlex.split(found) for found in re.findall(r"^\| \[.*`python (-m [^`]+)` \|$", page, re.MULTILINE)]


def main() -> int:
    """The number of commands that failed."""
    failed = 0
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands():
            began = time.monotonic()
            done = subprocess.run([sys.executable, *command], cwd=folder, env=environment)  # noqa: S603 (of our own page)
            failed += done.returncode != 0
            print(f"{shlex.join(command)}: {'FAILED' if done.returncode else 'done'}, {time.monotonic() - began:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
