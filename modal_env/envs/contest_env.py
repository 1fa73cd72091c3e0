"""The common part of the AEC and the parallel environment: players, spaces and rendering."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from modal_env.checks import brief, seed_of
from modal_env.envs.rounds import Contest
from modal_env.envs.setting import Setting
from modal_env.errors import GameError, ProgramActionError


class ContestEnv:
    """Base class of both environments, next to PettingZoo's base classes."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.render_mode = setting, setting.render_mode
        self.contest = Contest(setting)
        self.possible_agents = setting.names
        self.agents: list[str] = []
        self._begun = False
        self.observation_spaces = {agent: self.contest.observation_space() for agent in self.possible_agents}
        self.state_space = self.contest.state_space
        self.action_spaces = {agent: self.contest.mode.action_space() for agent in self.possible_agents}

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share the game

    def observation_space(self, agent: str) -> spaces.Space:
        """The observation space of a player.

        Raises:
            ProgramActionError: no player of this name.
        """
        return self.observation_spaces[self.possible_agents[self._number(agent)]]

    def action_space(self, agent: str) -> spaces.Space:
        """The action space of a player.

        Raises:
            ProgramActionError: no player of this name.
        """
        return self.action_spaces[self.possible_agents[self._number(agent)]]

    def state(self) -> NDArray[np.int32]:
        """[2 players, 2 + width] what all players have written in this round, and the last round, see `Contest.state`.

        Raises:
            ProgramActionError: before `reset`.
        """
        self._check_begun()
        return self.contest.state()

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Begin a new game.

        Raises:
            GameError: the seed is not a whole number from 0 to 2^128, or an option is given. Nothing has changed then.
        """
        # PettingZoo's conformance tests pass an option called "options".
        if options is not None and not (isinstance(options, Mapping) and set(options) <= {"options"}):
            raise GameError(f"options={brief(options)}: reset() has no options; leave it out")
        self.contest.begin(None if seed is None else seed_of(seed))
        self._begun, self.agents = True, list(self.possible_agents)

    def _number(self, agent: str) -> int:
        """The number of a player.

        Raises:
            ProgramActionError: there is no player of this name.
        """
        if not isinstance(agent, str) or agent not in self.action_spaces:
            raise ProgramActionError(f"player {brief(agent)}: there are {', '.join(self.possible_agents):.300}")
        return self.possible_agents.index(agent)

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {agent: self.contest.info(player) for player, agent in enumerate(self.possible_agents)}

    def _check_begun(self) -> None:
        if not self._begun:
            raise ProgramActionError("the game has not begun: call reset() first")

    def _check_running(self) -> None:
        self._check_begun()
        if not self.agents:
            raise ProgramActionError("the game is over: call reset() for another")

    def render(self) -> str | None:
        """A table of the programs and payoffs of the last round: returned ("ansi") or printed ("human").

        Raises:
            ProgramActionError: before `reset`.
        """
        self._check_begun()
        if self.render_mode == "human":
            print(self._round_text())
        return self._round_text() if self.render_mode == "ansi" else None

    def _round_text(self) -> str:
        """The last round as text, a line for each player."""
        setting, rounds = self.setting, self.contest.rounds
        lines = [f"Round {len(rounds)} of {setting.rounds}, epsilon {setting.epsilon}, cost: {setting.cost}"]
        if not rounds:
            return f"{lines[0]}\nnobody has played yet"
        last = rounds[-1]
        for player, (name, program) in enumerate(zip(setting.names, last.programs, strict=True)):
            formula = "" if program.name == program.text else f" = {program.text}"
            against, paid = setting.names[last.partners[player]], f"{last.payoffs[player]:.4g}"
            lines.append(f"{name} against {against}: {last.moves[player]}, paid {paid}; {program.name}{formula}")
        return "\n".join(lines)

    def close(self) -> None:
        """Does nothing: no resources are open."""
