"""The console script ``welfare-env``. It imports little, so that Ctrl-C works from the start."""

from __future__ import annotations

import os
import signal
import sys


def end_at_interruptions() -> None:
    """Until a command begins, end the process at Ctrl-C: a KeyboardInterrupt would print the traceback of an import."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(signum: int, frame: object) -> None:
    os.write(2, b"interrupted\n")  # print is not for signal handlers
    os._exit(128 + signum)


def main() -> None:
    """Run a command. The current folder is appended to the import path, for your own policies."""
    end_at_interruptions()
    if sys.argv[1:] == ["--version"]:  # without all commands, whose import takes most of a second
        from welfare_env import __version__

        print(f"welfare-env {__version__}")
        return
    from evaluation.cli.commands import app
    from modal_env.console import print_anything

    print_anything()
    sys.path.append(os.getcwd())
    app(prog_name="welfare-env")
