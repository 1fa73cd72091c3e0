"""`parse`: agents from text, in all notations in use for modal combat.

A formula states when an agent cooperates, in terms of its opponent X:

    X(me), Them(Me), b      X cooperates with this agent
    X(FairBot)              X cooperates with FairBot, or another agent known by name
    X([]X(me))              X cooperates with the agent []X(me); inside, X(me) is about that agent
    me, Me(Them), a         this agent cooperates (an extension)
    true T ⊤, false F ⊥     constants
    [] □, <> ◇              it is provable, it is consistent; [k]p is short for [](~[]^k false -> p), <k>p for ~[k]~p
    ~ ¬ !                   not
    & && ∧, | || ∨          and, or
    -> => →, <-> <=> ↔      if, if and only if
    ( ), ⌜ ⌝                parentheses
    ...=C, ...=D            after X(.) or Me(.): cooperates, defects

~ [] <> bind tightest, then &, |, ->, <->. & and | group to the left, -> and <-> to the right: p -> q -> r is
p -> (q -> r). Case does not matter in X, me, true, false and names of agents, unless two names differ in case alone.
`a`, `b` and [k] are from MIRI's Haskell program (github.com/machine-intelligence/provability). The text `coin` is
RandomBot.
"""

from __future__ import annotations

from collections.abc import Mapping

from modal_env.checks import brief, items, nearest
from modal_env.errors import FormulaError, GameError
from modal_env.logic.library import LIBRARY, SHORT
from modal_env.logic.parser import LISTED, OWN_WORDS, THIS, parse_agents
from modal_env.logic.syntax import NAME, Agent, Formula, Op, can_be_called

__all__ = ["MAX_AGENTS", "Agent", "Formula", "Op", "as_agent", "as_agents", "find", "parse"]

MAX_AGENTS = 10_000  # of a game or a tournament, called ones included: squares of them take a gigabyte


def parse(text: str, *, name: str | None = None, helpers: Mapping[str, Agent | str] | None = None) -> Agent:
    """The agent that a text describes; see the module's documentation for the notation.

    Args:
        text: the formula, such as "[](X(me) & (X(DefectBot) -> []false))"; at most 100,000 characters and 500 levels.
        name: the agent's name; by default its text.
        helpers: name -> agent, or its text, that formulas may call X on, besides the agents of
            `modal_env.logic.library`. Texts may call each other, but not in a circle.

    Raises:
        FormulaError: not a formula, an X(.) or `me` outside all boxes, an unknown name, helpers that call each other in
            a circle, a formula too long or too deep. The message points at the place and says what is possible there.
    """
    if not isinstance(text, str):
        raise FormulaError(f"formula {brief(text)}: give a text such as '[]X(me)'")
    if name is not None and (not isinstance(name, str) or not name):
        raise FormulaError(f"name={brief(name)}: give a text, or leave it out")
    agent = parse_agents({THIS: text, **_checked(helpers)}, {**LIBRARY, **SHORT})[THIS]
    return agent.renamed(name or agent.text)


def find(text: str, helpers: Mapping[str, Agent] | None = None) -> Agent:
    """The agent of this name, or the one that the text describes.

    Args:
        text: a name in `modal_env.LIBRARY`, its abbreviation ("FB") or a helper's name, in any case; or a formula.
        helpers: known agents besides the library's.

    Raises:
        FormulaError: as `modal_env.parse`.
    """
    known = {**LIBRARY, **SHORT, **(helpers or {})}
    word = text.strip()
    alike = [agent for name, agent in known.items() if name.casefold() == word.casefold()]
    if word in known or len(alike) == 1:
        return known.get(word) or alike[0]
    if NAME.fullmatch(word) and word.casefold() not in OWN_WORDS:
        raise FormulaError(f"no agent is called {word[:80]!r}: {nearest(word, known, LISTED)}", text, 0)
    return parse(text, helpers=helpers)


def as_agent(given: object) -> Agent:
    """An agent given as an object, by name or as a formula.

    Raises:
        GameError: neither an agent nor a text.
        FormulaError: a text that is neither name nor formula, see `find`.
    """
    if isinstance(given, str):
        return find(given)
    if not isinstance(given, Agent):
        raise GameError(f"{brief(given)} is not an agent: give an Agent, a name, or a formula like '[]X(me)'")
    return given


def as_agents(given: object, name: str = "agents") -> tuple[Agent, ...]:
    """One or more agents, each an object, a name or a formula; `name` is used in the error message.

    Raises:
        GameError: not a list of agents and texts, empty, or of more than `MAX_AGENTS`.
        FormulaError: a text that is neither name nor formula, see `find`.
    """
    found = items(given, MAX_AGENTS + 1)
    if found and len(found) > MAX_AGENTS:
        raise GameError(f"{name}={brief(given)}: at most {MAX_AGENTS:,} agents are possible")
    if not found or not all(isinstance(agent, (Agent, str)) for agent in found):
        hint = "give a list of agents, one at least: names such as 'FairBot' or formulas '[]X(me)'"
        raise GameError(f"{name}={brief(given)}: {hint}")
    return tuple(map(as_agent, found))


def _checked(helpers: Mapping[str, Agent | str] | None) -> Mapping[str, Agent | str]:
    if helpers is not None and not isinstance(helpers, Mapping):
        raise FormulaError(f"helpers={brief(helpers)}: give a mapping of names to agents or texts")
    for name, agent in (helpers or {}).items():
        if not isinstance(name, str) or not can_be_called(name):
            raise FormulaError(f"helper {brief(name)}: give a name of letters, digits and _ that is not 'me'")
        if not isinstance(agent, Agent | str):
            raise FormulaError(f"helper {name!r}: {brief(agent)} is neither an agent nor a text")
    return helpers or {}
