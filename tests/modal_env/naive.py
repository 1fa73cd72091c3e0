"""Random agents, and an evaluator that shares nothing with ours: all plays of some agents, world by world.

Agents are formulas as text; in X(.) they call each other by their names.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Node = tuple[Any, ...]
WORLDS = 40
BINDS = {"<->": 0, "->": 1, "|": 2, "&": 3}


def tree(text: str) -> Node:
    """A formula as nested tuples; -> and <-> group to the right, and <> is ~[]~."""
    tokens = re.findall(r"\[\]|<>|<->|->|X\(\w+\)|\w+|[~&|()]", text)

    def unary() -> Node:
        token = tokens.pop(0)
        if token in ("~", "[]"):
            return (token, unary())
        if token == "<>":
            return ("~", ("[]", ("~", unary())))
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


def parts_of(node: Node) -> list[Node]:
    """A formula and all formulas in it."""
    inner = [part for part in node[1:] if isinstance(part, tuple)]
    return [node, *(found for part in inner for found in parts_of(part))]


class Plays:
    """All plays of some agents: `moves` is [worlds, agents, agents], whether the first cooperates with the second.

    []p holds at world n if p holds at every m < n; there is no more to it.
    """

    def __init__(self, texts: dict[str, str], worlds: int = WORLDS) -> None:
        self.names = list(texts)
        self.trees = trees = [tree(text) for text in texts.values()]
        self.moves = np.zeros((worlds, len(self.trees), len(self.trees)), np.bool_)
        self.boxes: dict[tuple[int, Node], NDArray[np.bool_]] = {}
        self.later = []  # the boxes at worlds 1, 2, ...; at world 0 all hold
        for self.world in range(worlds):
            for self.own, one in enumerate(trees):
                self.moves[self.world, self.own] = self.value(one)
            self.close()
            self.later.append(self.boxes)

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

    def boxes_of(self, a: int, b: int) -> set[tuple[int, Node, int]]:
        """Every box of every play that this one depends on: who says it, the formula, of whom."""
        found, plays, todo = set(), set(), [(a, b), (b, a)]
        while todo:
            own, other = play = todo.pop()
            for node in parts_of(self.trees[own]) if play not in plays else []:
                if node[0] == "[]":
                    found.add((own, node, other))
                if node[0] == "X":
                    todo.append((other, own if node[1] == "me" else self.names.index(node[1])))
            plays.add(play)
        return found

    def settles(self, a: int, b: int) -> int:
        """The first world whose boxes are those of the next one, which makes them final."""
        boxes = self.boxes_of(a, b)
        at = [[True] * len(boxes), *([held[own, node][other] for own, node, other in boxes] for held in self.later)]
        return next(world for world, now in enumerate(at) if now == at[world + 1])

    def outcome(self, one: str, other: str) -> str:
        """What both do in the end."""
        a, b = self.names.index(one), self.names.index(other)
        assert (self.moves[-9:, a, b] == self.moves[-1, a, b]).all()
        return "DC"[int(self.moves[-1, a, b])] + "DC"[int(self.moves[-1, b, a])]

    def word(self, one: str, other: str, length: int) -> str:
        """What one does to another at the first worlds."""
        a, b = self.names.index(one), self.names.index(other)
        return "".join("DC"[int(move)] for move in self.moves[:length, a, b])


def some_formula(rng: np.random.Generator, atoms: list[str], level: int, height: int, boxed: bool = False) -> str:
    """A formula of at most this height and nesting of boxes; atoms need a box, and stand under one."""
    if boxed and (height == 0 or rng.random() < 0.3):
        return str(rng.choice(atoms))
    if level and (height == 0 or rng.random() < 0.45):
        box = rng.choice(["[]", "[]", "<>"])
        return f"{box}{some_formula(rng, atoms, level - 1, int(rng.integers(0, 3)), True)}"
    if height == 0 or rng.random() < 0.1:
        return str(rng.choice(["true", "false"]))
    if rng.random() < 0.3:
        return f"~{some_formula(rng, atoms, level, height - 1, boxed)}"
    left, right = (some_formula(rng, atoms, level, height - 1, boxed) for _ in range(2))
    return f"({left} {rng.choice(['&', '|', '->', '<->'])} {right})"


def random_agents(seed: int, number: int) -> dict[str, str]:
    """Agents H0, H1, ... of depth up to 4, with helpers of helpers."""
    rng, texts = np.random.default_rng(seed), {}
    for count in range(number):
        atoms = ["X(me)", "X(me)", "me", *(f"X({name})" for name in list(texts)[:6])]
        texts[f"H{count}"] = some_formula(rng, atoms, int(rng.integers(1, 5)), int(rng.integers(1, 6)))
    return texts
