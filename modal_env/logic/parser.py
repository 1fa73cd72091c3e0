"""Reading agents: tokens, and an operator-precedence parser without recursion (Dijkstra's shunting yard).

The notation is that of `modal_env.logic.notation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, NoReturn

from modal_env.checks import brief, nearest
from modal_env.errors import FormulaError
from modal_env.logic.syntax import BINDING, MAX_NESTING, PARTS, RIGHT, Agent, Formula, Op

MAX_TEXT = 100_000
MAX_INLINE = 250  # levels of agents written within agents
MAX_PENDING = 2 * MAX_NESTING  # printed formulas have at most one sign and one parenthesis open per level

# Possessive quantifiers: runs of spaces or digits are matched without backtracking.
TOKEN = re.compile(
    r"""\s*+(?:
      (?P<NAME>    [^\W\d]\w*+)
    | (?P<IFF>     <->|<=>|[↔⇔])
    | (?P<IMPLIES> ->|=>|[→⇒⊃])
    | (?P<BOX>     \[\s*+[0-9]*+\s*+\]|[□◻])
    | (?P<DIAMOND> <\s*+[0-9]*+\s*+>|[◇◊⋄])
    | (?P<NOT>     [~¬!])
    | (?P<AND>     &&?|∧|/\\)
    | (?P<OR>      \|\|?|\N{LOGICAL OR}|\\/)
    | (?P<TRUE>    \N{DOWN TACK})
    | (?P<FALSE>   ⊥)
    | (?P<OPEN>    [(⌜])
    | (?P<CLOSE>   [)⌝])
    | (?P<EQUALS>  =)
    | (?P<END>     \Z)
    )""",
    re.VERBOSE,
)
PREFIX = {"NOT": Op.NOT, "BOX": Op.BOX, "DIAMOND": Op.DIAMOND}
INFIX = {"AND": Op.AND, "OR": Op.OR, "IMPLIES": Op.IMPLIES, "IFF": Op.IFF}
MODAL = ("BOX", "DIAMOND")
SIGNS = "~ & | -> <-> [] <> ( ), names, true and false"
CLOSING = {"(": ")", "⌜": "⌝"}
CONSTANTS = {"true": Op.TRUE, "t": Op.TRUE, "false": Op.FALSE, "f": Op.FALSE}
OPPONENT = {"x", "them"}
OWN_WORDS = {*OPPONENT, *CONSTANTS, "me", "a", "b", "coin"}
THIS = "formula of the agent"  # contains spaces, so that no X(.) can name it
LISTED = "modal_env.LIBRARY"  # where to find the names of agents
CALLS = "write X(me), X(Name) or X(formula)"


class Token(NamedTuple):
    """A piece of the text: its kind (a group of `TOKEN`), text and position."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The text without regard to case."""
        return self.text.casefold()

    def __str__(self) -> str:
        return "the end" if self.kind == "END" else f"{self.text[:40]!r}"


