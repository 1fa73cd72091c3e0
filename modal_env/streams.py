"""Standard output and standard error that can print every formula, table and path, in any locale."""

from __future__ import annotations

import io
import os
import sys


def print_anything() -> None:
    """In an ASCII locale (LC_ALL=C) print UTF-8, and elsewhere what cannot be encoded as \\u25a1.

    Python does so, too, unless told not to (PYTHONUTF8=0); an encoding in PYTHONIOENCODING is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not in a notebook or a test
            is_ascii = stream.encoding.lower() in ("ascii", "ansi_x3.4-1968", "us-ascii")
            wanted = "utf-8" if is_ascii and not os.environ.get("PYTHONIOENCODING") else stream.encoding
            stream.reconfigure(encoding=wanted, errors="backslashreplace")
