"""The console script ``welfare-env``. It imports little, so that Ctrl-C works from the start."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

# By file: importing modal_env itself takes half a second.
end_at_interruptions = runpy.run_path(str(Path(__file__).parents[2] / "modal_env" / "interruptions.py"))[
    "end_at_interruptions"
]


def main() -> None:
    """Run a command. The current folder is appended to the import path, for your own policies."""
    end_at_interruptions()
    from evaluation.cli.app import command
    from modal_env.console import print_anything

    print_anything()
    sys.path.append(os.getcwd())
    command()(prog_name="welfare-env")
