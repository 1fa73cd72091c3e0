"""Python started anew, for what an import or an exit does."""

import os
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, cwd: Path | None = None, **variables: str) -> tuple[str, str]:
    """What Python prints on stdout and on stderr; it must end well. `variables` are of its environment."""
    command, environment = [sys.executable, *arguments], os.environ | variables
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def python(code: str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """What this code prints on stdout."""
    return run("-c", code, *arguments, cwd=cwd, **variables)[0]
