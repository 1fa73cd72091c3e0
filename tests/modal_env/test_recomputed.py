"""The results of docs/modal-search.md once more, without a line of the package: an evaluator written for this check.

Agents are formulas as text. `Plays` evaluates a list of them world by world, all against all. Direct agents are
functions from what a history shows to a depth, computed here from the definition, and all pairs are covered by
branching over their plays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
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


class Kinds:
    """What histories of an opponent's moves show to a depth, numbered; `after[kind][move]` is the kind one world later.

    At depth 0 nothing; at depth d the set of (what was shown at depth d - 1, the move that followed).
    """

    def __init__(self, level: int) -> None:
        numbers, self.after, histories = {self.view((), level): 0}, [], [()]
        for history in histories:  # grows
            row = []
            for move in (False, True):
                longer = (*history, move)
                shown = self.view(longer, level)
                if shown not in numbers:
                    numbers[shown] = len(numbers)
                    histories.append(longer)
                row.append(numbers[shown])
            self.after.append(row)
        self.histories = histories

    @classmethod
    def view(cls, history: tuple[bool, ...], level: int) -> object:
        return _view(history, level)

    def __len__(self) -> int:
        return len(self.after)


kinds_of = cache(Kinds)


@cache
def _view(history: tuple[bool, ...], level: int) -> object:
    if level == 0:
        return ()
    return frozenset((_view(history[:n], level - 1), move) for n, move in enumerate(history))


Side = tuple[int, int]  # kinds that occur and the moves there, as bits


def all_plays(first: Kinds, second: Kinds) -> Iterator[tuple[Side, Side, bool, bool]]:
    """Every play of two direct agents once, for all agents with these moves; the first sees `first` kinds."""
    todo: list[tuple[dict[int, bool], dict[int, bool], int, int]] = [({}, {}, 0, 0)]
    while todo:
        mine, theirs, s, t = todo.pop()
        if s not in mine:
            todo += [({**mine, s: move}, theirs, s, t) for move in (False, True)]
        elif t not in theirs:
            todo += [(mine, {**theirs, t: move}, s, t) for move in (False, True)]
        else:
            after = first.after[s][theirs[t]], second.after[t][mine[s]]
            if after == (s, t):
                yield side(mine), side(theirs), mine[s], theirs[t]
            else:
                todo.append((mine, theirs, *after))


def side(moves: dict[int, bool]) -> Side:
    return sum(1 << kind for kind in moves), sum(int(move) << kind for kind, move in moves.items())


@cache
def reached(level: int, lower: int) -> NDArray[np.int64]:
    """[codes] for each direct agent, the outcomes that agents of a lower depth reach: bit 2 * theirs + own."""
    kinds = kinds_of(level)
    codes = np.arange(1 << len(kinds))
    found = np.zeros(len(codes), np.int64)
    for (mask, moves), _, own, theirs in all_plays(kinds, kinds_of(lower)):
        found[codes & mask == moves] |= 1 << (2 * theirs + own)
    return found


def shallow(level: int, lower: int) -> NDArray[np.int64]:
    """The codes of a depth that belong to agents of a lower depth."""
    kinds, below = kinds_of(level), kinds_of(lower)
    place = []
    for history in kinds.histories:
        kind = 0
        for move in history:
            kind = below.after[kind][move]
        place.append(kind)
    moves = product((0, 1), repeat=len(below))
    return np.array([sum(one[kind] << number for number, kind in enumerate(place)) for one in moves])


DD, OWN_C, THEIRS_C, CC = 1, 2, 4, 8  # bits of `reached`: DD, the agent alone cooperates, the other alone, both


def lemma(level: int) -> tuple[int, ...]:
    """Agents of a depth; those that cooperate with one up to it, and of these with none below; the same mutually."""
    fresh = np.ones(len(reached(level, level)), np.bool_)
    fresh[shallow(level, level - 1)] = False
    at, below = reached(level, level)[fresh], reached(level, level - 1)[fresh]
    friendly, mutual = at & (OWN_C | CC) > 0, at & CC > 0
    alone, never = below & (OWN_C | CC) == 0, below & CC == 0
    counts = (friendly, friendly & alone, mutual, mutual & alone, mutual & never)
    return int(fresh.sum()), *(int(found.sum()) for found in counts)


def test_how_many_kinds_and_plays() -> None:
    assert [len(kinds_of(level)) for level in range(4)] == [1, 4, 21, 133]
    found = list(all_plays(kinds_of(2), kinds_of(2)))
    assert len(found) == 1_100
    codes, groups = np.arange(2**21), np.zeros(2**21, np.int64)
    for (mask, moves), _, _, _ in found:
        groups[codes & mask == moves] += 1
    assert groups.max() == 58
    assert round(groups.mean()) == 31


def test_the_lemma_among_direct_agents() -> None:
    assert lemma(1) == (14, 13, 2, 11, 2, 4)
    assert lemma(2) == (2_097_136, 2_096_462, 19_804, 2_088_248, 18_780, 175_428)


def candidates() -> list[int]:
    """Agents of depth 2 that no cheaper agent gets anything from, nobody exploits, and some cooperate with."""
    at, below = reached(2, 2), reached(2, 1)
    good = (at & CC > 0) & (at & OWN_C == 0) & (below & (OWN_C | CC) == 0)
    good[shallow(2, 1)] = False
    return np.flatnonzero(good).tolist()


def final(one: int, other: int) -> tuple[bool, bool]:
    after, s, t = kinds_of(2).after, 0, 0
    for _ in range(60):
        x, y = one >> s & 1, other >> t & 1
        s, t = after[s][y], after[t][x]
    return bool(x), bool(y)


def slip() -> int:
    """SlipBot's code: by its words in the page, a function of what its opponent did."""
    code = 0
    for kind, history in enumerate(kinds_of(2).histories):
        code |= (len(history) < 2 or (history.count(False) == 1 and history[0] and history[1])) << kind
    return code


