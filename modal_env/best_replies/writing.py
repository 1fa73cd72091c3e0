"""Writes a formula for an agent that is given by its moves at types of histories."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations, product

from modal_env.best_replies.types import Types, Word
from modal_env.logic.finite_machines import Machine, machine
from modal_env.logic.notation import Agent, parse


def agent_of(types: Types, decided: dict[int, bool], calls: tuple[Agent, ...] = ()) -> Agent:
    """An agent that cooperates at types decided True and defects at types decided False; others are arbitrary.

    It is a decision tree of questions "is this box true?", each chosen to separate the types best, shorter ones first;
    so it is short, but not always the shortest.
    """
    text = _Tree(types, calls).text(dict(sorted(decided.items())))
    return parse_calling(text, calls)


def parse_calling(text: str, calls: Iterable[Agent]) -> Agent:
    """The agent of a formula that may call X on these agents by their names."""
    return parse(text, helpers={call.name: call for call in calls})


class _Tree:
    """Makes formulas that distinguish types."""

    def __init__(self, types: Types, calls: tuple[Agent, ...]) -> None:
        self.types, self.calls = types, calls
        self.letters = ("X(me)", *(f"X({call.name})" for call in calls))
        self.questions = _questions(self.letters, calls, types.depth)

    def text(self, decided: dict[int, bool]) -> str:
        values = set(decided.values())
        if len(values) < 2:
            return "true" if True in values else "false"
        question, holds = self._best(decided)
        yes = self.text({kind: move for kind, move in decided.items() if holds[kind]})
        no = self.text({kind: move for kind, move in decided.items() if not holds[kind]})
        return _choice(question, yes, no)

    def _best(self, decided: dict[int, bool]) -> tuple[str, dict[int, bool]]:
        """The question that separates best; if no listed question separates any types, a new one for two of them."""
        answers = [
            (question, {kind: self._holds(asked, kind) for kind in decided}) for question, asked in self.questions
        ]
        useful = [answer for answer in answers if len(set(answer[1].values())) == 2]
        if not useful:
            one, other = next(pair for pair in combinations(decided, 2) if decided[pair[0]] != decided[pair[1]])
            question = self._difference(one, other)
            asked = machine(parse_calling(question, self.calls), self.calls)
            return question, {kind: self._holds(asked, kind) for kind in decided}
        return min(useful, key=lambda answer: _impurity(decided, answer[1]))

    def _holds(self, asked: Machine, kind: int) -> bool:
        word = self.types.words[kind]
        return bool(asked.outputs[asked.run(word)])

    def _difference(self, one: int, other: int) -> str:
        word, symbol = self.types.difference(one, other)
        return f"<>({self._world(word, self.types.depth - 1, symbol)})"

    def _being(self, word: Word, depth: int) -> str:
        """A formula saying that the history has the same type of this depth as the word."""
        parts = [self._world(word[:n], depth - 1, symbol) for n, symbol in enumerate(word)]
        parts = list(dict.fromkeys(parts))
        some = "".join(f" & <>({part})" for part in parts)
        return f"[]({' | '.join(f'({part})' for part in parts) or 'false'}){some}"

    def _world(self, word: Word, depth: int, symbol: int) -> str:
        """A formula saying that this symbol follows a history of the same type of this depth as the word."""
        reading = self._reading(symbol)
        return f"{reading} & {self._being(word, depth)}" if depth else reading

    def _reading(self, symbol: int) -> str:
        return " & ".join(f"{'' if symbol >> bit & 1 else '~'}{letter}" for bit, letter in enumerate(self.letters))


def _impurity(decided: dict[int, bool], holds: dict[int, bool]) -> float:
    """The impurity of the two halves of a question: Gini's index times their sizes."""
    total = 0.0
    for half in (True, False):
        moves = [move for kind, move in decided.items() if holds[kind] == half]
        total += sum(moves) * (len(moves) - sum(moves)) / len(moves)
    return total


def _choice(question: str, yes: str, no: str) -> str:
    """`yes` where the question holds, `no` elsewhere."""
    if yes in ("true", "false") and no in ("true", "false"):
        return question if yes == "true" else f"~{question}"
    if yes == "true":
        return f"{question} | {no}"
    if yes == "false":
        return f"~{question} & ({no})"
    if no == "true":
        return f"~{question} | {yes}"
    return f"{question} & ({yes})" if no == "false" else f"{question} & ({yes}) | ~{question} & ({no})"


@lru_cache(maxsize=32)
def _questions(letters: tuple[str, ...], calls: tuple[Agent, ...], depth: int) -> list[tuple[str, Machine]]:
    """Boxes up to a depth: [](a | b), where a and b are letters, boxes or their negations.

    If X(me) is the only letter, three such parts are also feasible.
    """
    if depth == 0:
        return []
    texts = [f"{'[]' * times}false" for times in range(1, depth + 1)]
    atoms = list(letters)
    if depth > 1:
        atoms += ["[]false", *(f"[]{sign}{letter}" for letter in letters for sign in ("", "~"))]
    for count in (1, 2) if calls else (1, 2, 3):
        for chosen in combinations(atoms, count):
            for signs in product(("", "~"), repeat=count):
                texts.append(f"[]({' | '.join(sign + atom for sign, atom in zip(signs, chosen, strict=True))})")
    agents = sorted(
        {parse_calling(text, calls) for text in texts},
        key=lambda agent: (agent.size, len(agent.called), agent.text),
    )
    return [(agent.text, machine(agent, calls)) for agent in agents]
