"""The common base of the AEC and parallel environments: players, spaces, the position as arrays and as text."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Self

import numpy as np
from gymnasium import spaces

from welfare_env import checks
from welfare_env.envs.actions import with_press
from welfare_env.envs.observation import board_space, observe
from welfare_env.envs.screen import Screen
from welfare_env.envs.setting import EnvSettings
from welfare_env.errors import ActionError, GameOverError
from welfare_env.game.game import Game
from welfare_env.game.press import messages_space, players


class BoardEnv:
    """Base of the environments, in addition to PettingZoo's.

    Spaces are made on first access, since play with strings does not need them.
    """

    game: Game

    def __init__(self, setting: EnvSettings) -> None:
        self.setting = setting
        self.board, self.rules, self.render_mode = setting.board, setting.rules, setting.render_mode
        self.possible_agents = list(players(self.board, self.rules))
        self.agents: list[str] = []
        self.state_space = board_space(self.board)
        self._begun = False
        self._screen = Screen(setting.render_mode)

    def _legal_spaces(self) -> dict[str, spaces.Space]:
        """The spaces of an observation's entries other than board and messages."""
        raise NotImplementedError

    def _orders_space(self) -> spaces.Space:
        """A new space of a player's orders. Every player gets its own, with its own random generator."""
        raise NotImplementedError

    @cached_property
    def observation_spaces(self) -> dict[str, spaces.Space]:
        seen: dict[str, spaces.Space] = {"observation": board_space(self.board), **self._legal_spaces()}
        if self.rules.has_tokens:
            seen["messages"] = messages_space(self.board, self.rules)
        return dict.fromkeys(self.possible_agents, spaces.Dict(seen))

    @cached_property
    def action_spaces(self) -> dict[str, spaces.Space]:
        return {
            agent: with_press(self._orders_space(), self.board, self.rules, agent) for agent in self.possible_agents
        }

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share the game

    def observation_space(self, agent: str) -> spaces.Space:
        """The agent's observation space. Raises ActionError for an unknown agent, as does `action_space`."""
        return self.observation_spaces[self._check_agent(agent)]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[self._check_agent(agent)]

    def _check_agent(self, agent: object) -> str:
        return checks.choice("agent", agent, self.possible_agents, ActionError)

    def _check_begun(self) -> None:
        if not self._begun:
            raise GameOverError("the game has not begun: call reset() first")

    def _check_running(self) -> None:
        self._check_begun()
        if not self.agents:
            raise GameOverError("the game is over: call reset() for another")

    def state(self) -> np.ndarray:
        """The position as the first power sees it, without orders and messages: float32 [provinces, features].

        Raises:
            GameOverError: before `reset`.
        """
        self._check_begun()
        return observe(self.board, self.game.position.state, self.rules.years, 0)

    def render(self) -> str | np.ndarray | None:
        """Draw the current position.

        "ansi" returns text, "svg" an SVG string, and "rgb_array" its pixels: uint8 [height, 900, 3]. "human" writes the
        replay page and opens it in the browser the first time; the open page follows the game and stays at its end;
        the next game opens a new page. Without a display it prints the page's path. The page is removed by `close`, or
        when Python exits; use `Game.replay` for a permanent one.

        Raises:
            GameOverError: before `reset`.
            PictureError: "rgb_array" without the extra `plot`.
        """
        self._check_begun()
        return self._screen.render(self.game)

    def close(self) -> None:
        """Remove the page that render mode "human" wrote. There are no other resources to release."""
        self._screen.close()
