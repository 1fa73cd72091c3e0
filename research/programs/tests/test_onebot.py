"""OneBot against itself: a pure equilibrium at epsilon = 1 among all agents without `me`.

The steps of the proof in proofs.md are checked with an evaluator that shares nothing with the package: it computes all
plays of a list of agents at once, world by world, as the definition says. Formulas are nested tuples: ("x", None) is
X(me), ("x", i) is X on agent i.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from modal_env import LIBRARY, OneBot, parse, play

Tuple = tuple[Any, ...]
Moves = NDArray[np.bool_]

WORLDS = 24
SEEDS, EACH = 16, 60
ME: Tuple = ("x", None)
CB, DB, FB, FALSE, TRUE, ALIKE, LATE, OWN = range(8)
NAMES = ("CooperateBot", "DefectBot", "FairBot", "FalseBot", "TrueBot", "AlikeBot", "LateBot", "OneBot")
_SAME: Tuple = ("<->", ("x", CB), ("x", DB))
_NO_FALSE: Tuple = ("~", ("[]", ("false",)))
# OneBot and all that it calls, written here once more.
FAMILY: list[Tuple] = [
    ("true",),
    ("false",),
    ("[]", ME),
    ("[]", ("false",)),
    _NO_FALSE,
    ("[]", _SAME),
    ("[]", ("|", _SAME, ("~", ("<->", ("x", FALSE), ("x", TRUE))))),
    (
        "|",
        ("&", ("[]", ME), ("~", ("[]", ("x", FB)))),
        (
            "&",
            ("~", ("[]", ("->", ("x", ALIKE), ("x", LATE)))),
            ("[]", ("->", ("&", ("x", LATE), ("x", ALIKE)), ME)),
        ),
    ),
]
# Exploits OneBot with depth 2.
DEEPER = parse("~[]X(me) & [][]X(me)", name="Deeper")


def everybody_plays(formulas: list[Tuple]) -> Moves:
    """[worlds, agents, agents] whether the first cooperates with the second at a world.

    A round makes one more world right at least, as a world follows from those before it; so there is one fixed point.
    """
    moves = np.zeros((WORLDS, len(formulas), len(formulas)), np.bool_)
    while True:
        found = np.stack([_values(formula, own, moves) for own, formula in enumerate(formulas)], axis=1)
        if (found == moves).all():
            return moves
        moves = found


def _values(formula: Tuple, own: int, moves: Moves) -> Moves:
    """[worlds, opponents] where an agent's formula holds."""
    kind, *parts = formula
    if kind in ("true", "false"):
        return np.full(moves.shape[:2], kind == "true")
    if kind == "x":
        return moves[:, :, own if parts[0] is None else parts[0]]
    values = [_values(part, own, moves) for part in parts]
    if kind == "[]":  # at all worlds before
        return np.concatenate([np.ones_like(values[0][:1]), np.logical_and.accumulate(values[0])[:-1]])
    if kind == "~":
        return ~values[0]
    left, right = values
    return {"&": left & right, "|": left | right, "->": ~left | right, "<->": left == right}[kind]


def some_formula(rng: np.random.Generator, depth: int, known: int, height: int, boxed: bool = False) -> Tuple:
    """A random formula with at most this nesting of boxes; it may call the agents below `known`."""
    if boxed and (height == 0 or rng.random() < 0.25):
        target = int(rng.integers(-known // 2, known))
        return ("x", target) if target >= 0 else ME
    if depth and (height == 0 or rng.random() < 0.4):
        inner = some_formula(rng, depth - 1, known, int(rng.integers(0, 4)), True)
        return ("[]", ("false",) if rng.random() < 0.1 else inner)
    if rng.random() < 0.25:
        return ("~", some_formula(rng, depth, known, max(height - 1, 0), boxed))
    sides = [some_formula(rng, depth, known, max(height - 1, 0), boxed) for _ in range(2)]
    return (str(rng.choice(["&", "|", "->", "<->"])), *sides)


@lru_cache
def crowd(seed: int, depth: int) -> tuple[list[Tuple], Moves]:
    """OneBot's family and random agents, each of which may call those before it; and all their plays."""
    rng = np.random.default_rng([seed, depth])
    formulas = list(FAMILY)
    for known in range(len(FAMILY), len(FAMILY) + EACH):
        formulas.append(some_formula(rng, depth, known, int(rng.integers(0, 4))))
    return formulas, everybody_plays(formulas)


def told(moves: Moves) -> str:
    return "".join("DC"[bool(move)] for move in moves)


@pytest.mark.slow
def test_nobody_of_depth_1_exploits_onebot() -> None:
    finals = [(moves[-1, OWN], moves[-1, :, OWN]) for _, moves in (crowd(seed, 1) for seed in range(SEEDS))]
    own, theirs = (np.concatenate(sides) for sides in zip(*finals, strict=True))
    assert len(own) > 1_000
    assert not (own & ~theirs).any()
    assert (own & theirs).sum() > 50
    assert (~own & theirs).sum() > 50


def test_it_defects_three_worlds_and_then_cooperates_with_itself() -> None:
    moves = everybody_plays(FAMILY)
    assert told(moves[:7, OWN, OWN]) == "DDDDCCC"
    for other, name in enumerate(NAMES):
        played = play(OneBot, LIBRARY[name], WORLDS)
        assert played.trace == tuple(zip(moves[:, OWN, other], moves[:, other, OWN], strict=True))


def test_some_of_depth_2_exploit_onebot() -> None:
    finals = [moves[-1, OWN] & ~moves[-1, :, OWN] for _, moves in (crowd(seed, 2) for seed in range(4))]
    assert np.concatenate(finals).any()
    assert play(DEEPER, OneBot, 8).trace == tuple(
        (own == "C", other == "C") for own, other in zip("DCDDDDDD", "DDDDCCCC", strict=True)
    )
    assert DEEPER.depth == 2


@pytest.mark.slow
def test_the_steps_of_the_proof() -> None:
    """The table of what agents of depth up to 1 do, and when the two parts of OneBot hold."""
    for seed in range(SEEDS):
        formulas, moves = crowd(seed, 1)
        for z in range(len(formulas)):
            e, c, d, g = moves[0, z, CB], moves[1, z, CB], moves[1, z, DB], moves[3, z, ALIKE]
            x = moves[2, z, FALSE]
            assert _rows(moves, z) == [[e, c, c], [e, d, d], [e, c, x], [e, d, x], [e, c, c, g], [e, c, c, c, g]]
            alike = np.full(WORLDS, c == d)
            assert (moves[:, ALIKE, z] == alike | (np.arange(WORLDS) < 2)).all()
            assert (moves[:, LATE, z] == alike | (np.arange(WORLDS) < 3)).all()
            against = moves[:, z, OWN]
            first = [against[:n].all() and not moves[:n, z, FB].all() for n in range(WORLDS)]
            second = [n >= 4 and g and not c and against[4:n].all() for n in range(WORLDS)]
            assert moves[:, OWN, z].tolist() == [bool(p or q) for p, q in zip(first, second, strict=True)]


def _rows(moves: Moves, z: int) -> list[list[bool]]:
    """What an agent does against those in the table, each up to the world from which it should stay the same."""
    lengths = {CB: 3, DB: 3, FALSE: 3, TRUE: 3, ALIKE: 4, LATE: 5}
    assert all((moves[length - 1 :, z, other] == moves[-1, z, other]).all() for other, length in lengths.items())
    return [moves[:length, z, other].tolist() for other, length in lengths.items()]
