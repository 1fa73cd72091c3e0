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
    the other kind (unless the rules have ``build_and_disband``), and builds beyond the allowed number, are void.
    Choices for unused slots must be 0. With press a dict ``{"orders": choices, "messages": {recipient: text}}``; with
    ``press="tokens"`` a message is a number, as in `welfare_env.envs.aec`. A list of strings gives orders as text; it
    may also come with messages, and the last one counts. Transfers (`GIVE`) are possible as text only.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Orders:
    """The orders of an action: strings, which `Game` reads, or choices as order numbers that are legal together.

    Attributes:
        texts: orders given as strings.
        numbers: orders given as choices; without WAIVE.
        faults: choices that are no orders: (what was given, why not).
    """

    texts: Sequence[str] = ()
    numbers: Sequence[int] = ()
    faults: Sequence[tuple[str, str]] = ()

    def __bool__(self) -> bool:
        """Whether anything is ordered at all."""
        return bool(self.texts or self.numbers or self.faults)


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
        orders = {agent: self._read(agent, given) for agent, (given, _) in split.items()}
        messages = {agent: sent for agent, (_, sent) in split.items()}
        if self.setting.strict:
            self._check_all(orders, messages)
        self._refused = {agent: tuple(self._take(agent, orders[agent], messages[agent])) for agent in split}
        self._refused = dict.fromkeys(self.agents, ()) | self._refused
        if self._round:
            self._round = (self._round + 1) % (self.rules.message_rounds + 1)
        else:
            self.game.advance()
            self._begin_phase()
        return self._outcome(before)

    def _take(self, agent: str, orders: Orders, messages: Mapping[str, str]) -> list[str]:
        """Send an agent's messages and submit its orders. Returns what was wrong with them."""
        refused = refuse_messages(agent, messages, strict=False)
        if self._round and (agent == MEDIATOR or self.game.position.is_alive(agent)):
            refused = send_all(self.game, agent, messages, self._round)
        if agent == MEDIATOR:
            return refused + (refuse_mediator(strict=False) if orders else [])
        if self._round and orders.faults:
            return [*refused, orders.faults[0][1]]
        if orders.texts or not self._round:
            refused += self._submit(agent, orders)
        return refused

    def _submit(self, power: str, orders: Orders) -> list[str]:
        """Submit the orders of a power. Returns what was wrong with them."""
        if orders.texts:
            return [void.reason for void in self.game.submit(power, orders.texts, strict=False)]
        self.game.clear_void(power)
        self.game.submit_numbers(power, orders.numbers)
        for given, reason in orders.faults:
            self.game.add_void(power, given, reason)
        return [reason for _, reason in orders.faults]

    def _check_all(self, orders: Mapping[str, Orders], messages: Mapping[str, Mapping[str, str]]) -> None:
        """Raise what is wrong with any action, before any is carried out."""
        for agent, sent in messages.items():
            if self._round:
                check_all(self.game, agent, sent)
            else:
                refuse_messages(agent, sent, strict=True)
        for agent, given in orders.items():
            if agent == MEDIATOR and given:
                refuse_mediator(strict=True)
            if given.texts:
                self.game.check_orders(agent, given.texts)
            if given.faults:
                raise IllegalOrderError(given.faults[0][1])

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

    def _read(self, agent: str, orders: Any) -> Orders:
        """The orders of an action.

        Raises:
            ActionError: they are neither strings nor a choice for every slot.
        """
        if is_text(orders):
            return Orders(texts=orders)
        try:
            choices = np.asarray(orders)
        except (TypeError, ValueError) as error:
            raise ActionError(f"orders {checks.shown(orders)} of {agent}: {error}") from error
        if choices.shape != self._shape[:1] or choices.dtype.kind not in "iu":
            raise ActionError(f"orders of {agent}: give {self._shape[0]} whole numbers, or a list of strings")
        if self._round:
            return Orders(faults=[("", reason) for reason in refuse_number(agent, choices, strict=False)])
        return self._chosen(agent, choices.tolist())

    def _chosen(self, agent: str, choices: list[int]) -> Orders:
        """Choices as order numbers."""
        rows = self._rows(agent)
        if any(choices[len(rows) :]):  # of slots that are not there
            rows += [[WAIVE]] * (len(choices) - len(rows))
        numbers, faults = [], []
        for slot, (row, choice) in enumerate(zip(rows, choices, strict=False)):
            if not 0 <= choice < len(row):
                reason = f"slot {slot} of {agent} has {len(row)} choices; {choice} is not among them"
                faults.append((f"choice {choice} in slot {slot}", reason))
            elif row[choice] != WAIVE:
                numbers.append(row[choice])
        is_winter = numbers and self.game.position.state.phase_type == ADJUSTMENTS
        return self._agreed(agent, numbers, faults) if is_winter else Orders((), numbers, faults)

    def _agreed(self, power: str, numbers: list[int], faults: list[tuple[str, str]]) -> Orders:
        """Winter orders that go together: up to its limits, and of the first one's kind if the rules allow one only."""
        table, position = self.board.orders, self.game.position
        kept: list[int] = []
        surplus: list[tuple[str, str]] = []
        other: list[tuple[str, str]] = []
        for number in numbers:
            text, kind = table.texts[number], int(table.kind[number])
            if kind != table.kind[numbers[0]] and not self.rules.build_and_disband:
                other.append((text, f"{power} cannot build and disband in one Winter"))
            elif kind in position.open_kinds(self.board.power_index[power], kept):
                kept.append(number)
            else:
                surplus.append((text, f"{text!r}: {position.winter_limit(power, kind)}"))
        return Orders((), kept, [*surplus, *faults, *other])

    def _rows(self, agent: str) -> list[list[int]]:
        """The legal list of every slot of a player: order numbers. In Winter each begins with WAIVE."""
        position = self.game.position
        if agent == MEDIATOR:
            return []
        first = [WAIVE] if position.state.phase_type == ADJUSTMENTS else []
        return [first + position.slot_orders(slot).tolist() for slot in position.slots(self.board.power_index[agent])]

    def _observation(self, agent: str) -> dict[str, np.ndarray]:
        power = 0 if agent == MEDIATOR else self.board.power_index[agent]
        legal, mask = np.full(self._shape, -1, np.int32), np.zeros(self._shape, np.int8)
        mask[:, 0] = 1
        for slot, row in enumerate(() if self._round else self._rows(agent)):
            legal[slot, : len(row)] = row
            mask[slot, : len(row)] = 1
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
