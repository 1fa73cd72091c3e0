"""`parse_agents`: agents from texts that may call X on each other, see `modal_env.logic.notation`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

from modal_env.logic.parser import CONSTANTS, Reader, Token, nearest, read
from modal_env.logic.syntax import Agent, Formula, Op

THIS = "formula of the agent"  # contains spaces, so that no X(.) can name it
OPPONENT = {"x", "them"}
LISTED = "modal_env.LIBRARY"  # where a reader finds the names of agents
OWN_WORDS = {*OPPONENT, "me", "a", "b", "coin", *(word.casefold() for word in CONSTANTS)}
WORDS = {word.casefold(): op for word, op in CONSTANTS.items()}


def parse_agents(given: Mapping[str, Agent | str], known: Mapping[str, Agent]) -> dict[str, Agent]:
    """The agents of a mapping, whose texts may call each other and the known agents.

    Raises:
        FormulaError: not a formula, an X(.) or `me` under no box, an unknown name, texts that call each other in a
            circle, a formula too long or too deep.
    """
    readers = {name: Reader(text, _title(name)) for name, text in given.items() if not isinstance(text, Agent)}
    agents = {**known, **{name: agent.renamed(name) for name, agent in given.items() if isinstance(agent, Agent)}}
    names = _Names(name for name in (*given, *known) if name != THIS)
    for name in _in_sequence(readers, names):
        agents[name] = Agent(name, read(readers[name], _Atoms(agents, names)))
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


def _in_sequence(readers: Mapping[str, Reader], names: _Names) -> list[str]:
    """The names of the texts, each after those that it calls."""
    calls = {
        name: [called for token in _called(reader) if (called := names.meant(token.text)) and called in readers]
        for name, reader in readers.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        _fail_circle(readers, error.args[1][::-1], names)


def _fail_circle(readers: Mapping[str, Reader], circle: list[str], names: _Names) -> NoReturn:
    reader = readers[circle[0]]
    token = next(token for token in _called(reader) if names.meant(token.text) == circle[1])
    shown = " -> ".join(circle if len(circle) < 8 else [*circle[:6], "...", circle[-1]])
    hint = "an agent calls only agents that can be defined before it; X(me) is X against the agent itself"
    reader.fail(token.start, f"agents call each other in a circle: {shown}", hint)


def _called(reader: Reader) -> Iterator[Token]:
    """The names in X(Name)."""
    for word, opening, name in zip(reader.tokens, reader.tokens[1:], reader.tokens[2:], strict=False):
        if word.kind == name.kind == "NAME" and opening.kind == "OPEN" and word.text.casefold() in OPPONENT:
            yield name


class _Atoms:
    """Reads X(.), `me` and constants; `agents` has all agents that precede it in sequence."""

    def __init__(self, agents: Mapping[str, Agent], names: _Names) -> None:
        self.agents, self.names = agents, names

    def __call__(self, reader: Reader, token: Token) -> Formula:
        word = token.text.casefold()
        if word in WORDS:
            return Formula(WORDS[word])
        if word == "coin":
            return self._coin(reader, token)
        if word not in OWN_WORDS:
            self._fail_name(reader, token)
        reader.need_box(token)
        if word in ("a", "b"):
            return Formula(Op.ME if word == "a" else Op.CALL)
        return _move(reader, self._own(reader) if word == "me" else self._call(reader))

    def _call(self, reader: Reader) -> Formula:
        """Read what follows X."""
        reader.expect("OPEN", "write X(me), or X(Name) with the name of an agent")
        token = reader.expect("NAME", "write X(me), or X(Name) with the name of an agent")
        name = self.names.meant(token.text)
        if token.text.casefold() == "me":
            name = None
        elif name is None:
            reader.fail(
                token.start, f"no agent is called {token.text[:60]!r}", nearest(token.text, self.names.all, LISTED)
            )
        reader.expect("CLOSE", "close X( with )")
        return Formula(Op.CALL, agent=self.agents[name] if name else None)

    def _own(self, reader: Reader) -> Formula:
        """Read what follows `me`: nothing, or (X)."""
        if reader.take("OPEN"):
            token = reader.expect("NAME", "write me or Me(Them)")
            if token.text.casefold() not in OPPONENT:
                reader.fail(token.start, "an agent knows what it does against X alone", "write me or Me(Them)")
            reader.expect("CLOSE", "close Me( with )")
        return Formula(Op.ME)

    def _coin(self, reader: Reader, token: Token) -> Formula:
        if len(reader.tokens) > 2:
            reader.fail(token.start, "a coin cannot be part of a formula", "'coin' alone is RandomBot")
        return Formula(Op.COIN)

    def _fail_name(self, reader: Reader, token: Token) -> NoReturn:
        name = self.names.meant(token.text)
        hint = f"write X({name})" if name else "write X(me), X(Name), me, true or false"
        reader.fail(token.start, f"{token.text[:60]!r} is not a formula", hint)


def _move(reader: Reader, call: Formula) -> Formula:
    """The call, with =C or =D if that follows."""
    if not reader.take("EQUALS"):
        return call
    token = reader.expect("NAME", "a move is C or D")
    if token.text.casefold() not in ("c", "d"):
        reader.fail(token.start, f"{token.text[:60]!r} is not a move", "a move is C or D")
    return call if token.text.casefold() == "c" else Formula(Op.NOT, (call,))
