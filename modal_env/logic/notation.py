"""`parse`: agents from text, in all the notations that are in use for modal combat.

A formula is what an agent cooperates under, said about its opponent X:

    X(me), Them(Me), b      X cooperates with this agent
    X(FairBot)              X cooperates with FairBot, or any other agent that is known by name
    me, Me(Them), a         this agent cooperates (an extension)
    true T ⊤, false F ⊥     constants
    [] □, <> ◇              it is provable, it is consistent; [k]p is short for [](~[]^k false -> p), <k>p for ~[k]~p
    ~ ¬ !                   not
    & && ∧, | || ∨          and, or
    -> => →, <-> <=> ↔      if, if and only if
    ( ), ⌜ ⌝                parentheses
    ...=C, ...=D            after X(.) or Me(.): cooperates, defects

~ [] <> bind tightest, then &, |, ->, <->. & and | group to the left, -> and <-> to the right: p -> q -> r is
p -> (q -> r). Case does not count in X, me, true, false and in names of agents, unless two names differ by nothing
else. `a`, `b` and [k] are those of MIRI's Haskell program (github.com/machine-intelligence/provability). The
text `coin` is RandomBot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

from modal_env.checks import items, shown
from modal_env.errors import FormulaError, GameError
from modal_env.logic.parser import CONSTANTS, Reader, Token, nearest, read
from modal_env.logic.syntax import NAME, Agent, Formula, Op, can_be_called

__all__ = ["Agent", "Formula", "Op", "as_agent", "as_agents", "find", "parse", "parse_agents"]

THIS = "formula of the agent"  # has blanks, so that no X(.) can name it
OPPONENT = {"x", "them"}
LISTED = "modal_env.LIBRARY"  # where a reader finds the names of agents
OWN_WORDS = {*OPPONENT, "me", "a", "b", "coin", *(word.casefold() for word in CONSTANTS)}
WORDS = {word.casefold(): op for word, op in CONSTANTS.items()}


def parse(text: str, *, name: str | None = None, helpers: Mapping[str, Agent | str] | None = None) -> Agent:
    """The agent that a text describes; see the module's documentation for the notation.

    Args:
        text: the formula, such as "[](X(me) & (X(DefectBot) -> []false))"; at most 100,000 characters and 500 levels.
        name: what the agent is called; its text by default.
        helpers: name -> agent, or the text of one, that formulas may call X on, besides the agents of
            `modal_env.logic.library`. Texts may call each other, though not in a circle.

    Raises:
        FormulaError: no formula, an X(.) or `me` under no box, an unknown name, helpers that call each other in a
            circle, a formula too long or too deep. The message points at the place and tells what is possible there.
    """
    from modal_env.logic.library import LIBRARY, SHORT  # which is made with `parse_agents`

    if not isinstance(text, str):
        raise FormulaError(f"formula {shown(text)}: give a text such as '[]X(me)'")
    if name is not None and (not isinstance(name, str) or not name):
        raise FormulaError(f"name={shown(name)}: give a text, or leave it out")
    agent = parse_agents({THIS: text, **_checked(helpers)}, {**LIBRARY, **SHORT})[THIS]
    return agent.renamed(name or agent.text)


def find(text: str, helpers: Mapping[str, Agent] | None = None) -> Agent:
    """The agent of this name, or the one that the text describes.

    Args:
        text: a name of `modal_env.LIBRARY`, a short one ("FB") or one of the helpers', in any case, or a formula.
        helpers: agents known besides the library's.

    Raises:
        FormulaError: as `modal_env.parse`.
    """
    from modal_env.logic.library import LIBRARY, SHORT  # which is made with `parse_agents`

    known = {**LIBRARY, **SHORT, **(helpers or {})}
    word = text.strip()
    alike = [agent for name, agent in known.items() if name.casefold() == word.casefold()]
    if word in known or len(alike) == 1:
        return known.get(word) or alike[0]
    if NAME.fullmatch(word) and word.casefold() not in OWN_WORDS:
        raise FormulaError(f"no agent is called {word[:80]!r}: {nearest(word, known, LISTED)}", text, 0)
    return parse(text, helpers=helpers)


def as_agent(given: object) -> Agent:
    """An agent, given as such, by name or as a formula.

    Raises:
        GameError: something else.
        FormulaError: a text that is neither name nor formula, see `find`.
    """
    if isinstance(given, str):
        return find(given)
    if not isinstance(given, Agent):
        raise GameError(f"{shown(given)} is no agent: give one of the library, its name, or a formula like '[]X(me)'")
    return given


def as_agents(given: object, name: str = "agents") -> tuple[Agent, ...]:
    """One agent or more, each given as such, by name or as a formula; `name` is what they are, for the message.

    Raises:
        GameError: none, or something else.
        FormulaError: a text that is neither name nor formula, see `find`.
    """
    found = items(given)
    if not found or not all(isinstance(agent, (Agent, str)) for agent in found):
        hint = "give a list of agents, one at least: names such as 'FairBot' or formulas '[]X(me)'"
        raise GameError(f"{name}={shown(given)}: {hint}")
    return tuple(map(as_agent, found))


def parse_agents(given: Mapping[str, Agent | str], known: Mapping[str, Agent]) -> dict[str, Agent]:
    """All agents of a mapping whose texts may call each other, and besides those that are known.

    Raises:
        FormulaError: as `parse`.
    """
    readers = {name: Reader(text, _title(name)) for name, text in given.items() if not isinstance(text, Agent)}
    agents = {**known, **{name: agent.renamed(name) for name, agent in given.items() if isinstance(agent, Agent)}}
    names = _Names(name for name in (*given, *known) if name != THIS)
    for name in _in_sequence(readers, names):
        agents[name] = Agent(name, read(readers[name], _Atoms(agents, names)))
    return {name: agents[name] for name in given}


def _title(name: str) -> str:
    return "formula" if name == THIS else f"helper {name!r}"


def _checked(helpers: Mapping[str, Agent | str] | None) -> Mapping[str, Agent | str]:
    if helpers is not None and not isinstance(helpers, Mapping):
        raise FormulaError(f"helpers={shown(helpers)}: give a mapping of names to agents or texts")
    for name, agent in (helpers or {}).items():
        if not isinstance(name, str) or not can_be_called(name):
            raise FormulaError(f"helper {shown(name)}: give a name of letters, digits and _ that is not 'me'")
        if not isinstance(agent, Agent | str):
            raise FormulaError(f"helper {name!r}: {shown(agent)} is neither an agent nor a text")
    return helpers or {}


class _Names:
    """The names of agents, in sequence."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all = dict.fromkeys(names)
        self._folded: dict[str, list[str]] = {}
        for name in self.all:
            self._folded.setdefault(name.casefold(), []).append(name)

    def meant(self, name: str) -> str | None:
        """This one, or the only one that differs in case alone."""
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
    """Reads X(.), `me` and constants; `agents` has all that stand before it in sequence."""

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
        """What stands behind X."""
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
        """What stands behind `me`: nothing, or (X)."""
        if reader.take("OPEN"):
            token = reader.expect("NAME", "write me or Me(Them)")
            if token.text.casefold() not in OPPONENT:
                reader.fail(token.start, "an agent knows what it does against X alone", "write me or Me(Them)")
            reader.expect("CLOSE", "close Me( with )")
        return Formula(Op.ME)

    def _coin(self, reader: Reader, token: Token) -> Formula:
        if len(reader.tokens) > 2:
            reader.fail(token.start, "a coin is no part of a formula", "'coin' alone is RandomBot")
        return Formula(Op.COIN)

    def _fail_name(self, reader: Reader, token: Token) -> NoReturn:
        name = self.names.meant(token.text)
        hint = f"write X({name})" if name else "write X(me), X(Name), me, true or false"
        reader.fail(token.start, f"{token.text[:60]!r} is no formula", hint)


def _move(reader: Reader, call: Formula) -> Formula:
    """The call with a =C or =D behind it, if there is one."""
    if not reader.take("EQUALS"):
        return call
    token = reader.expect("NAME", "a move is C or D")
    if token.text.casefold() not in ("c", "d"):
        reader.fail(token.start, f"{token.text[:60]!r} is no move", "a move is C or D")
    return call if token.text.casefold() == "c" else Formula(Op.NOT, (call,))
