"""`parse_agents`: agents from texts that may call X on each other, see `modal_env.logic.notation`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

from modal_env.checks import nearest
from modal_env.logic.parser import CONSTANTS, FormulaParser, Token, read
from modal_env.logic.syntax import Agent, Formula, Op

THIS = "formula of the agent"  # contains spaces, so that no X(.) can name it
OPPONENT = {"x", "them"}
LISTED = "modal_env.LIBRARY"  # where to find the names of agents
OWN_WORDS = {*OPPONENT, "me", "a", "b", "coin", *(word.casefold() for word in CONSTANTS)}
WORDS = {word.casefold(): op for word, op in CONSTANTS.items()}


def parse_agents(given: Mapping[str, Agent | str], known: Mapping[str, Agent]) -> dict[str, Agent]:
    """The agents of a mapping, whose texts may call each other and the known agents.

    Raises:
        FormulaError: not a formula, an X(.) or `me` under no box, an unknown name, texts that call each other in a
            circle, a formula too long or too deep.
    """
    parsers = {name: FormulaParser(text, _title(name)) for name, text in given.items() if not isinstance(text, Agent)}
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
        """This name, or the only one that differs in case alone."""
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
        parser.expect("OPEN", "write X(me), or X(Name) with the name of an agent")
        token = parser.expect("NAME", "write X(me), or X(Name) with the name of an agent")
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
                parser.fail(token.start, "an agent knows what it does against X alone", "write me or Me(Them)")
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
