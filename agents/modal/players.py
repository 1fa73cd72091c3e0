"""Players of `modal_env`: a fixed program, a mix of programs, and the best reply to either.

They write their programs in the form that the environment asks for: as a number, as a formula, or token by token.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import modal_env
from agents.policy import Described, generator, is_modal
from modal_env import Agent
from modal_env.envs.tokens import NOTHING
from modal_env.games.game import meet
from modal_env.logic.notation import as_agent
from welfare_env.checks import quoted
from welfare_env.errors import ActionError, UnknownAgentError

Share = tuple[Agent, Fraction]
MOST_PROGRAMS = 100  # in a mix
LONGEST_SHARE = 40  # characters
_SHARE = re.compile(r"[-+]?(?:[0-9]+/0*[1-9][0-9]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?)")


def expected_payoff(mine: Sequence[Share], other: Sequence[Share], setting: modal_env.Setting) -> Fraction:
    """The expected payoff of a mix against another one, cost deducted; the mean of both seats."""
    seats = [setting.payoffs] if setting.payoffs.is_symmetric else [setting.payoffs, setting.payoffs.turned]
    meetings = [(p * q, meet(a, b, setting.cost, seat)) for a, p in mine for b, q in other for seat in seats]
    return sum((share * meeting.paid(setting.epsilon) for share, meeting in meetings), Fraction(0)) / len(seats)


def read_share(text: str) -> Fraction:
    """Parses a share: "17/20", "0.05", "1e-3".

    Raises:
        ValueError: not such a number, longer than `LONGEST_SHARE`, or with more than two digits after the e.
    """
    if len(text) > LONGEST_SHARE or not _SHARE.fullmatch(text):
        most = f"in at most {LONGEST_SHARE} characters, and with at most two digits after an e"
        raise ValueError(f"{text!r:.80} is not a share: give a number such as 1/20 or 0.05, {most}")
    return Fraction(text)


def _number(share: Fraction | int | float | str) -> Fraction:
    if isinstance(share, str):
        return read_share(share.strip())
    return share if isinstance(share, Fraction) else Fraction(str(share))


class RoundWriter(Described):
    """Base of players that write a program in every round, action by action."""

    _round: int | None = None  # the round that the actions are for; -1 after `reset`
    _actions: tuple[Any, ...]

    def begins_round(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> bool:
        """Whether the actions of a new round are needed.

        Raises:
            ActionError: before `reset`, or not in modal_env.
        """
        name = type(self).__name__
        if not is_modal(info) or not isinstance(observation, Mapping):
            turn = "give the observation and info that env.last() returns, where env = modal_env.make()"
            raise ActionError(f"{name}.act(observation, info): it plays modal combat: {turn}")
        if self._round is None:
            raise ActionError(f"{name}.act before reset: call reset(agent, seed) before each game")
        before, self._round = self._round, int(observation["observation"][0][0])
        return before != self._round

    def next_action(self, observation: Mapping[str, Any]) -> Any:
        """The next of this round's actions; `NOTHING` once the program is written, while others are not done."""
        written = int(np.count_nonzero(observation["observation"][0][2:]))
        return self._actions[written] if written < len(self._actions) else NOTHING


class ProgramPolicy(RoundWriter, ABC):
    """Base of players that choose a program for every round: subclasses implement `program`."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Any:
        """The next action that writes this round's program; see `RoundWriter`.

        Raises:
            ActionError: before `reset`, or not in modal_env.
            ActionError, FormulaError, GameError: the program cannot be written in this environment.
        """
        if self.begins_round(observation, info):
            setting: modal_env.Setting = info["setting"]
            self._actions = setting.mode().actions(self.program(setting))
        return self.next_action(observation)

    def reset(self, agent: str, seed: int = 0) -> None:
        """Prepares for a new game. Random draws depend on the seed and the player.

        Raises:
            ValueError: a negative seed.
        """
        self.rng = generator(agent, seed)
        self._round = -1

    @abstractmethod
    def program(self, setting: modal_env.Setting) -> Agent:
        """The program for a round."""


class MixPolicy(ProgramPolicy):
    """Draws a program for every round, with its share as probability.

    Args:
        shares: (program, share) pairs: a name or a formula (`modal_env.parse`), and a Fraction, a whole number, a text
            such as "17/20", or a float, which is read as the decimal number it prints as.

    Raises:
        UnknownAgentError: not pairs, a program or a share (`read_share`) cannot be parsed, a share is negative, the
            shares do not add up to 1, or there are more than `MOST_PROGRAMS`.
    """

    def __init__(self, shares: Sequence[tuple[str, Fraction | int | float | str]]) -> None:
        is_list = isinstance(shares, list | tuple)
        if not is_list or any(not isinstance(each, tuple | list) or len(each) != 2 for each in shares):
            raise UnknownAgentError(f"shares={quoted(shares)}: give a list of pairs (program, share)")
        if len(shares) > MOST_PROGRAMS:
            raise UnknownAgentError(f"a mix of {len(shares)} programs: give {MOST_PROGRAMS} at most")
        self.shares: list[Share] = [(as_agent(program), _number(share)) for program, share in shares]
        if any(share < 0 for _, share in self.shares) or sum(share for _, share in self.shares) != 1:
            given = ", ".join(f"{program}={share}" for program, share in shares)
            total = sum(share for _, share in self.shares)
            raise UnknownAgentError(f"the shares {given} add up to {total}: give shares from 0 that add up to 1")

    def program(self, setting: modal_env.Setting) -> Agent:
        chances = np.array([float(share) for _, share in self.shares])
        return self.shares[int(self.rng.choice(len(chances), p=chances / chances.sum()))][0]


class BestReplyPolicy(ProgramPolicy):
    """Plays the best reply to a mix among the programs of the environment; of equally good ones the first.

    Args:
        to: the mix.

    Raises:
        UnknownAgentError: `to` is not a mix.
    """

    def __init__(self, to: MixPolicy) -> None:
        if not isinstance(to, MixPolicy):
            raise UnknownAgentError("to: give a program:... or mix:...")
        self.to = to
        self._replies: dict[modal_env.Setting, Agent] = {}

    def program(self, setting: modal_env.Setting) -> Agent:
        """The best reply, computed exactly, once per setting."""
        if setting not in self._replies:
            self._replies[setting] = max(setting.agents, key=lambda agent: self._paid(agent, setting))
        return self._replies[setting]

    def _paid(self, agent: Agent, setting: modal_env.Setting) -> Fraction:
        return expected_payoff(((agent, Fraction(1)),), self.to.shares, setting)
