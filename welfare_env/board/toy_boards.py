"""The paper's toy boards (section 3.2, appendix G), written as map files.

``clique:n`` is G_n: n cores, all adjacent to each other, are neutral centers; each core has one leaf, the home of a
player, with an army. ``shared-clique:n`` is G'_n: the first core has a second leaf, so two players share it.
"""

from __future__ import annotations

import string

from welfare_env.checks import quoted
from welfare_env.errors import UnknownMapError

SHAPES = ("clique", "shared-clique")
SMALLEST, LARGEST = 2, 20


def is_toy(name: str) -> bool:
    """Whether `name` is the name of a toy board."""
    return name.partition(":")[0] in SHAPES


def toy_map(name: str) -> str:
    """The text of a toy board's `.map` file.

    Raises:
        UnknownMapError: the number after the colon is missing or out of range.
    """
    shape, _, size = name.partition(":")
    if shape not in SHAPES or size not in map(str, range(SMALLEST, LARGEST + 1)):
        raise UnknownMapError(
            f"toy board {quoted(name)}: give clique:n or shared-clique:n with n from {SMALLEST} to {LARGEST}"
        )
    cores = string.ascii_uppercase[: int(size)]
    leaves = string.ascii_uppercase[: int(size) + (shape == "shared-clique")]
    core_of = dict(zip(leaves, cores + cores[0], strict=False))
    victory = (len(cores) + len(leaves)) // 2 + 1
    lines = [f"VICTORY {victory}", "BEGIN SPRING 1901 MOVEMENT", ""]
    for leaf in leaves:
        lines += [f"PLAYER{leaf} (PLAYER{leaf}) H{leaf}X", f"A H{leaf}X", ""]
    lines += ["UNOWNED " + " ".join(f"C{core}X" for core in cores), ""]
    lines += [f"Core{core} = c{core.lower()}x" for core in cores]
    lines += [f"Home{leaf} = h{leaf.lower()}x" for leaf in leaves]
    for core in cores:
        others = [f"C{other}X" for other in cores if other != core]
        own = [f"H{leaf}X" for leaf in leaves if core_of[leaf] == core]
        lines.append(f"LAND C{core}X ABUTS {' '.join(others + own)}")
    lines += [f"LAND H{leaf}X ABUTS C{core_of[leaf]}X" for leaf in leaves]
    return "\n".join(lines) + "\n"
