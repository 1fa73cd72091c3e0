"""Writes tools/locked.txt: the files that CI installs, each with its hash.

``python -m tools.lock`` asks pip what it would install with constraints.txt, on Linux on x86-64 with Python 3.11 and
torch for CPUs. ``make locked`` takes no other files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKED = ROOT / "tools" / "locked.txt"
EXTRAS = "lm,plot,train,dev"
HEAD = "# Written by python -m tools.lock: what `make locked` installs, and the only files that it takes.\n"


def main() -> None:
    wanted = ("-c", "constraints.txt", "-e", f".[{EXTRAS}]", "editables")  # hatchling's, for -e
    asked = (sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-", *wanted)
    report = json.loads(subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603
    files = [each for each in report["install"] if "archive_info" in each["download_info"]]
    lines = sorted(f"{_pinned(each)} --hash=sha256:{_hash(each)}\n" for each in files)
    LOCKED.write_text(HEAD + "".join(lines), encoding="utf-8")


def _pinned(installed: dict) -> str:
    name, version = (installed["metadata"][key] for key in ("name", "version"))
    return f"{name.lower()}=={version}"


def _hash(installed: dict) -> str:
    return installed["download_info"]["archive_info"]["hashes"]["sha256"]


if __name__ == "__main__":
    main()
