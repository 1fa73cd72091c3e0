"""Reading formulas: tokens, and an operator-precedence parser without recursion (Dijkstra's shunting yard).

Callers of `read` define the atoms (X(me), a letter); the operators are the same for agents and for systems of
equations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, NoReturn

from modal_env.checks import brief
from modal_env.errors import FormulaError
from modal_env.logic.syntax import BINDING, MAX_NESTING, PARTS, RIGHT, Formula, Op

MAX_TEXT = 100_000
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
    """The tokens of a text, the current position, and the pending operators that await an operand.

    Args:
        text: the formula.
        title: how messages call it: "formula", "helper 'Foo'".

    Raises:
        FormulaError: not a string, empty, longer than `MAX_TEXT`, or with an unknown sign.
    """

    def __init__(self, text: str, title: str) -> None:
        self.text, self.title = text, title
        if not isinstance(text, str):
            raise FormulaError(f"{title}, {brief(text)}: give a text")
        if len(text) > MAX_TEXT:
            self.fail(MAX_TEXT, f"a text of {len(text):,} characters is too long", f"at most {MAX_TEXT:,}")
        self.tokens = self._split()
        self.place = 0
        self.pending: list[Token] = []
        self.boxes = 0  # among the pending operators

    def _split(self) -> list[Token]:
        tokens: list[Token] = []
        start = opened = signs = 0
        while not tokens or tokens[-1].kind != "END":
            found = TOKEN.match(self.text, start)
            if found is None:
                wrong = len(self.text) - len(self.text[start:].lstrip())
                self.fail(wrong, f"{self.text[wrong]!r} is not a sign of formulas", f"these are: {SIGNS}")
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

    def _fail_deep(self, token: Token) -> NoReturn:
        self.fail(token.start, "the formula is nested too deep", f"at most {MAX_NESTING} levels")

    def pop(self) -> Token:
        """Pop the latest pending token."""
        token = self.pending.pop()
        self.boxes -= token.kind in MODAL
        return token

    def need_box(self, token: Token) -> None:
        """Fail if the token is under no [] or <>."""
        if not self.boxes:
            wrong = f"{token.text!r} stands under no [] or <>"
            self.fail(token.start, wrong, "only what is provable can be used: [](...) around it")

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
            _close(parser, token)
            token = parser.next()
        if token.kind == "END":
            _reduce(parser, done, 0)
            if parser.pending:
                opened = parser.pending[-1]
                wrong = f"{opened.text!r} from character {opened.start + 1} is not closed"
                parser.fail(token.start, wrong, f"a {CLOSING[opened.text]!r} is missing")
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
    while token.kind in PREFIX or token.kind == "OPEN":
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
    while parser.pending and parser.pending[-1].kind != "OPEN":
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


def _close(parser: FormulaParser, token: Token) -> None:
    """Pop the pending parenthesis, which must match the closing one."""
    if not parser.pending:
        parser.fail(token.start, f"{token.text!r} closes what was not opened", "leave it out")
    opened = parser.pop()
    if CLOSING[opened.text] != token.text:
        wrong = f"{token.text!r} cannot close {opened.text!r} from character {opened.start + 1}"
        parser.fail(token.start, wrong, f"write {CLOSING[opened.text]!r}")


def _shown(token: Token) -> str:
    return "the end" if token.kind == "END" else f"{token.text[:40]!r}"


def _marked(text: str, start: int) -> str:
    """The text around the place on one line, and a caret below it."""
    left, right = max(0, start - 40), start + 40
    line = re.sub(r"[^ -~\u00a0-\ud7ff\ue000-\uffff]|\s", " ", text[left:right])
    before = "..." if left else ""
    after = "..." if right < len(text) else ""
    return f"  {before}{line}{after}\n  {' ' * (len(before) + start - left)}^"
