"""What a door is, and how one input is tried on it."""

from __future__ import annotations

import signal
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

SLOW = 1.0  # seconds of this process's own time that an answer may take, however busy the machine is
HANGS = 20.0  # seconds by the clock after which an answer is no longer waited for


@dataclass(frozen=True)
class Door:
    """A public function that takes text, numbers, arrays or files from outside.

    Attributes:
        draw: one input, from a generator of its own.
        knock: gives the input to the function; raises `Broken` where the answer, or what is left behind, is wrong.
        refusals: the named errors that the function may raise.
        inputs: how many are tried in a full run.
    """

    name: str
    draw: Callable[[np.random.Generator], Any]
    knock: Callable[[Any], object]
    refusals: tuple[type[Exception], ...]
    inputs: int


class Broken(Exception):
    """The door took the input, or refused it, but something is not as it should be."""


class _Hangs(BaseException):
    """No answer in time. Not an Exception, so that no handler of the door's takes it for its own."""


@dataclass
class Tally:
    """What came of the inputs tried on one door."""

    tried: int = 0
    refused: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.tried += other.tried
        self.refused += other.refused
        self.slowest = max(self.slowest, other.slowest)
        self.faults += other.faults


def input_of(door: Door, seed: int, index: int) -> Any:
    """Input number `index` of a run: the same for the same seed, whatever else is tried."""
    return door.draw(np.random.default_rng([seed, zlib.crc32(door.name.encode()), index]))


def try_inputs(door: Door, seed: int, indices: Iterable[int]) -> Tally:
    """Tries some inputs of a run, one after another."""
    tally = Tally()
    for index in indices:
        _try_one(door, index, input_of(door, seed, index), tally)
    return tally


def _try_one(door: Door, index: int, given: Any, tally: Tally) -> None:
    before = signal.signal(signal.SIGALRM, _stop_waiting)
    signal.setitimer(signal.ITIMER_REAL, HANGS)
    begun = time.process_time()
    fault = ""
    tally.tried += 1
    try:
        door.knock(given)
    except door.refusals:
        tally.refused += 1
    except _Hangs:
        fault = f"no answer in {HANGS:.0f} s"
    except BaseException as error:  # the point is to see what should never come out, SystemExit included
        if isinstance(error, KeyboardInterrupt):
            raise
        fault = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    took = time.process_time() - begun
    tally.slowest = max(tally.slowest, took)
    if not fault and took > SLOW:
        fault = f"took {took:.1f} s"
    if fault:
        tally.faults.append(f"{door.name} #{index}: {fault[:300]}  <- {_shown(given)}")


def _shown(given: Any) -> str:
    try:
        return f"{given!r:.300}"
    except ValueError:  # Python does not write down numbers of thousands of digits
        return f"{type(given).__name__} with a number that is too long to show"


def _stop_waiting(_number: int, _frame: FrameType | None) -> None:
    raise _Hangs
