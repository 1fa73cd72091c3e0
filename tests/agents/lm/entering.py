"""What tasks wait for (`agents.lm.models.limits.Turn`), entered by threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from agents.lm.models.event_loop import LOOP
from agents.lm.models.limits import Turn

Entered = TypeVar("Entered", bound=Turn)


@contextmanager
def entered(turn: Entered) -> Iterator[Entered]:
    """``with entered(gate):`` waits in a task for the turn, and leaves at the end of the block."""
    LOOP.run(turn.__aenter__())
    try:
        yield turn
    finally:
        LOOP.run(turn.__aexit__())
