"""Ctrl-C in commands: they end within two seconds, even in the middle of compiled code.

Python raises KeyboardInterrupt in the main thread, between two Python instructions: so not while a compiled function
runs, which may take minutes. If it is raised in a callback from a compiler, it is printed and ignored.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE = 1.5  # seconds in which a command may end by itself
CODE = 130  # exit code of an interrupted command: 128 + SIGINT
SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it


@contextmanager
def ended_soon(line: str) -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C; if the block does not end soon after it, end the process with its children.

    Does nothing outside the main thread, and if Ctrl-C is ignored (as under nohup).

    Args:
        line: printed on stderr before the process ends.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return
    is_over = threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    watcher = threading.Thread(target=_watch, args=(reading, is_over, line), daemon=True)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        is_over.set()
        signal.set_wakeup_fd(wakeup)
        os.close(writing)
        watcher.join()
        os.close(reading)


@contextmanager
def patient() -> Iterator[Callable[[], None]]:
    """Within `ended_soon`, let the block take as long as it needs to end after Ctrl-C.

    Yields a function that restores the time limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    wakeup = signal.set_wakeup_fd(-1)

    def hurry() -> None:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    try:
        yield hurry
    finally:
        hurry()


def _watch(reading: int, is_over: threading.Event, line: str) -> None:
    """End the process `GRACE` seconds after Ctrl-C, unless the block has ended.

    Python writes the number of each signal into the pipe as it arrives, whatever the main thread does.
    """
    while number := os.read(reading, 1):
        if number[0] == signal.SIGINT and not is_over.wait(GRACE):
            for child in multiprocessing.active_children():
                child.kill()
            cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
            os.write(2, f"{cursor}{line}\n".encode())
            os._exit(CODE)
