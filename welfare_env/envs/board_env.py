"""The common base of the AEC and parallel environments: players, spaces, orders, messages, observations, pictures."""

from __future__ import annotations

import copy
import math
import os
import shutil
import sys
import tempfile
import weakref
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from gymnasium import spaces

from welfare_env import checks
from welfare_env.board.orders import WAIVE
from welfare_env.envs.actions import PressSpace
from welfare_env.envs.observation import MaskedSpace, board_space, observe
from welfare_env.envs.setting import RENDER_MODES, EnvSettings
from welfare_env.errors import ActionError, GameOverError, IllegalOrderError, PressError
from welfare_env.game.game import Game
from welfare_env.game.press import MEDIATOR, TOKENS, messages_space, observe_messages, players
from welfare_env.game.record import save_text
from welfare_env.render.pixels import is_installed

WIDTH = 900  # pixels of "rgb_array"
NO_UNITS = "the mediator has no units to order"


def working_modes() -> list[str]:
    """The render modes available here, for the metadata of environments: "rgb_array" needs the extra `plot`."""
    return [mode for mode in RENDER_MODES if mode != "rgb_array" or is_installed()]


def _no_round(sender: str, recipient: object) -> str:
    return f"message from {sender} to {checks.quoted(recipient)}: this is not a message round"


def no_numbers(player: str, numbers: object) -> list[str]:
    """The error for orders given as numbers in a message round, where only lists of strings and WAIVE are taken."""
    if not np.any(np.asarray(numbers) != WAIVE):
        return []
    return [f"orders {checks.quoted(numbers)} of {player} in a message round: give strings, or wait for the order turn"]


def _flattened(seen: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An observation as vectors: board and words, and the mask."""
    parts = [seen["observation"].ravel(), *([seen["messages"].ravel() / len(TOKENS)] if "messages" in seen else [])]
    return {"observations": np.concatenate(parts, dtype=np.float32), "action_mask": seen["action_mask"].ravel()}


def _nothing() -> None:
    """There is no page to remove."""


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
        self._refused: dict[str, tuple[str, ...]] = {}
        self._begun = False
        self._page: Path | None = None  # of mode "human"
        self._remove_page: Callable[[], object] = _nothing

    def _begin(self, game: Game) -> None:
        self.game, self._begun = game, True
        self.agents = list(self.possible_agents)
        self._refused = dict.fromkeys(self.agents, ())
        self._page = None

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
        if self.setting.flat:
            size = sum(math.prod(seen[name].shape or ()) for name in ("observation", "messages") if name in seen)
            mask = spaces.Box(0, 1, (math.prod(seen["action_mask"].shape or ()),), np.int8)
            seen = {"observations": spaces.Box(-1, 1, (size,), np.float32), "action_mask": mask}
        return dict.fromkeys(self.possible_agents, MaskedSpace(seen))

    @cached_property
    def action_spaces(self) -> dict[str, spaces.Space]:
        orders = {agent: self._orders_space() for agent in self.possible_agents}
        if not self.rules.has_press:
            return orders
        return {agent: PressSpace(orders[agent], self.board, self.rules, agent) for agent in orders}

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a shallow copy would share the game

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_page": None, "_remove_page": _nothing}  # a copy has its own page

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

    # Messages and orders. In strict environments all is checked before anything is carried out.

    def _check_press(self, sender: str, messages: Mapping[str, str], message_round: int) -> None:
        """Raise PressError for the first message that cannot be sent; outside message rounds, 0, none can."""
        for recipient, text in messages.items():
            if not message_round:
                raise PressError(_no_round(sender, recipient))
            self.game.check_send(sender, recipient, text)

    def _say(self, sender: str, messages: Mapping[str, str], message_round: int) -> list[str]:
        """Send messages. Returns the errors of those that cannot be sent; outside message rounds, 0, none can."""
        if not message_round:
            return [_no_round(sender, recipient) for recipient in messages]
        refused = []
        for recipient, text in messages.items():
            try:
                self.game.send(sender, recipient, text, message_round)
            except PressError as error:
                refused.append(str(error))
        return refused

    def _check_orders(self, agent: str, orders: Sequence[str]) -> None:
        """Raise OrderError for the first of an agent's orders that it cannot give."""
        if agent != MEDIATOR:
            self.game.check_orders(agent, orders)
        elif orders:
            raise IllegalOrderError(NO_UNITS)

    def _submit(self, agent: str, orders: Sequence[str]) -> list[str]:
        """Submit all orders of an agent. Returns the errors of those that are void."""
        if agent == MEDIATOR:
            return [NO_UNITS] if orders else []
        return [void.reason for void in self.game.submit(agent, orders, strict=False)]

    # Observations and pictures.

    def _seen(self, agent: str, asked: int, message_round: int, legal: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """An agent's observation.

        Args:
            asked: the province of the unit to be ordered, or -1.
            message_round: its number; 0: orders are asked for.
            legal: the entries of `_legal_spaces`.
        """
        power = 0 if agent == MEDIATOR else self.board.power_index[agent]
        state, pending = self.game.position.state, self.game._order_numbers(agent)
        board = observe(
            self.board,
            state,
            self.rules.years,
            power,
            asked,
            message_round / max(1, self.rules.message_rounds),
            pending,
        )
        seen = {"observation": board, **legal}
        if self.rules.has_tokens:
            seen["messages"] = observe_messages(self.board, self.rules, agent, self.game.messages)
        return _flattened(seen) if self.setting.flat else seen

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
        the next game opens a new page. Without a display it prints the page's path. A page is removed by `close`, or
        when Python exits; use `Game.replay` for a permanent one.

        Raises:
            GameOverError: before `reset`.
            PictureError: "rgb_array" without the extra `plot`.
        """
        self._check_begun()
        if self.render_mode == "human":
            self._show()
        elif self.render_mode is not None:
            from welfare_env.render.phase import phase_svg, render
            from welfare_env.render.pixels import pixels

            if self.render_mode == "ansi":
                return render(self.game)
            drawn = phase_svg(self.game)
            return drawn if self.render_mode == "svg" else pixels(drawn, WIDTH)
        return None

    def _show(self) -> None:
        """Write the page of the game so far; open it the first time."""
        from welfare_env.render.replay.page import replay_page

        is_new = self._page is None
        if self._page is None:
            folder = tempfile.mkdtemp(prefix="welfare-env-")
            self._remove_page = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._page = Path(folder, "game.html")
        is_live = not self.game.is_done
        save_text(replay_page(self.game.record(), self.board, at_end=True, live=is_live), self._page)
        # Without a display `webbrowser` would start a text browser in this terminal.
        has_display = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
        if is_new and not (has_display and webbrowser.open(self._page.as_uri())):
            print(f"replay page: {self._page}")

    def close(self) -> None:
        """Remove the page that render mode "human" wrote. There are no other resources to release."""
        self._remove_page()
        self._page = None
