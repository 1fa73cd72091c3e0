"""The command ``warm-up``: compile the engine before the first game."""

from __future__ import annotations

from agents.progress import metered
from evaluation.cli.console import errors_told


def warm_up() -> None:
    """Compile the game engine for this machine: half a minute on two cores, once an installation.

    Without it the first game does so. Prints nothing to standard output.
    """
    with errors_told("what is compiled is kept; run the same command for the rest"):
        from welfare_env.envs.precompile import NUMBER, compile_engine  # imports numba

        with metered("compiling the engine", NUMBER, "parts") as meter:
            compile_engine(on_progress=lambda ready, total: meter.reach(ready))