def test_the_820_pairs_and_the_four_that_callers_do_not_break() -> None:
    found = candidates()
    pairs = [(a, b) for a, b in product(found, repeat=2) if a <= b and final(a, b) == (True, True)]
    members = sorted({code for pair in pairs for code in pair})
    assert (len(pairs), len(members)) == (820, 40)
    assert slip() in members
    safe = [code for code in members if not deceived(code)]
    assert len(safe) == 4
    assert slip() in safe


def deceived(code: int) -> bool:
    """Whether an agent of depth 1 that calls the five has the cooperation: a function of the set of symbols seen."""
    after = kinds_of(2).after
    fixed = {"C": lambda n, own: True, "D": lambda n, own: False, "CD": lambda n, own: n == 0}
    fixed |= {"DC": lambda n, own: n > 0, "fair": lambda n, own: all(own[:n])}
    words = []
    for plays in fixed.values():
        kind, own = 0, []
        for world in range(WORLDS):
            move = plays(world, own)
            own.append(bool(code >> kind & 1))
            kind = after[kind][move]
        words.append(own)
    symbols = list(zip(*words, strict=True))
    todo: list[tuple[int, int, frozenset[Any], dict[frozenset[Any], bool]]] = [(0, 0, frozenset(), {})]
    while todo:
        world, kind, seen, decided = todo.pop()
        if seen not in decided:
            todo += [(world, kind, seen, {**decided, seen: move}) for move in (False, True)]
            continue
        own = bool(code >> kind & 1)
        if world == WORLDS - 1:
            if own:
                return True
            continue
        todo.append((world + 1, after[kind][decided[seen]], seen | {(own, symbols[world])}, decided))
    return False


def friends(word: str, level: int, lower: int) -> set[str] | None:
    """The outcomes of agents of a lower depth, their move first, against the agent of a word; None if there is none."""
    kinds, below = kinds_of(level), kinds_of(lower)
    path: dict[int, bool] = {}
    kind = 0
    for world in range(len(word) + len(kinds)):
        move = word[min(world, len(word) - 1)] == "C"
        if path.setdefault(kind, move) != move:
            return None
        kind = kinds.after[kind][move]
    found, todo = set(), [(0, 0, {})]
    while todo:
        s, t, moves = todo.pop()
        if t not in moves:
            todo += [(s, t, {**moves, t: move}) for move in (False, True)]
            continue
        own = path.get(s, False)
        after = kinds.after[s][moves[t]], below.after[t][own]
        if after == (s, t):
            found.add("DC"[moves[t]] + "DC"[own])
        else:
            todo.append((*after, moves))
    return found


@pytest.mark.parametrize(("level", "expected"), [(2, "CCDC"), (3, "CCCDDC CDCCDC DCCCDC CCCDCDC CCDCCDC DDCCCDC")])
def test_words(level: int, expected: str) -> None:
    found = []
    for length in range(2, 8):
        for letters in product("CD", repeat=length - 2):
            word = "".join(letters) + "DC"
            alike = friends(word, level, level)
            if alike is not None and "DC" not in alike and not friends(word, level, level - 1) & {"CC", "DC"}:
                found.append(word)
    assert found == expected.split()


def latest(level: int) -> int:
    """The latest world from which nothing changes any more, over all plays: the longest path."""
    after = kinds_of(level).after

    @cache
    def steps(s: int, x: bool, t: int, y: bool) -> int:
        u, v = after[s][y], after[t][x]
        if (u, v) == (s, t):
            return 0
        xs, ys = (x,) if u == s else (False, True), (y,) if v == t else (False, True)
        return 1 + max(steps(u, one, v, other) for one in xs for other in ys)

    return max(steps(0, x, 0, y) for x, y in product((False, True), repeat=2))


def test_when_plays_settle() -> None:
    assert [latest(level) for level in range(1, 5)] == [3, 8, 15, 24]


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


def stronger(k: int, text: str) -> str:
    """[k]p: p is provable if k levels of consistency hold."""
    return f"[]({'[]' * k}false | {text})" if k else f"[]{text}"


def test_stronger_theories() -> None:
    for i, j in product(range(5), repeat=2):
        plays = Plays({"A": stronger(i, "X(me)"), "B": f"~{stronger(j, '~X(me)')}"})
        expected = {True: "CC", False: "DD"}[i > j] if i != j else "DC"
        assert plays.outcome("A", "B") == expected


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
