"""The command ``warm-up``: compile the engine before the first game."""

from __future__ import annotations

import welfare_env
from agents.progress import metered
from evaluation.cli.console import errors_told


def warm_up() -> None:
    """Compile the game engine for this machine: half a minute on two cores, once an installation.

    Without it the first game does so. Prints nothing to standard output.
    """
    with (
        errors_told("what is compiled is kept; run the same command for the rest"),
        metered("compiling the engine", 1, "kernels") as meter,
    ):
        welfare_env.warm_up(on_progress=lambda ready, total: meter.reach(ready, total=total))
