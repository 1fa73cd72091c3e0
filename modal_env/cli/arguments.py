"""Agents, shares and numbers as written on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from modal_env.checks import MAX_DIGITS
from modal_env.errors import FormulaError, GameError
from modal_env.games.game import Mix, ProgramGame
from modal_env.logic.library import LIBRARY, POST, SHORT
from modal_env.logic.notation import find
from modal_env.logic.parser import OWN_WORDS, parse_agents
from modal_env.logic.syntax import Agent

NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=(?!>)(.*)", re.DOTALL)


def read_agents(texts: Sequence[str] | None) -> list[Agent]:
    """The agents of a command line: names, formulas and NAME=FORMULA; by default the four of the post.

    Raises:
        FormulaError: a name that is already taken, or as `modal_env.parse`.
    """
    if not texts:
        return list(POST)
    split = [NAMED.fullmatch(text) for text in texts]
    defined: dict[str, str] = {}
    for match in filter(None, split):
        _check_name(match[1], match[2], defined)
        defined[match[1]] = match[2]
    helpers = parse_agents(defined, {**LIBRARY, **SHORT})
    return [helpers[match[1]] if match else find(text, helpers) for text, match in zip(texts, split, strict=True)]


def _check_name(name: str, text: str, defined: Mapping[str, str]) -> None:
    """Check that a name may be given to a formula.

    Raises:
        FormulaError: the name is a keyword of formulas, or is already taken.
    """
    if name.casefold() in OWN_WORDS and len(name) > 1:  # keywords of one letter (a, b, F, T, X) may also be names
        raise FormulaError(f"{name!r} is a keyword of formulas: choose another name")
    alike = [other for other in defined if other.casefold() == name.casefold()]
    if alike and (alike[0], defined[alike[0]].split()) != (name, text.split()):
        raise FormulaError(f"two agents are called {name!r}: name them differently")
    for known, agent in {**LIBRARY, **SHORT}.items():
        if known.casefold() == name.casefold() and text.strip() != agent.text:
            raise FormulaError(f"the library has an agent called {known}, {agent.text}: choose another name")


def read_different(texts: Sequence[str] | None) -> list[Agent]:
    """As `read_agents`.

    Raises:
        GameError: an agent is given twice, even if under different names.
    """
    agents = read_agents(texts)
    for number, agent in enumerate(agents):
        if agent in agents[:number]:
            first = agents[agents.index(agent)].name
            names = f"{first!r:.60}" if first == agent.name else f"{first!r:.60} and {agent.name!r:.60}"
            raise GameError(f"an agent is given twice, as {names}: leave one out")
    return agents


def read_shares(game: ProgramGame, text: str | None) -> Mix:
    """Read shares; by default all are equal.

    Raises:
        GameError: they are not shares that add up to 1.
    """
    return game.mix(read_numbers(text) or [Fraction(1, len(game.agents))] * len(game.agents))


def read_numbers(text: str | None) -> dict[str, str] | None:
    """Read NAME=NUMBER,... as a mapping.

    Raises:
        GameError: the text does not have this form, or gives a name twice.
    """
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.rpartition("="))
        if not equals or name in found:
            raise GameError(f"{part!r:.80} in {text!r:.80}: give NAME=NUMBER, each name once, with commas between them")
        found[name] = number
    return found


def whole_or_text(number: str) -> int | str:
    """A number of members; a text that is none as it is."""
    return int(number) if number.isdecimal() and len(number) <= MAX_DIGITS else number
