"""Python started anew, for what an import or an exit does."""

import os
import subprocess
import sys
from pathlib import Path


def python(code: str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """What this code prints, which must end well; `variables` are of its environment."""
    command, environment = [sys.executable, "-c", code, *arguments], os.environ | variables
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
