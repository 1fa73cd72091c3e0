"""Text that nobody should have written: pieces for the doors that read text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NASTY = (
    "",
    " ",
    "\0",
    "\n",
    "\t",
    "\ud800",
    "\u202e",
    "\u00a0",
    "é",
    "—",
    "🙂",
    ":",
    "=",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\\",
    "'",
    '"',
    "%s",
    "{0}",
    "../",
    "/dev/zero",
    "-",
    "--",
    "0",
    "-1",
    "1e999999999",
    "1" * 400,
    "nan",
    "inf",
    "True",
    "None",
    "[red]",
    ":good:",
    "<script>",
    "&amp;",
)


def pick(rng: np.random.Generator, items: Sequence[str]) -> str:
    """One of them."""
    return items[int(rng.integers(len(items)))]


def mangled(rng: np.random.Generator, text: str, times: int = 3) -> str:
    """A text with a few letters lost, doubled, swapped, moved or replaced by nasty ones; now and then blown up."""
    for _ in range(int(rng.integers(times + 1))):
        at, other = (int(rng.integers(len(text) + 1)) for _ in range(2))
        low, high = min(at, other), max(at, other)
        match int(rng.integers(6)):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + pick(rng, NASTY) + text[at:]
            case 2:
                text = text[:low] + text[high:]
            case 3:
                text = text[:high] + text[low:]
            case 4:
                text = text.swapcase()
            case _:
                text = text[:at] + text[at : at + 1] * int(10 ** rng.uniform(0, 4)) + text[at + 1 :]
    return text


def nonsense(rng: np.random.Generator, words: Sequence[str], most: int = 12) -> str:
    """Words of the language and nasty pieces in any sequence."""
    parts = [pick(rng, words if rng.random() < 0.7 else NASTY) for _ in range(int(rng.integers(most + 1)))]
    return pick(rng, ("", " ", ", ")).join(parts)


def nested(rng: np.random.Generator, opening: str, closing: str, core: str) -> str:
    """A core in up to 100,000 brackets, mostly closed."""
    depth = int(10 ** rng.uniform(0, 5))
    return opening * depth + core + closing * (depth if rng.random() < 0.8 else max(depth - 1, 0))


def junk(rng: np.random.Generator) -> object:
    """A value of any other kind than the one that is asked for."""
    values: tuple[object, ...] = (
        None,
        True,
        False,
        0,
        -1,
        10**30,
        -(10**30),
        1.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        b"x",
        [],
        {},
        (),
        [None],
        {"a": 1},
        object(),
        np.zeros(3),
        np.int64(3),
        np.float32(2),
        np.array(["A PAR H"]),
        [[]],
        {1: 2},
        range(5),
        lambda: None,
        np.array([1, 2], dtype=object),
        "A" * 5000,
        1j,
    )
    return values[int(rng.integers(len(values)))]
