"""Random agents, and an evaluator that shares nothing with ours.

A formula is a nested tuple here, so neither our trees nor our parser are needed to know what it does: ("true",),
("false",), ("own",) for `me`, ("x", None) for X(me), ("x", i) for X on agent i, ("~", p), ("[]", p), ("<>", p), and
("&", p, q) and so on. Agents are a list of formulas in which each calls only those before it.
"""

from typing import Any

import numpy as np

from modal_env.logic.notation import Agent, parse

Tuple = tuple[Any, ...]
BINARY = ("&", "|", "->", "<->")


def random_formula(rng: np.random.Generator, height: int, boxes: int, helpers: int, boxed: bool = False) -> Tuple:
    """A formula of at most this height and nesting of boxes; atoms that need a box stand under one."""
    if height == 0 or (height < 3 and rng.random() < 0.3):
        kinds = ["true", "false"] if rng.random() < 0.15 or not boxed else ["x", "x", "x", "own"]
        kind = str(rng.choice(kinds))
        if kind == "x":
            target = int(rng.integers(-1, helpers))
            return ("x", None if target < 0 else target)
        return (kind,)
    modal = boxes > 0 and rng.random() < (0.4 if boxed else 0.7)
    if modal:
        return (
            str(rng.choice(["[]", "[]", "<>"])),
            random_formula(rng, height - 1, boxes - 1, helpers, True),
        )
    if rng.random() < 0.3:
        return ("~", random_formula(rng, height - 1, boxes, helpers, boxed))
    sides = [random_formula(rng, height - 1, boxes, helpers, boxed) for _ in range(2)]
    return (str(rng.choice(BINARY)), *sides)


def written(formula: Tuple) -> str:
    """The text, with parentheses around everything."""
    kind, *parts = formula
    if kind == "x":
        return "X(me)" if parts[0] is None else f"X(H{parts[0]})"
    if kind == "own":
        return "me"
    texts = [written(part) for part in parts]
    if len(texts) == 2:
        return f"({texts[0]} {kind} {texts[1]})"
    return f"{kind}{texts[0]}" if texts else kind


def parsed(formulas: list[Tuple]) -> list[Agent]:
    """Our agents: each is parsed once, and calls those before it."""
    agents: list[Agent] = []
    for formula in formulas:
        known = {f"H{number}": agent for number, agent in enumerate(agents)}
        agents.append(parse(written(formula), name=f"H{len(agents)}", helpers=known))
    return agents


class Naive:
    """[]p holds at world n if p holds at every m < n; there is no more to it."""

    def __init__(self, formulas: list[Tuple]) -> None:
        self.formulas = formulas
        self.known: dict[tuple[int, int, int], bool] = {}

    def move(self, agent: int, opponent: int, world: int) -> bool:
        """Whether an agent cooperates with an opponent at a world."""
        key = (agent, opponent, world)
        if key not in self.known:
            self.known[key] = self._holds(self.formulas[agent], agent, opponent, world)
        return self.known[key]

    def _holds(self, formula: Tuple, agent: int, opponent: int, world: int) -> bool:
        kind, *parts = formula
        if kind == "[]":
            return all(self._holds(parts[0], agent, opponent, earlier) for earlier in range(world))
        if kind == "<>":
            return any(self._holds(parts[0], agent, opponent, earlier) for earlier in range(world))
        if kind == "x":
            return self.move(opponent, agent if parts[0] is None else parts[0], world)
        if kind == "own":
            return self.move(agent, opponent, world)
        values = [self._holds(part, agent, opponent, world) for part in parts]
        return {
            "true": lambda: True,
            "false": lambda: False,
            "~": lambda: not values[0],
            "&": lambda: values[0] and values[1],
            "|": lambda: values[0] or values[1],
            "->": lambda: not values[0] or values[1],
            "<->": lambda: values[0] == values[1],
        }[kind]()

    def boxes(self, agent: int, opponent: int) -> list[tuple[Tuple, int, int]]:
        """Every box of every play that this one depends on: the formula with the box, who says it, of whom."""
        found: list[tuple[Tuple, int, int]] = []
        plays, todo = set(), [(agent, opponent), (opponent, agent)]
        while todo:
            play = todo.pop()
            if play not in plays:
                plays.add(play)
                for part in _parts(self.formulas[play[0]]):
                    if part[0] in ("[]", "<>"):
                        found.append((part, *play))
                    if part[0] == "x":
                        todo.append((play[1], play[0] if part[1] is None else part[1]))
        return found

    def settles(self, agent: int, opponent: int) -> int:
        """The first world whose boxes are those of the next one, which makes them final."""
        boxes = self.boxes(agent, opponent)
        world, now = 0, [self._holds(*box, 0) for box in boxes]
        while (later := [self._holds(*box, world + 1) for box in boxes]) != now:
            world, now = world + 1, later
        return world


def _parts(formula: Tuple) -> list[Tuple]:
    inner = [part for part in formula[1:] if isinstance(part, tuple)]
    return [formula, *(found for part in inner for found in _parts(part))]


def random_formulas(seed: int, number: int) -> list[Tuple]:
    """Formulas of depth up to 4, with helpers of helpers."""
    rng = np.random.default_rng(seed)
    return [
        random_formula(rng, int(rng.integers(1, 6)), int(rng.integers(1, 5)), min(count, 6)) for count in range(number)
    ]
