"""The console script ``welfare-env``. Imports little, so that it answers Ctrl-C from the beginning."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run a command. Modules in the current folder can be imported (own players), after installed packages."""
    end_at_interruptions()
    from evaluation.cli.app import command
    from modal_env.streams import print_anything

    print_anything()
    sys.path.append(os.getcwd())
    command()(prog_name="welfare-env")


def end_at_interruptions() -> None:
    """End the process at Ctrl-C, until a command begins (`agents.progress.errors_told`): there is nothing to clean up.

    A KeyboardInterrupt would print a traceback of whatever is being imported.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(signum: int, frame: object) -> None:
    os.write(2, b"interrupted\n")  # print is not for signal handlers
    os._exit(128 + signum)
