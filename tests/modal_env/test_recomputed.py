"""What the post and the pages say once more, without a line of the package: an evaluator written for this check.

Agents are formulas as text. `Plays` evaluates a list of them world by world, all against all.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytestmark = pytest.mark.slow

Node = tuple[Any, ...]
TEXTS = {
    "CooperateBot": "true",
    "DefectBot": "false",
    "FairBot": "[]X(me)",
    "PrudentBot": "[](X(me) & (X(DefectBot) -> []false))",
    "UnfairBot": "[]~X(me)",
    "FalseBot": "[]false",
    "TrueBot": "~[]false",
    "CUPOD": "~[]~X(me)",
    "CIMCIC": "[](me -> X(me))",
    "DIMCID": "~[](me -> ~X(me))",
    "MirrorBot": "[]false | ~[]me & [](X(me) <-> me)",
    "SlipBot": "[][]false | ~[]X(me) & [](X(me) | []X(me)) & ~[](X(me) & []X(me) -> []false)",
    "AlikeBot": "[](X(CooperateBot) <-> X(DefectBot))",
    "LateBot": "[]((X(CooperateBot) <-> X(DefectBot)) | ~(X(FalseBot) <-> X(TrueBot)))",
    "OneBot": "[]X(me) & ~[]X(FairBot) | ~[](X(AlikeBot) -> X(LateBot)) & [](X(LateBot) & X(AlikeBot) -> X(me))",
}
PAID = {"CC": 2, "CD": 0, "DC": 3, "DD": 1}
WORLDS = 40
BINDS = {"<->": 0, "->": 1, "|": 2, "&": 3}


def tree(text: str) -> Node:
    """A formula as nested tuples; -> and <-> group to the right."""
    tokens = re.findall(r"\[\]|<->|->|X\(\w+\)|\w+|[~&|()]", text)

    def unary() -> Node:
        token = tokens.pop(0)
        if token in ("~", "[]"):
            return (token, unary())
        if token == "(":
            inside = binary(0)
            tokens.pop(0)
            return inside
        return ("X", token[2:-1]) if token.startswith("X(") else (token,)

    def binary(least: int) -> Node:
        left = unary()
        while tokens and BINDS.get(tokens[0], -1) >= least:
            sign = tokens.pop(0)
            left = (sign, left, binary(BINDS[sign] + (sign in "&|")))
        return left

    return binary(0)


class Plays:
    """All plays of some agents: `moves` is [worlds, agents, agents], whether the first cooperates with the second."""

    def __init__(self, texts: dict[str, str], worlds: int = WORLDS) -> None:
        self.names = list(texts)
        trees = [tree(text) for text in texts.values()]
        self.moves = np.zeros((worlds, len(trees), len(trees)), np.bool_)
        self.boxes: dict[tuple[int, Node], NDArray[np.bool_]] = {}
        for self.world in range(worlds):
            for self.own, one in enumerate(trees):
                self.moves[self.world, self.own] = self.value(one)
            self.close()

    def value(self, node: Node) -> NDArray[np.bool_]:
        """[agents] the value at this world against each opponent."""
        kind, *parts = node
        if kind == "[]":
            return self.boxes.setdefault((self.own, node), np.ones(len(self.names), np.bool_))
        if kind == "X":
            return self.moves[self.world, :, self.own if parts[0] == "me" else self.names.index(parts[0])]
        if kind == "me":
            return self.moves[self.world, self.own]
        if kind in ("true", "false"):
            return np.full(len(self.names), kind == "true")
        values = [self.value(part) for part in parts]
        if kind == "~":
            return ~values[0]
        left, right = values
        return {"&": left & right, "|": left | right, "->": ~left | right, "<->": left == right}[kind]

    def close(self) -> None:
        """Every box loses the opponents with which its content fails at this world."""
        new: dict[tuple[int, Node], NDArray[np.bool_]] = {}
        while missing := [key for key in self.boxes if key not in new]:  # a content may have boxes not seen so far
            for key in missing:
                self.own, (_, inner) = key
                new[key] = self.boxes[key] & self.value(inner)
        self.boxes = new

    def outcome(self, one: str, other: str) -> str:
        a, b = self.names.index(one), self.names.index(other)
        assert (self.moves[-9:, a, b] == self.moves[-1, a, b]).all()
        return "DC"[int(self.moves[-1, a, b])] + "DC"[int(self.moves[-1, b, a])]

    def word(self, one: str, other: str, length: int) -> str:
        a, b = self.names.index(one), self.names.index(other)
        return "".join("DC"[int(move)] for move in self.moves[:length, a, b])


def depth(text: str, depths: dict[str, int]) -> int:
    """The larger of the nesting of boxes and the depths of the agents called."""

    def of(node: Node) -> int:
        kind, *parts = node
        if kind == "X":
            return depths.get(parts[0], 0)
        return max((of(part) for part in parts if isinstance(part, tuple)), default=0)

    def boxes(node: Node) -> int:
        kind, *parts = node
        return (kind == "[]") + max((boxes(part) for part in parts if isinstance(part, tuple)), default=0)

    return max(of(tree(text)), boxes(tree(text)))


def crowd(seed: int, level: int, count: int) -> dict[str, str]:
    """The named agents and random ones up to a depth, each of which may call those before it."""
    rng, texts = np.random.default_rng(seed), dict(TEXTS)
    depths = {"me": 0}
    for name, text in texts.items():
        depths[name] = depth(text, depths)
    while len(texts) < len(TEXTS) + count:
        able = ["me", "me", *(name for name in texts if depths[name] <= level and "me" not in words_of(texts[name]))]
        text = some_formula(rng, able, level, 3)
        name = f"R{len(texts)}"
        texts[name], depths[name] = text, depth(text, depths)
        assert depths[name] <= level
    return texts


def words_of(text: str) -> list[str]:
    return re.findall(r"(?<!X\()\bme\b", text)


def some_formula(rng: np.random.Generator, able: list[str], level: int, height: int, boxed: bool = False) -> str:
    if boxed and (height == 0 or rng.random() < 0.3):
        return f"X({rng.choice(able)})"
    if level and (height == 0 or rng.random() < 0.45):
        return f"[]{some_formula(rng, able, level - 1, int(rng.integers(0, 3)), True)}"
    if height == 0 or rng.random() < 0.1:
        return str(rng.choice(["true", "false"]))
    if rng.random() < 0.3:
        return f"~{some_formula(rng, able, level, height - 1, boxed)}"
    parts = [some_formula(rng, able, level, height - 1, boxed) for _ in range(2)]
    return f"({parts[0]} {rng.choice(['&', '|', '->', '<->'])} {parts[1]})"


def paid_against(plays: Plays, mix: dict[str, Fraction], name: str) -> Fraction:
    return sum((share * PAID[plays.outcome(name, other)] for other, share in mix.items()), Fraction(0))


@pytest.mark.parametrize("level", [1, 2])
def test_the_equilibria_against_random_agents(level: int) -> None:
    """The good mix up to 1/3, SlipBot up to 1/2 and OneBot at 1; no agent is trusted by both FairBot and UnfairBot."""
    exploited = 0
    for seed in range(12):
        texts = crowd(seed, level, 150)
        plays, depths = Plays(texts), {"me": 0}
        for name, text in texts.items():
            depths[name] = depth(text, depths)
        for name in [name for name in texts if not words_of(texts[name])]:
            cost = depths[name]
            for eps in (Fraction(1, 100), Fraction(1, 3)):
                mix = {"CooperateBot": eps, "FairBot": 1 - 3 * eps / 2, "PrudentBot": eps / 2}
                assert paid_against(plays, mix, name) - eps * cost <= 2 - eps
            for eps in (Fraction(1, 100), Fraction(1, 2)):
                assert PAID[plays.outcome(name, "SlipBot")] - eps * cost <= 2 - 2 * eps
            assert PAID[plays.outcome(name, "OneBot")] - cost <= 1
            assert cost == 2 or plays.outcome(name, "SlipBot")[1] == "D"
            trusted = [plays.outcome(name, other)[1] for other in ("FairBot", "UnfairBot")]
            assert trusted != ["C", "C"]
            assert cost == 2 or trusted[0] == "D" or plays.outcome(name, "CooperateBot")[0] == "C"
            exploited += plays.outcome(name, "OneBot") == "DC"
    assert exploited == 0 or level == 2
    mix = {"CooperateBot": Fraction(2, 5), "FairBot": Fraction(2, 5), "PrudentBot": Fraction(1, 5)}
    assert paid_against(plays, mix, "DefectBot") == 1 + 2 * Fraction(2, 5) > 2 - Fraction(2, 5)
    pairs = {name: plays.outcome(name, name) for name in ("SlipBot", "OneBot", "MirrorBot")}
    assert set(pairs.values()) == {"CC"}


def test_what_slipbot_does() -> None:
    plays = Plays(TEXTS)
    others = ("CooperateBot", "DefectBot", "FairBot", "PrudentBot", "SlipBot")
    found = [(plays.word("SlipBot", name, 8), plays.word(name, "SlipBot", 8)) for name in others]
    assert found == [
        ("CCDDDDDD", "CCCCCCCC"),
        ("CCDDDDDD", "DDDDDDDD"),
        ("CCDDCDDD", "CCCDDDDD"),
        ("CCDCDDDD", "CCDDDDDD"),
        ("CCDCCCCC", "CCDCCCCC"),
    ]


def test_proof_searchers() -> None:
    plays = Plays(TEXTS)
    names = ("FairBot", "CUPOD", "CIMCIC", "DIMCID", "PrudentBot", "CooperateBot", "DefectBot")
    table = ["".join(plays.outcome(one, other)[0] for other in names) for one in names]
    assert table == ["CDCDCCD", "CDCDCCD", "CDCDCCD", "DDDDDDD", "CDCDCDD", "CCCCCCC", "DDDDDDD"]


def test_who_is_invaded() -> None:
    """At eps = 1/10, by agents up to the resident's depth: the direct ones of depth up to 1, and some of depth 2."""
    texts, eps = crowd(0, 2, 200), Fraction(1, 10)
    atoms = ["[]X(me)", "[]~X(me)", "[]false"]
    for number, signs in enumerate(product(("", "~"), repeat=3)):
        texts[f"B{number}"] = " & ".join(sign + atom for sign, atom in zip(signs, atoms, strict=True))
        texts[f"E{number}"] = " | ".join(sign + atom for sign, atom in zip(signs, atoms, strict=True))
    plays, depths = Plays(texts), {"me": 0}
    for name, text in texts.items():
        depths[name] = depth(text, depths)

    def paid(one: str, other: str) -> Fraction:
        return PAID[plays.outcome(one, other)] - eps * depths[one]

    invaded = set()
    for resident in TEXTS:
        own = paid(resident, resident)
        mutants = [name for name in texts if depths[name] <= depths[resident] and not words_of(texts[name])]
        gains = [(paid(name, resident) - own, paid(name, name) - paid(resident, name)) for name in mutants]
        if any(gain > (0, 0) for gain in gains if gain[0] >= 0):
            invaded.add(resident)
    assert set(TEXTS) - invaded == {"DefectBot", "SlipBot", "MirrorBot", "OneBot"}