class Names:
    """The names of agents, in sequence."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all = dict.fromkeys(names)
        self._folded: dict[str, list[str]] = {}
        for name in self.all:
            self._folded.setdefault(name.casefold(), []).append(name)

    def meant(self, name: str) -> str | None:
        """This name, or the only known name that differs from it in case alone."""
        if name in self.all:
            return name
        alike = self._folded.get(name.casefold(), [])
        return alike[0] if len(alike) == 1 else None


def parse_agents(given: Mapping[str, Agent | str], known: Mapping[str, Agent]) -> dict[str, Agent]:
    """The agents of a mapping, whose texts may call each other and the known agents.

    Raises:
        FormulaError: not a formula, an X(.) or `me` outside all boxes, an unknown name, texts that call each other in a
            circle, a formula too long or too deep.
    """
    names = Names(name for name in (*given, *known) if name != THIS)
    readers = {name: _Reader(name, text, names) for name, text in given.items() if not isinstance(text, Agent)}
    agents = {**known, **{name: agent.renamed(name) for name, agent in given.items() if isinstance(agent, Agent)}}
    for name in _in_sequence(readers, names):
        agents[name] = Agent(name, readers[name].read(agents))
    return {name: agents[name] for name in given}


def _in_sequence(readers: Mapping[str, _Reader], names: Names) -> list[str]:
    """The names of the texts, each after those that it calls."""
    calls: dict[str, dict[str, Token]] = {name: {} for name in readers}  # the first call of each other text
    for name, reader in readers.items():
        for token in reader.called():
            if (called := names.meant(token.text)) and called in readers:
                calls[name].setdefault(called, token)
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]
        shown = " -> ".join(circle if len(circle) < 8 else [*circle[:6], "...", circle[-1]])
        hint = "an agent calls only agents that can be defined before it; X(me) is X against the agent itself"
        wrong = f"agents call each other in a circle: {shown}"
        readers[circle[0]].fail(calls[circle[0]][circle[1]].start, wrong, hint)


class _Reader:
    """A text that is read: its tokens, the current position, the pending operators, and the formulas that are done.

    Args:
        name: of the agent that it describes; `THIS` in the text of `modal_env.parse`.
        names: of the agents that it may call.

    Raises:
        FormulaError: not a string, empty, longer than `MAX_TEXT`, or with an unknown sign.
    """

    def __init__(self, name: str, text: str, names: Names) -> None:
        self.title = "formula" if name == THIS else f"helper {name!r}"
        self.text, self.names = text, names
        if not isinstance(text, str):
            raise FormulaError(f"{self.title}, {brief(text)}: give a text")
        if len(text) > MAX_TEXT:
            self.fail(MAX_TEXT, f"a text of {len(text):,} characters is too long", f"at most {MAX_TEXT:,}")
        self.tokens = self._split()
        self.place = 0
        self.pending: list[Token] = []
        self.boxes = 0  # among the pending operators of the innermost agent
        self.outer: list[int] = []  # the same for the agents around it
        self.done: list[Formula] = []

    def _split(self) -> list[Token]:
        tokens: list[Token] = []
        start = opened = signs = 0
        while not tokens or tokens[-1].kind != "END":
            found = TOKEN.match(self.text, start)
            if found is None:
                wrong = len(self.text) - len(self.text[start:].lstrip())
                self.fail(wrong, f"{self.text[wrong]!r} is not a sign of formulas", f"use {SIGNS}")
            kind = str(found.lastgroup)
            tokens.append(Token(kind, found[kind], found.start(kind)))
            start = found.end()
            opened += (kind == "OPEN") - (kind == "CLOSE")
            signs = signs + 1 if kind in PREFIX else 0
            if opened + signs > MAX_PENDING:  # all of them would be pending at once
                self._fail_deep(tokens[-1])
        if len(tokens) == 1:
            self.fail(0, "it is empty", "give a formula such as []X(me)")
        return tokens

    def called(self) -> Iterator[Token]:
        """The names in X(Name)."""
        for word, opening, name in zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False):
            if word.kind == name.kind == "NAME" and opening.kind == "OPEN" and word.word in OPPONENT:
                yield name

    def read(self, agents: Mapping[str, Agent]) -> Formula:
        """The formula; `agents` has all agents that it may call.

        ~ [] <> bind tightest, then &, |, ->, <->; & and | group to the left, -> and <-> to the right.

        Raises:
            FormulaError: it is not exactly one formula, or nested too deep.
        """
        while True:
            self._operand(agents)
            token = self._next()
            while token.kind == "CLOSE":
                self._reduce(0)
                if self._closed(token).kind == "NAME":
                    formula = self.done.pop()
                    self.done.append(self._move(Formula(Op.CALL, agent=Agent(formula.text(), formula))))
                token = self._next()
            if token.kind == "END":
                self._reduce(0)
                if self.pending:
                    opened = self.pending[-1]
                    wrong = f"{opened.text!r} from character {opened.start + 1} is not closed"
                    self.fail(token.start, wrong, f"a {CLOSING.get(opened.text, ')')!r} is missing")
                return self.done[0]
            if token.kind not in INFIX:
                self.fail(
                    token.start, f"{token} follows a complete formula", "between two formulas write & | -> or <->"
                )
            op = INFIX[token.kind]
            self._reduce(BINDING[op] + (op in RIGHT))
            self._push(token)

    def _operand(self, agents: Mapping[str, Agent]) -> None:
        """Read an operand: prefix signs and parentheses become pending, then an atom is done."""
        token = self._next()
        while token.kind in PREFIX or token.kind == "OPEN" or self._begins_agent(token):
            if token.kind == "NAME":
                self._need_box(token)
                self._next()
            self._push(token)
            token = self._next()
        if token.kind in ("TRUE", "FALSE"):
            self.done.append(Formula(Op[token.kind]))
        elif token.kind == "NAME":
            self.done.append(self._atom(token, agents))
        else:
            self.fail(token.start, f"a formula is missing before {token}", "such as X(me), true or []X(me)")

    def _begins_agent(self, token: Token) -> bool:
        """Whether the token is the X of an agent written in its place; of X(me) and X(Name) it is not."""
        following = self.tokens[self.place : self.place + 3]
        if token.kind != "NAME" or token.word not in OPPONENT or len(following) < 3:
            return False
        opening, first, second = following
        if opening.kind != "OPEN" or first.kind == "CLOSE":
            return False
        return first.kind != "NAME" or first.word in CONSTANTS or second.kind in (*INFIX, "OPEN")

    def _atom(self, token: Token, agents: Mapping[str, Agent]) -> Formula:
        """Read X(.), `me`, a constant or a coin."""
        if token.word in CONSTANTS:
            return Formula(CONSTANTS[token.word])
        if token.word == "coin":
            if len(self.tokens) > 2:
                self.fail(token.start, "a coin cannot be part of a formula", "'coin' alone is RandomBot")
            return Formula(Op.COIN)
        if token.word not in OWN_WORDS:
            name = self.names.meant(token.text)
            hint = f"write X({name})" if name else "write X(me), X(Name), me, true or false"
            self.fail(token.start, f"{token.text[:60]!r} is not a formula", hint)
        self._need_box(token)
        if token.word in ("a", "b"):
            return Formula(Op.ME if token.word == "a" else Op.CALL)
        return self._move(self._own() if token.word == "me" else self._call(agents))

    def _call(self, agents: Mapping[str, Agent]) -> Formula:
        """Read what follows X."""
        self._expect("OPEN", CALLS)
        token = self._expect("NAME", CALLS)
        name = None if token.word == "me" else self.names.meant(token.text)
        if name is None and token.word != "me":
            hint = nearest(token.text, self.names.all, LISTED)
            self.fail(token.start, f"no agent is called {token.text[:60]!r}", hint)
        self._expect("CLOSE", "close X( with )")
        return Formula(Op.CALL, agent=agents[name] if name else None)

    def _own(self) -> Formula:
        """Read what follows `me`: nothing, or (X)."""
        if self.tokens[self.place].kind == "OPEN":
            self._next()
            token = self._expect("NAME", "write me or Me(Them)")
            if token.word not in OPPONENT:
                self.fail(token.start, "an agent only knows its own move against X", "write me or Me(Them)")
            self._expect("CLOSE", "close Me( with )")
        return Formula(Op.ME)

    def _move(self, call: Formula) -> Formula:
        """The call, with =C or =D if that follows."""
        if self.tokens[self.place].kind != "EQUALS":
            return call
        self._next()
        token = self._expect("NAME", "a move is C or D")
        if token.word not in ("c", "d"):
            self.fail(token.start, f"{token.text[:60]!r} is not a move", "a move is C or D")
        return call if token.word == "c" else Formula(Op.NOT, (call,))

    def _next(self) -> Token:
        """Return the current token and move on."""
        token = self.tokens[self.place]
        self.place += 1
        return token

    def _expect(self, kind: str, hint: str) -> Token:
        """Return the current token, which must be of this kind, and move on."""
        token = self._next()
        if token.kind != kind:
            self.fail(token.start, f"{token} does not belong here", hint)
        return token

    def _push(self, token: Token) -> None:
        """Make an operator, a parenthesis or the X of an agent pending."""
        if len(self.pending) >= MAX_PENDING or (token.kind == "NAME" and len(self.outer) >= MAX_INLINE):
            self._fail_deep(token)
        self.pending.append(token)
        self.boxes += token.kind in MODAL
        if token.kind == "NAME":
            self.outer.append(self.boxes)
            self.boxes = 0

    def _pop(self) -> Token:
        """Pop the latest pending token."""
        token = self.pending.pop()
        self.boxes = self.outer.pop() if token.kind == "NAME" else self.boxes - (token.kind in MODAL)
        return token

    def _reduce(self, binding: int) -> None:
        """Apply pending operators, latest first, down to a parenthesis or one that binds weaker than `binding`."""
        while self.pending and self.pending[-1].kind not in ("OPEN", "NAME"):
            token = self.pending[-1]
            op = PREFIX.get(token.kind) or INFIX[token.kind]
            if BINDING[op] < binding:
                return
            self._pop()
            parts = tuple(self.done[len(self.done) - PARTS[op] :])
            del self.done[len(self.done) - PARTS[op] :]
            try:
                self.done.append(_graded(op, parts[0], token) if len(parts) == 1 else Formula(op, parts))
            except FormulaError as error:
                self.fail(token.start, str(error), "group a long chain: (p & q) & (r & s)")

    def _closed(self, token: Token) -> Token:
        """Pop and return the pending parenthesis, or X of an agent, which must match the closing one."""
        if not self.pending:
            self.fail(token.start, f"{token.text!r} closes what was not opened", "leave it out")
        opened = self._pop()
        wanted = CLOSING.get(opened.text, ")")
        if wanted != token.text:
            wrong = f"{token.text!r} cannot close {opened.text!r} from character {opened.start + 1}"
            self.fail(token.start, wrong, f"write {wanted!r}")
        return opened

    def _need_box(self, token: Token) -> None:
        """Fail if the token is outside all [] and <>."""
        if not self.boxes:
            wrong = f"{token.text!r} is not under a [] or <>"
            self.fail(token.start, wrong, "agents can only use what is provable: put [](...) around it")

    def _fail_deep(self, token: Token) -> NoReturn:
        self.fail(token.start, "the formula is nested too deep", f"at most {MAX_NESTING} levels")

    def fail(self, start: int, wrong: str, hint: str) -> NoReturn:
        """Raise FormulaError with the place marked by a caret below the text around it."""
        left, right = max(0, start - 40), start + 40
        line = re.sub(r"[^ -~\u00a0-\ud7ff\ue000-\uffff]|\s", " ", self.text[left:right])
        before, after = "..." * (left > 0), "..." * (right < len(self.text))
        marked = f"  {before}{line}{after}\n  {' ' * (len(before) + start - left)}^"
        raise FormulaError(f"{self.title}, at character {start + 1}: {wrong}; {hint}\n{marked}", self.text, start)


def _graded(op: Op, part: Formula, token: Token) -> Formula:
    """[k]p is [](~[]^k false -> p), and <k>p is ~[k]~p; without a k, or with 0, they are [] and <>."""
    times = int(re.sub(r"\D", "", token.text)[:9] or 0)
    if times == 0:
        return Formula(op, (part,))
    if op is Op.DIAMOND:
        return Formula(Op.NOT, (_graded(Op.BOX, Formula(Op.NOT, (part,)), token),))
    return Formula(Op.BOX, (Formula(Op.IMPLIES, (Formula(Op.NOT, (_inconsistent(times),)), part)),))


@lru_cache(maxsize=MAX_NESTING + 1)
def _inconsistent(times: int) -> Formula:
    """[]^k false: k boxes before false.

    Raises:
        FormulaError: more boxes than MAX_NESTING.
    """
    formula = Formula(Op.FALSE)
    for _ in range(times):
        formula = Formula(Op.BOX, (formula,))
    return formula
