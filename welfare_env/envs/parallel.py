"""Welfare Diplomacy as a PettingZoo ParallelEnv: all powers act at once, one step per message round and per phase.

Creation
    ``env = welfare_env.parallel_env()``, or ``pettingzoo.make("parallel", "WelfareDiplomacy-v0")``.

Steps
    With press, R steps of messages and then one of orders in movement and adjustment phases; otherwise one of orders.
    In a round all speak at the same time: messages can be read from the next step on (in the AEC environment, at once).

Actions
    Orders are ``MultiDiscrete``: one choice per slot from the legal lists in the observation. Movement: a slot per
    unit; retreats: per dislodged unit; Winter: per unit (0 keeps it, 1 disbands it), then per empty home centre (0
    builds nothing). In Winter the first nonzero choice decides whether the power builds or disbands; later choices of
    the other kind, and builds beyond the allowed number, are void. Choices for unused slots must be 0. With press a
    dict ``{"orders": choices, "messages": {recipient: text}}``; with ``press="tokens"`` a message is a number, as in
    `welfare_env.envs.aec`. A list of strings gives orders as text; it may also come with messages, and the last one
    counts. Transfers (`GIVE`) are possible as text only.

Observations
    ``{"observation": float32 [provinces, features], "legal": int32 [slots, choices], "action_mask": int8 [slots,
    choices]}``. ``legal`` holds order numbers (``env.board.orders.texts``), padded with -1; its rows are the slots. A
    choice is an index into its row. Empty rows and message rounds have choice 0 open. With ``press="tokens"`` also
    ``"messages"``: int8 [players, 3 * R], see `welfare_env.game.press.observe_messages`.

Everything else (agents, infos, illegal actions, rewards, end) is as in `welfare_env.envs.aec`; ``max_cycles`` counts
steps.

Version history
    v0: first version.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from welfare_env import checks
from welfare_env.board.board import Board
from welfare_env.board.orders import BUILD, DISBAND, GIVE, RETREAT, WAIVE
from welfare_env.engine import ADJUSTMENTS, RETREATS
from welfare_env.envs.actions import (
    ListSpace,
    check_all,
    is_text,
    refuse_mediator,
    refuse_messages,
    refuse_number,
    send_all,
    split_action,
    with_press,
)
from welfare_env.envs.observation import board_space, observe
from welfare_env.envs.setting import RENDER_MODES, Setting
from welfare_env.errors import ActionError, GameOverError, IllegalOrderError
from welfare_env.game.press import MEDIATOR, messages_space, observe_messages, players
from welfare_env.game.view import MESSAGES, ORDERS
from welfare_env.rules import Rules

Words = tuple[list[str], list[tuple[str, str]]]  # orders, and (what was given, why it is no order)


def legal_shape(board: Board, rules: Rules) -> tuple[int, int]:
    """Slots and choices that are enough for every position of a power on this board."""
    units = (
        len(board.provinces) if rules.overmilitarise else max(len(board.centers), *map(len, board.start_units.values()))
    )
    sites = len(board.centers) if board.build_anywhere else max(map(len, board.homes.values()))
    moves = ~np.isin(board.orders.kind, (WAIVE, RETREAT, DISBAND, BUILD, GIVE))
    choices = np.bincount(board.orders.piece[moves], minlength=len(board.pieces)).max()
    return units + sites, max(int(choices), 8)


class ParallelDiplomacyEnv(ParallelEnv):
    """The parallel environment. See the module's documentation."""

    metadata: ClassVar[dict[str, Any]] = {"name": "welfare_diplomacy_v0", "render_modes": list(RENDER_MODES)}

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.board, self.rules, self.render_mode = setting.board, setting.rules, setting.render_mode
        self.possible_agents = list(players(self.board, self.rules))
        self.agents: list[str] = []
        self._begun = False
        self._shape = legal_shape(self.board, self.rules)
        slots, choices = self._shape
        seen: dict[str, spaces.Space[Any]] = {
            "observation": board_space(self.board),
            "legal": spaces.Box(-1, len(self.board.orders) - 1, self._shape, np.int32),
            "action_mask": spaces.Box(0, 1, self._shape, np.int8),
        }
        if self.rules.has_tokens:
            seen["messages"] = messages_space(self.board, self.rules)
        self.state_space = board_space(self.board)
        self.observation_spaces = dict.fromkeys(self.possible_agents, spaces.Dict(seen))
        self.action_spaces = {
            agent: with_press(ListSpace([choices] * slots), self.board, self.rules, agent)
            for agent in self.possible_agents
        }

    def __copy__(self) -> ParallelDiplomacyEnv:
        return copy.deepcopy(self)  # or both would play the same game

    def observation_space(self, agent: str) -> spaces.Space:
        """Raises ActionError for an agent that does not exist, as `action_space` does."""
        return self.observation_spaces[self._check_agent(agent)]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[self._check_agent(agent)]

    def _check_agent(self, agent: object) -> str:
        return checks.choice("agent", agent, self.possible_agents, ActionError)

    def _check_begun(self) -> None:
        if not self._begun:
            raise GameOverError("the game has not begun: call reset() first")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin a new game. Nothing in this environment is random; the seed is taken for the interface's sake.

        Args:
            options: ``{"game": game}`` begins in the position of that game (see `Game.from_position`).

        Raises:
            RulesError: no seed (`checks.seed`), another option, or a game that does not fit. Nothing has changed then.
        """
        if seed is not None:
            checks.seed(seed)
        self.game = self.setting.new_game(options)
        self._begun = True
        self.agents = list(self.possible_agents)
        self._cycles = 0
        self._round = 0  # 1 .. R in message rounds
        self._refused: dict[str, tuple[str, ...]] = dict.fromkeys(self.agents, ())
        self._begin_phase()
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Play a message round, or the phase.

        Agents left out say nothing; what they ordered in message rounds stands, else their units hold.

        Raises:
            GameOverError: nobody is left, or the game has not begun; reset first.
            ActionError: something is no action, or for nobody who plays.
            OrderError, PressError: strict, and an order or a message is not legal. After any error nothing has changed.
        """
        self._check_begun()
        if not self.agents:
            raise GameOverError("the game is over: call reset() for another")
        if not isinstance(actions, Mapping):
            raise ActionError(f"actions {checks.shown(actions)}: give a dict, agent -> action")
        for agent in actions:
            checks.choice("an agent of the actions", agent, self.agents, ActionError)
        before = self.game.position.state.welfare
        split = {agent: split_action(self.rules, agent, actions[agent]) for agent in self.agents if agent in actions}
        words = {agent: self._in_words(agent, given) for agent, (given, _) in split.items()}
        messages = {agent: sent for agent, (_, sent) in split.items()}
        if self.setting.strict:
            self._check_all(words, messages)
        self._refused = {agent: tuple(self._take(agent, words[agent], messages[agent])) for agent in split}
        self._refused = dict.fromkeys(self.agents, ()) | self._refused
        if self._round:
            self._round = (self._round + 1) % (self.rules.message_rounds + 1)
        else:
            self.game.advance()
            self._begin_phase()
        return self._outcome(before)

    def _take(self, agent: str, words: Words, messages: Mapping[str, str]) -> list[str]:
        """Send an agent's messages and submit its orders. Returns what was wrong with them."""
        texts, faults = words
        refused = refuse_messages(agent, messages, strict=False)
        if self._round and (agent == MEDIATOR or self.game.position.is_alive(agent)):
            refused = send_all(self.game, agent, messages, self._round)
        if agent == MEDIATOR:
            return refused + (refuse_mediator(strict=False) if texts or faults else [])
        if self._round and faults:
            return [*refused, faults[0][1]]
        if texts or not self._round:
            void = self.game.submit(agent, texts, strict=False)
            for text, reason in faults:
                self.game.add_void(agent, text, reason)
            refused += [order.reason for order in void] + [reason for _, reason in faults]
        return refused

    def _check_all(self, words: Mapping[str, Words], messages: Mapping[str, Mapping[str, str]]) -> None:
        """Raise what is wrong with any action, before any is carried out."""
        for agent, sent in messages.items():
            if self._round:
                check_all(self.game, agent, sent)
            else:
                refuse_messages(agent, sent, strict=True)
        for agent, (texts, faults) in words.items():
            if agent == MEDIATOR and (texts or faults):
                refuse_mediator(strict=True)
            elif agent != MEDIATOR:
                self.game.check_orders(agent, texts)
            if faults:
                raise IllegalOrderError(faults[0][1])

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

    def _in_words(self, agent: str, orders: Any) -> Words:
        """Orders as strings, and what cannot be an order with the reason."""
        if is_text(orders):
            return list(orders), []
        try:
            choices = np.asarray(orders)
        except (TypeError, ValueError) as error:
            raise ActionError(f"orders {checks.shown(orders)} of {agent}: {error}") from error
        if choices.shape != self._shape[:1] or choices.dtype.kind not in "iu":
            raise ActionError(f"orders of {agent}: give {self._shape[0]} whole numbers, or a list of strings")
        if self._round:
            return [], [("", reason) for reason in refuse_number(agent, choices, strict=False)]
        rows = [] if agent == MEDIATOR else self._rows(agent)
        texts: list[str] = []
        faults: list[tuple[str, str]] = []
        for slot, choice in enumerate(choices.tolist()):
            row = rows[slot] if slot < len(rows) else [WAIVE]
            if not 0 <= choice < len(row):
                reason = f"slot {slot} of {agent} has {len(row)} choices; {choice} is not among them"
                faults.append((f"choice {choice} in slot {slot}", reason))
            elif row[choice] != WAIVE:
                texts.append(self.board.orders.texts[row[choice]])
        return self._consistent(agent, texts, faults)

    def _consistent(self, power: str, texts: list[str], faults: list[tuple[str, str]]) -> Words:
        """In Winter: the first kind of order chosen stands, orders of the other kind are void."""
        if self.game.position.state.phase_type != ADJUSTMENTS or not texts:
            return texts, faults
        other = [text for text in texts if text[-1] != texts[0][-1]]
        reason = f"{power} cannot build and disband in one Winter"
        return [text for text in texts if text not in other], faults + [(text, reason) for text in other]

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
        pending = self.game.order_numbers(agent)
        board = observe(self.board, self.game.position.state, self.rules.years, power, -1, self._round > 0, pending)
        seen = {"observation": board, "legal": legal, "action_mask": mask}
        if self.rules.has_tokens:
            seen["messages"] = observe_messages(self.board, self.rules, agent, self.game.messages)
        return seen

    def _observations(self) -> dict[str, dict[str, np.ndarray]]:
        return {agent: self._observation(agent) for agent in self.agents}

    def _infos(self) -> dict[str, dict[str, Any]]:
        asked = MESSAGES if self._round else ORDERS
        return {
            agent: {"view": self.game.view(agent, asked, self._round), "refused": self._refused[agent]}
            for agent in self.agents
        }

    def state(self) -> np.ndarray:
        """The position as the first power sees it, without orders and messages: float32 [provinces, features].

        Raises:
            GameOverError: before `reset`.
        """
        self._check_begun()
        return observe(self.board, self.game.position.state, self.rules.years, 0)

    def render(self) -> str | None:
        """The position as text: returned ("ansi") or printed ("human").

        Raises:
            GameOverError: before `reset`.
        """
        self._check_begun()
        return self.setting.render(self.game)

    def close(self) -> None:
        """Nothing is held open."""
