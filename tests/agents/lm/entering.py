"""What tasks wait for (`agents.lm.models.limits.RequestSlot`), entered by threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from agents.lm.models.limits import LOOP, RequestSlot

Entered = TypeVar("Entered", bound=RequestSlot)


@contextmanager
def entered(slot: Entered) -> Iterator[Entered]:
    """``with entered(gate):`` waits in a task for the slot, and leaves at the end of the block."""
    LOOP.run(slot.__aenter__())
    try:
        yield slot
    finally:
        LOOP.run(slot.__aexit__())
