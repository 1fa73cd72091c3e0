"""Reading formulas: tokens, an operator-precedence parser without recursion (Dijkstra's shunting yard), and agents.

Callers of `read` define the atoms; operators are the same for agents (`parse_agents`) and for systems of equations. The
notation is that of `modal_env.logic.notation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
CONSTANTS = {"true": Op.TRUE, "T": Op.TRUE, "false": Op.FALSE, "F": Op.FALSE}


class Token(NamedTuple):
    """A piece of the text: its kind (a group of `TOKEN`), text and position."""

    kind: str
    text: str
    start: int


class FormulaParser:
    """The tokens of a text, the current position, and the pending operators.

    Args:
        text: the formula.
        title: how messages call it: "formula", "helper 'Foo'".
        has_agents: whether X( begins an agent, as in X([]X(me)).

    Raises:
        FormulaError: not a string, empty, longer than `MAX_TEXT`, or with an unknown sign.
    """

    def __init__(self, text: str, title: str, has_agents: bool = False) -> None:
        self.text, self.title, self.has_agents = text, title, has_agents
        if not isinstance(text, str):
            raise FormulaError(f"{title}, {brief(text)}: give a text")
        if len(text) > MAX_TEXT:
            self.fail(MAX_TEXT, f"a text of {len(text):,} characters is too long", f"at most {MAX_TEXT:,}")
        self.tokens = self._split()
        self.place = 0
        self.pending: list[Token] = []
        self.boxes = 0  # among the pending operators of the innermost agent
        self.outer: list[int] = []  # the same for the agents around it

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

    def next(self) -> Token:
        """Return the current token and move on."""
        token = self.tokens[self.place]
        self.place += 1
        return token

    def take(self, kind: str) -> Token | None:
        """Return the current token and move on if it is of this kind; else None."""
        return self.next() if self.tokens[self.place].kind == kind else None

    def expect(self, kind: str, hint: str) -> Token:
        """Return the current token, which must be of this kind, and move on."""
        token = self.next()
        if token.kind != kind:
            self.fail(token.start, f"{_shown(token)} does not belong here", hint)
        return token

    def push(self, token: Token) -> None:
        """Make an operator or a parenthesis pending."""
        if len(self.pending) >= MAX_PENDING:
            self._fail_deep(token)
        self.pending.append(token)
        self.boxes += token.kind in MODAL
        if token.kind == "NAME":
            if len(self.outer) >= MAX_INLINE:
                self._fail_deep(token)
            self.outer.append(self.boxes)
            self.boxes = 0

    def _fail_deep(self, token: Token) -> NoReturn:
        self.fail(token.start, "the formula is nested too deep", f"at most {MAX_NESTING} levels")

    def pop(self) -> Token:
        """Pop the latest pending token."""
        token = self.pending.pop()
        self.boxes = self.outer.pop() if token.kind == "NAME" else self.boxes - (token.kind in MODAL)
        return token

    def begins_agent(self, token: Token) -> bool:
        """Whether the token is the X of an agent written in its place; of X(me) and X(Name) it is not."""
        if not self.has_agents or token.kind != "NAME" or token.text.casefold() not in OPPONENT:
            return False
        following = self.tokens[self.place : self.place + 3]
        if len(following) < 3 or following[0].kind != "OPEN" or following[1].kind == "CLOSE":
            return False
        first, second = following[1:]
        return first.kind != "NAME" or first.text.casefold() in WORDS or second.kind in (*INFIX, "OPEN")

    def need_box(self, token: Token) -> None:
        """Fail if the token is outside all [] and <>."""
        if not self.boxes:
            wrong = f"{token.text!r} is not under a [] or <>"
            self.fail(token.start, wrong, "agents can only use what is provable: put [](...) around it")

    def fail(self, start: int, wrong: str, hint: str) -> NoReturn:
        """Raise FormulaError with the place marked in the text."""
        message = f"{self.title}, at character {start + 1}: {wrong}; {hint}\n{_marked(self.text, start)}"
        raise FormulaError(message, self.text, start)


def read(parser: FormulaParser, atom: Callable[[FormulaParser, Token], Formula]) -> Formula:
    """Parse the parser's text as a formula.

    ~ [] <> bind tightest, then &, |, ->, <->; & and | group to the left, -> and <-> to the right. `atom` is given a
    NAME, and makes a formula of it and of the tokens it takes from the parser.

    Raises:
        FormulaError: it is not exactly one formula, or nested too deep.
    """
    done: list[Formula] = []
    while True:
        _operand(parser, done, atom)
        token = parser.next()
        while token.kind == "CLOSE":
            _reduce(parser, done, 0)
            if _close(parser, token).kind == "NAME":
                formula = done.pop()
                done.append(_move(parser, Formula(Op.CALL, agent=Agent(formula.text(), formula))))
            token = parser.next()
        if token.kind == "END":
            _reduce(parser, done, 0)
            if parser.pending:
                opened = parser.pending[-1]
                wrong = f"{opened.text!r} from character {opened.start + 1} is not closed"
                parser.fail(token.start, wrong, f"a {CLOSING.get(opened.text, ')')!r} is missing")
            return done[0]
        if token.kind not in INFIX:
            hint = "between two formulas write & | -> or <->"
            parser.fail(token.start, f"{_shown(token)} follows a complete formula", hint)
        op = INFIX[token.kind]
        _reduce(parser, done, BINDING[op] + (op in RIGHT))
        parser.push(token)


def _operand(parser: FormulaParser, done: list[Formula], atom: Callable[[FormulaParser, Token], Formula]) -> None:
    """Read an operand: prefix signs and parentheses become pending, the atom is pushed to `done`."""
    token = parser.next()
    while token.kind in PREFIX or token.kind == "OPEN" or parser.begins_agent(token):
        if token.kind == "NAME":
            parser.need_box(token)
            parser.next()
        parser.push(token)
        token = parser.next()
    if token.kind in ("TRUE", "FALSE"):
        done.append(Formula(Op[token.kind]))
    elif token.kind == "NAME":
        done.append(atom(parser, token))
    else:
        parser.fail(token.start, f"a formula is missing before {_shown(token)}", "such as X(me), true or []X(me)")


def _reduce(parser: FormulaParser, done: list[Formula], binding: int) -> None:
    """Apply pending operators, latest first, down to a parenthesis or one that binds weaker than `binding`."""
    while parser.pending and parser.pending[-1].kind not in ("OPEN", "NAME"):
        token = parser.pending[-1]
        op = PREFIX.get(token.kind) or INFIX[token.kind]
        if BINDING[op] < binding:
            return
        parser.pop()
        parts = tuple(done[len(done) - PARTS[op] :])
        del done[len(done) - PARTS[op] :]
        try:
            done.append(_graded(op, parts[0], token) if len(parts) == 1 else Formula(op, parts))
        except FormulaError as error:
            parser.fail(token.start, str(error), "group a long chain: (p & q) & (r & s)")


def _graded(op: Op, part: Formula, token: Token) -> Formula:
    """[k]p is [](~[]^k false -> p), and <k>p is ~[k]~p; without a k, or with 0, they are [] and <>."""
    times = int(re.sub(r"\D", "", token.text)[:9] or 0)
    if times == 0:
        return Formula(op, (part,))
    if op is Op.DIAMOND:
        return Formula(Op.NOT, (_graded(Op.BOX, Formula(Op.NOT, (part,)), token),))
    return Formula(Op.BOX, (Formula(Op.IMPLIES, (Formula(Op.NOT, (inconsistent(times),)), part)),))


@lru_cache(maxsize=MAX_NESTING + 1)
def inconsistent(times: int) -> Formula:
    """[]^k false: k boxes before false.

    Raises:
        FormulaError: more boxes than MAX_NESTING.
    """
    formula = Formula(Op.FALSE)
    for _ in range(times):
        formula = Formula(Op.BOX, (formula,))
    return formula


def _close(parser: FormulaParser, token: Token) -> Token:
    """Pop and return the pending parenthesis, or X of an agent, which must match the closing one."""
    if not parser.pending:
        parser.fail(token.start, f"{token.text!r} closes what was not opened", "leave it out")
    opened = parser.pop()
    wanted = CLOSING.get(opened.text, ")")
    if wanted != token.text:
        wrong = f"{token.text!r} cannot close {opened.text!r} from character {opened.start + 1}"
        parser.fail(token.start, wrong, f"write {wanted!r}")
    return opened


def _shown(token: Token) -> str:
    return "the end" if token.kind == "END" else f"{token.text[:40]!r}"


def _marked(text: str, start: int) -> str:
    """The text around the place on one line, and a caret below it."""
    left, right = max(0, start - 40), start + 40
    line = re.sub(r"[^ -~\u00a0-\ud7ff\ue000-\uffff]|\s", " ", text[left:right])
    before = "..." if left else ""
    after = "..." if right < len(text) else ""
    return f"  {before}{line}{after}\n  {' ' * (len(before) + start - left)}^"


THIS = "formula of the agent"  # contains spaces, so that no X(.) can name it
OPPONENT = {"x", "them"}
LISTED = "modal_env.LIBRARY"  # where to find the names of agents
OWN_WORDS = {*OPPONENT, "me", "a", "b", "coin", *(word.casefold() for word in CONSTANTS)}
WORDS = {word.casefold(): op for word, op in CONSTANTS.items()}


def parse_agents(given: Mapping[str, Agent | str], known: Mapping[str, Agent]) -> dict[str, Agent]:
    """The agents of a mapping, whose texts may call each other and the known agents.

    Raises:
        FormulaError: not a formula, an X(.) or `me` outside all boxes, an unknown name, texts that call each other in a
            circle, a formula too long or too deep.
    """
    parsers = {
        name: FormulaParser(text, _title(name), has_agents=True)
        for name, text in given.items()
        if not isinstance(text, Agent)
    }
    agents = {**known, **{name: agent.renamed(name) for name, agent in given.items() if isinstance(agent, Agent)}}
    names = _Names(name for name in (*given, *known) if name != THIS)
    for name in _in_sequence(parsers, names):
        agents[name] = Agent(name, read(parsers[name], _Atoms(agents, names)))
    return {name: agents[name] for name in given}


def _title(name: str) -> str:
    return "formula" if name == THIS else f"helper {name!r}"


class _Names:
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


def _in_sequence(parsers: Mapping[str, FormulaParser], names: _Names) -> list[str]:
    """The names of the texts, each after those that it calls."""
    calls = {
        name: [called for token in _called(parser) if (called := names.meant(token.text)) and called in parsers]
        for name, parser in parsers.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        _fail_circle(parsers, error.args[1][::-1], names)


def _fail_circle(parsers: Mapping[str, FormulaParser], circle: list[str], names: _Names) -> NoReturn:
    parser = parsers[circle[0]]
    token = next(token for token in _called(parser) if names.meant(token.text) == circle[1])
    shown = " -> ".join(circle if len(circle) < 8 else [*circle[:6], "...", circle[-1]])
    hint = "an agent calls only agents that can be defined before it; X(me) is X against the agent itself"
    parser.fail(token.start, f"agents call each other in a circle: {shown}", hint)


def _called(parser: FormulaParser) -> Iterator[Token]:
    """The names in X(Name)."""
    for word, opening, name in zip(parser.tokens, parser.tokens[1:], parser.tokens[2:], strict=False):
        if word.kind == name.kind == "NAME" and opening.kind == "OPEN" and word.text.casefold() in OPPONENT:
            yield name


class _Atoms:
    """Reads X(.), `me` and constants; `agents` has all agents that precede it in sequence."""

    def __init__(self, agents: Mapping[str, Agent], names: _Names) -> None:
        self.agents, self.names = agents, names

    def __call__(self, parser: FormulaParser, token: Token) -> Formula:
        word = token.text.casefold()
        if word in WORDS:
            return Formula(WORDS[word])
        if word == "coin":
            return self._coin(parser, token)
        if word not in OWN_WORDS:
            self._fail_name(parser, token)
        parser.need_box(token)
        if word in ("a", "b"):
            return Formula(Op.ME if word == "a" else Op.CALL)
        return _move(parser, self._own(parser) if word == "me" else self._call(parser))

    def _call(self, parser: FormulaParser) -> Formula:
        """Read what follows X."""
        parser.expect("OPEN", "write X(me), X(Name) or X(formula)")
        token = parser.expect("NAME", "write X(me), X(Name) or X(formula)")
        name = self.names.meant(token.text)
        if token.text.casefold() == "me":
            name = None
        elif name is None:
            parser.fail(
                token.start, f"no agent is called {token.text[:60]!r}", nearest(token.text, self.names.all, LISTED)
            )
        parser.expect("CLOSE", "close X( with )")
        return Formula(Op.CALL, agent=self.agents[name] if name else None)

    def _own(self, parser: FormulaParser) -> Formula:
        """Read what follows `me`: nothing, or (X)."""
        if parser.take("OPEN"):
            token = parser.expect("NAME", "write me or Me(Them)")
            if token.text.casefold() not in OPPONENT:
                parser.fail(token.start, "an agent only knows its own move against X", "write me or Me(Them)")
            parser.expect("CLOSE", "close Me( with )")
        return Formula(Op.ME)

    def _coin(self, parser: FormulaParser, token: Token) -> Formula:
        if len(parser.tokens) > 2:
            parser.fail(token.start, "a coin cannot be part of a formula", "'coin' alone is RandomBot")
        return Formula(Op.COIN)

    def _fail_name(self, parser: FormulaParser, token: Token) -> NoReturn:
        name = self.names.meant(token.text)
        hint = f"write X({name})" if name else "write X(me), X(Name), me, true or false"
        parser.fail(token.start, f"{token.text[:60]!r} is not a formula", hint)


def _move(parser: FormulaParser, call: Formula) -> Formula:
    """The call, with =C or =D if that follows."""
    if not parser.take("EQUALS"):
        return call
    token = parser.expect("NAME", "a move is C or D")
    if token.text.casefold() not in ("c", "d"):
        parser.fail(token.start, f"{token.text[:60]!r} is not a move", "a move is C or D")
    return call if token.text.casefold() == "c" else Formula(Op.NOT, (call,))
