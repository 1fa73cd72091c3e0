"""The three ways to choose a program: by its number in a list, as text, or token by token.

A mode is shared by all players and stateless; a player's choice so far is its `ContestTurn`. Every mode has

    width, largest   most numbers in a choice (`ContestTurn.written`), and the largest of them
    action_space()   a new action space for one player
    mask(turn)       the allowed actions, int8 [actions]; None where actions are texts
    actions(program) the actions of a turn that chooses a program; errors if there are none
    take(turn, action)  the turn after an action; ProgramActionError if it is none, FormulaError if it is not allowed
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from modal_env.checks import brief, integer
from modal_env.envs.tokens import START, Places, Vocabulary
from modal_env.errors import FormulaError, ProgramActionError
from modal_env.logic.notation import find as find  # policies import it from here
from modal_env.logic.provability import MAX_COINS
from modal_env.logic.syntax import UNICODE, Agent, Op, closure

CHARACTERS = string.ascii_letters + string.digits + "_ ()[]<>~&|-=" + "".join(UNICODE.values())
MAX_CALLS = MAX_COINS - 1
SHOWN = 12  # programs named in an error


@dataclass(frozen=True)
class ContestTurn:
    """A player's choice in this round.

    Attributes:
        program: the agent; None while the choice is incomplete.
        written: the choice as numbers: [1 + number of the agent], or [tokens so far]; [] if programs are texts or the
            program is invalid.
        refused: the error of the player's last action.
        places: of a formula in tokens, see `modal_env.envs.tokens.Places`.
    """

    program: Agent | None = None
    written: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()
    places: Places = START


class LibraryMode:
    """Programs by number, from a list of agents."""

    width = 1

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = tuple(agents)
        self.largest = len(self.agents)

    def action_space(self) -> spaces.Space:
        return spaces.Discrete(len(self.agents))

    def mask(self, turn: ContestTurn) -> NDArray[np.int8]:
        """All programs are allowed in every round."""
        return np.ones(len(self.agents), np.int8)

    def actions(self, program: Agent) -> tuple[int]:
        if program not in self.agents:
            raise ProgramActionError(f"{program.name!r:.80} is not among the programs to choose from: {self._choices}")
        return (self.agents.index(program),)

    @property
    def _choices(self) -> str:
        """The programs there are, and how to get others, as a text."""
        names = [f"{number} {agent.name:.40}" for number, agent in enumerate(self.agents[:SHOWN])]
        more = f", and {len(self.agents) - SHOWN} more" if len(self.agents) > SHOWN else ""
        others = 'make(agents=[...]) offers others, make(actions="formula") takes any program as text'
        return f"{', '.join(names)}{more}. {others}"

    def take(self, turn: ContestTurn, action: Any) -> ContestTurn:
        if isinstance(action, str | Agent):
            raise ProgramActionError(f"action {brief(action)}: give the number of a program, {self._choices}")
        number = _number(action, len(self.agents))
        return ContestTurn(self.agents[number], (1 + number,))


class FormulaMode:
    """Programs as texts: a formula, or the name of an agent."""

    width = 0
    largest = 0

    def __init__(self, calls: Sequence[Agent], me: bool, budget: int) -> None:
        self.calls, self.me, self.budget = {agent.name: agent for agent in calls}, me, budget

    def action_space(self) -> spaces.Space:
        return spaces.Text(self.budget, charset=CHARACTERS)

    def mask(self, turn: ContestTurn) -> None:
        """None: the allowed texts cannot be listed."""

    def actions(self, program: Agent) -> tuple[str]:
        self._check_words(program, program.text)
        return (program.text,)

    def take(self, turn: ContestTurn, action: Any) -> ContestTurn:
        if not isinstance(action, str):
            raise ProgramActionError(f"action {brief(action)}: give a formula as text, such as '[]X(me)'")
        if len(action) > self.budget:
            raise FormulaError(f"formula {brief(action)}: {len(action)} characters, of at most {self.budget}", action)
        program = check_calls(find(action, self.calls))
        self._check_words(program, action)
        return ContestTurn(program)

    def _check_words(self, program: Agent, text: str) -> None:
        """Check that a formula, and all agents written in it, say `me` and call others only as is allowed.

        Raises:
            FormulaError: they do not.
        """
        todo = [program]
        for agent in todo:  # grows
            if Op.ME in agent.program and not self.me:
                wrong = "it says `me`, what the program itself does: make(me=True) allows it"
                raise FormulaError(f"{text!r:.80}: {wrong}", text)
            others = [(name, called) for name, called in agent.helpers.items() if self.calls.get(name) != called]
            if named := [name for name, called in others if called.text != name]:
                known = ", ".join(self.calls) or "nobody"
                raise FormulaError(f"{text!r:.80} calls X on {named[0]!r:.60}: formulas may call {known:.300}", text)
            todo += [called for _, called in others]


class TokenMode:
    """Programs token by token."""

    def __init__(self, calls: Sequence[Agent], me: bool, budget: int) -> None:
        self.vocabulary = Vocabulary(calls, me)
        self.width, self.largest = budget, len(self.vocabulary) - 1

    def action_space(self) -> spaces.Space:
        return spaces.Discrete(len(self.vocabulary))

    def mask(self, turn: ContestTurn) -> NDArray[np.int8]:
        """The tokens that may come next; `NOTHING` for a player who is done and waits for others."""
        return self.vocabulary.mask(() if turn.program else turn.places, self.width - len(turn.written))

    def actions(self, program: Agent) -> tuple[int, ...]:
        written = self.vocabulary.encode(program)
        if len(written) > self.width:
            raise FormulaError(f"{program.name!r:.80} has {len(written)} tokens, of at most {self.width}")
        return written

    def take(self, turn: ContestTurn, action: Any) -> ContestTurn:
        number, vocabulary = _number(action, len(self.vocabulary)), self.vocabulary
        if not self.mask(turn)[number]:
            if turn.program:
                raise FormulaError(f"token {vocabulary.texts[number]!r} (number {number}): the formula has ended")
            raise vocabulary.refusal(turn.written, number)
        if turn.program:
            return replace(turn, refused=())
        written, places = (*turn.written, number), vocabulary.after(turn.places, number)
        return ContestTurn(None if places else check_calls(vocabulary.agent(written)), written, places=places)


Mode = LibraryMode | FormulaMode | TokenMode


def check_calls(agent: Agent) -> Agent:
    """Check that an agent, and all agents that it calls, can play against RandomBot; return it.

    Raises:
        FormulaError: one of them calls X on more than `MAX_CALLS` agents.
    """
    for caller in closure([agent]):
        if len(caller.called) > MAX_CALLS:
            text = f"{caller.name!r:.80} calls X on {len(caller.called)} agents"
            raise FormulaError(f"{text}: at most {MAX_CALLS} are possible", caller.text)
    return agent


def _number(action: Any, count: int) -> int:
    """An action that is a whole number from 0 to count - 1, of Python or numpy.

    Raises:
        ProgramActionError: it is not.
    """
    number = integer(action[()] if isinstance(action, np.ndarray) and action.shape == () else action)
    if number is None or not 0 <= number < count:
        raise ProgramActionError(f"action {brief(action)}: give a whole number from 0 to {count - 1}")
    return number
