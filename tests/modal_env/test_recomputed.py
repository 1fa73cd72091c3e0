"""What the post and the pages say once more, without a line of the package: by the naive evaluator."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.modal_env.naive import Node, Plays, parts_of, some_formula, tree

pytestmark = pytest.mark.slow

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


def depths_of(texts: dict[str, str]) -> dict[str, int]:
    """Of each agent the larger of the nesting of boxes and the depths of the agents called."""

    def boxes(node: Node) -> int:
        kind, *parts = node
        return (kind == "[]") + max((boxes(part) for part in parts if isinstance(part, tuple)), default=0)

    depths = {"me": 0}
    for name, text in texts.items():
        called = [depths[node[1]] for node in parts_of(tree(text)) if node[0] == "X"]
        depths[name] = max([boxes(tree(text)), *called])
    return depths


def crowd(seed: int, level: int, count: int) -> dict[str, str]:
    """The named agents and random ones up to a depth, each of which may call those before it."""
    rng, texts = np.random.default_rng(seed), dict(TEXTS)
    able = [name for name, depth in depths_of(texts).items() if depth <= level and not words_of(texts.get(name, ""))]
    for number in range(count):
        atoms = ["X(me)", *(f"X({name})" for name in able)]
        able.append(f"R{number}")
        texts[able[-1]] = some_formula(rng, atoms, level, 3)
    assert max(depths_of(texts)[name] for name in able) <= level
    return texts


def words_of(text: str) -> list[str]:
    return re.findall(r"(?<!X\()\bme\b", text)


def paid_against(plays: Plays, mix: dict[str, Fraction], name: str) -> Fraction:
    return sum((share * PAID[plays.outcome(name, other)] for other, share in mix.items()), Fraction(0))


@pytest.mark.parametrize("level", [1, 2])
def test_the_equilibria_against_random_agents(level: int) -> None:
    """The good mix up to 1/3, SlipBot up to 1/2 and OneBot at 1; no agent is trusted by both FairBot and UnfairBot."""
    exploited = 0
    for seed in range(12):
        texts = crowd(seed, level, 150)
        plays, depths = Plays(texts), depths_of(texts)
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
    plays, depths = Plays(texts), depths_of(texts)

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
