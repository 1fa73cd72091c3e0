"""Welfare Diplomacy as a PettingZoo ParallelEnv: all powers act at once, one step per message round and per phase.

Creation
    ``env = welfare_env.parallel_env()``, or ``pettingzoo.make("parallel", "WelfareDiplomacy-v0")``.

Steps
    With press, R steps of messages and then one of orders in movement and adjustment phases; else one of orders. In a
    round all speak at once: what is said can be read from the next step on (in the AEC environment, at once).

Actions
    Orders are ``MultiDiscrete``: one choice per slot from the legal lists in the observation. Movement: a slot per
    unit; retreats: per dislodged unit; Winter: per unit (0 keeps it, 1 disbands it), then per empty home centre (0
    builds nothing). In Winter the first choice that is not 0 says whether the power builds or disbands; later choices
    of the other kind, and builds beyond the allowed number, are void. Choices for slots that are not there must be 0.
    With press a dict ``{"orders": choices, "messages": {recipient: text}}``. A list of strings gives orders in words.

Observations
    ``{"observation": float32 [provinces, features], "legal": int32 [slots, choices], "action_mask": int8 [slots,
    choices]}``. ``legal`` holds order numbers (``env.board.orders.texts``), padded with -1; its rows are the slots. A
    choice is an index into its row. Empty rows and message rounds have choice 0 open.

Everything else (agents, infos, illegal actions, rewards, end) is as in `welfare_env.aec`; ``max_cycles`` counts steps.

Version history
    v0: first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from welfare_env.actions import ListSpace, is_text, send_all, split_action, with_press
from welfare_env.board import Board
from welfare_env.engine import ADJUSTMENTS, RETREATS
from welfare_env.errors import GameOverError, IllegalOrderError
from welfare_env.observation import board_space, observe
from welfare_env.orders import BUILD, DISBAND, GIVE, RETREAT, WAIVE
from welfare_env.press import MEDIATOR, players
from welfare_env.rules import Rules
from welfare_env.setting import RENDER_MODES, Setting
from welfare_env.view import MESSAGES, ORDERS


def legal_shape(board: Board, rules: Rules) -> tuple[int, int]:
    """Slots and choices that are enough for every position of a power on this board."""
    units = (
        len(board.provinces) if rules.overmilitarise else max(len(board.centers), *map(len, board.start_units.values()))
    )
    slots = units + max(len(homes) for homes in board.homes.values())
    moves = ~np.isin(board.orders.kind, (WAIVE, RETREAT, DISBAND, BUILD, GIVE))
    choices = np.bincount(board.orders.piece[moves], minlength=len(board.pieces)).max()
    return slots, max(int(choices), 8)


class ParallelDiplomacyEnv(ParallelEnv):
    """The parallel environment. See the module's documentation."""

    metadata: ClassVar[dict[str, Any]] = {"name": "welfare_diplomacy_v0", "render_modes": list(RENDER_MODES)}

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.board, self.rules, self.render_mode = setting.board, setting.rules, setting.render_mode
        self.possible_agents = list(players(self.board, self.rules))
        self.agents: list[str] = []
        self._shape = legal_shape(self.board, self.rules)
        slots, choices = self._shape
        seen = spaces.Dict(
            {
                "observation": board_space(self.board),
                "legal": spaces.Box(-1, len(self.board.orders) - 1, self._shape, np.int32),
                "action_mask": spaces.Box(0, 1, self._shape, np.int8),
            }
        )
        self.state_space = board_space(self.board)
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {
            agent: with_press(ListSpace([choices] * slots), self.board, self.rules, agent)
            for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin a new game. Nothing in this environment is random; the seed is taken for the interface's sake."""
        self.game = self.setting.new_game()
        self.agents = list(self.possible_agents)
        self._cycles = 0
        self._refused: dict[str, tuple[str, ...]] = dict.fromkeys(self.agents, ())
        self._begin_phase()
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Play a message round, or the phase.

        Agents left out say nothing, and their units hold.

        Raises:
            GameOverError: nobody is left; reset first.
            IllegalOrderError, PressError: an action makes no sense (or, if strict, is not legal). Nothing has changed.
        """
        if not self.agents:
            raise GameOverError("the game is over, or has not begun: call reset()")
        unknown = sorted(set(actions) - set(self.agents))
        if unknown:
            raise IllegalOrderError(f"actions of {unknown}: agents are {self.agents}")
        before = self.game.position.state.welfare
        split = {agent: split_action(self.rules, agent, actions[agent]) for agent in self.agents if agent in actions}
        if self._round:
            self._speak({agent: messages for agent, (_, messages) in split.items()})
        else:
            self._order({agent: orders for agent, (orders, _) in split.items()})
        return self._outcome(before)

    def _outcome(self, welfare_before: np.ndarray) -> tuple[dict, dict, dict, dict, dict]:
        self._cycles += 1
        done = self.game.is_done
        cut = not done and self.setting.max_cycles is not None and self._cycles >= self.setting.max_cycles
        told = (
            self._observations(),
            self.setting.rewards(self.game, welfare_before),
            dict.fromkeys(self.agents, done),
            dict.fromkeys(self.agents, cut),
            self._infos(),
        )
        if done or cut:
            self.agents = []
        return told

    def _begin_phase(self) -> None:
        speaking = self.rules.has_press and self.game.position.state.phase_type != RETREATS and not self.game.is_done
        self._round = 1 if speaking else 0

    def _speak(self, messages: Mapping[str, Mapping[str, str]]) -> None:
        if self.setting.strict:
            for agent, sent in messages.items():
                for recipient, text in sent.items():
                    self.game.check_send(agent, recipient, text)
        for agent, sent in messages.items():
            self._refused[agent] = tuple(send_all(self.game, agent, sent, self._round, strict=False))
        self._round = (self._round + 1) % (self.rules.message_rounds + 1)

    def _order(self, orders: Mapping[str, Any]) -> None:
        words = {power: self._in_words(power, given) for power, given in orders.items() if power != MEDIATOR}
        if self.setting.strict:
            for power, texts in words.items():
                self.game.check_orders(power, texts)
        for power, texts in words.items():
            self._refused[power] = tuple(void.reason for void in self.game.submit(power, texts, strict=False))
        self.game.advance()
        self._begin_phase()

    def _in_words(self, power: str, orders: Any) -> list[str]:
        """Orders as strings; choices beyond a legal list come out as what they are: no order at all."""
        if is_text(orders):
            return list(orders)
        choices = np.asarray(orders)
        if choices.shape != self._shape[:1] or not np.issubdtype(choices.dtype, np.integer):
            raise IllegalOrderError(f"orders of {power}: give {self._shape[0]} whole numbers, or a list of strings")
        rows = self._rows(power)
        texts = [self._choice(row, int(choice)) for row, choice in zip(rows, choices, strict=False)]
        extra = [f"(choice {choice} for an empty slot)" for choice in choices[len(rows) :] if choice != 0]
        return self._consistent([text for text in texts if text != "WAIVE"]) + extra[:1]

    def _choice(self, row: list[int], choice: int) -> str:
        return self.board.orders.texts[row[choice]] if 0 <= choice < len(row) else f"(choice {choice} of {len(row)})"

    def _consistent(self, texts: list[str]) -> list[str]:
        """In Winter: the first kind of order chosen stands, orders of the other kind are marked as void."""
        kinds = {"B", "D"} & {text[-1] for text in texts}
        if self.game.position.state.phase_type != ADJUSTMENTS or len(kinds) < 2:
            return texts
        first = next(text[-1] for text in texts if text[-1] in kinds)
        return [text if text[-1] == first else f"({text})" for text in texts]

    def _rows(self, power: str) -> list[list[int]]:
        """The legal list of every slot of a power: order numbers. In Winter each begins with WAIVE."""
        legal = self.game.position.legal
        mine = legal.powers == self.board.power_index[power]
        first = [WAIVE] if self.game.position.state.phase_type == ADJUSTMENTS else []
        return [
            first + legal.orders[mine & (legal.slots == slot)].tolist()
            for slot in np.unique(legal.slots[mine]).tolist()
        ]

    def _observation(self, agent: str) -> dict[str, np.ndarray]:
        power = 0 if agent == MEDIATOR else self.board.power_index[agent]
        legal = np.full(self._shape, -1, np.int32)
        if not self._round and agent != MEDIATOR and not self.game.is_done:
            for slot, row in enumerate(self._rows(agent)):
                legal[slot, : len(row)] = row
        mask = (legal >= 0).astype(np.int8)
        mask[:, 0] = 1
        seen = observe(self.board, self.game.position.state, self.rules.years, power, -1, self._round > 0)
        return {"observation": seen, "legal": legal, "action_mask": mask}

    def _observations(self) -> dict[str, dict[str, np.ndarray]]:
        return {agent: self._observation(agent) for agent in self.agents}

    def _infos(self) -> dict[str, dict[str, Any]]:
        asked = MESSAGES if self._round else ORDERS
        return {
            agent: {"view": self.game.view(agent, asked, self._round), "refused": self._refused[agent]}
            for agent in self.agents
        }

    def state(self) -> np.ndarray:
        """The board as the first power sees it, which holds all public knowledge: float32 [provinces, features]."""
        return observe(self.board, self.game.position.state, self.rules.years, 0)

    def render(self) -> str | None:
        return self.setting.render(self.game)

    def close(self) -> None:
        """Nothing is held open."""
