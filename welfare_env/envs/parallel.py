"""Welfare Diplomacy as a PettingZoo ParallelEnv: all powers act at once, one step per message round and per phase.

Creation
    ``env = welfare_env.parallel_env()``, or ``pettingzoo.make("parallel", "WelfareDiplomacy-v0")``.

Steps
    One step of orders per phase; with press, movement and adjustment phases first have R steps of messages. In a round
    all players speak simultaneously: messages are visible from the next step on (in the AEC environment, at once).

Actions
    Orders are ``MultiDiscrete``: one choice per slot from the legal lists in the observation. Movement: a slot per
    unit; retreats: per dislodged unit; Winter: per unit (0 keeps it, 1 disbands it), then per empty home center (0
    builds nothing). In Winter the first nonzero choice decides whether the power builds or disbands; later choices of
    the other kind (unless the rules have ``build_and_disband``), and builds beyond the allowed number, are void.
    Choices for unused slots must be 0. With press an action is ``{"orders": choices, "messages": {recipient: text}}``;
    with ``press="tokens"`` a message is a number, as in `welfare_env.envs.aec`. A list of strings gives orders as text,
    for ``choices`` or for the whole dict; it may be sent in a message round, and the last list counts. Transfers
    (`GIVE`) are possible as text only.

Observations
    ``{"observation": float32 [provinces, features], "legal": int32 [slots, choices], "action_mask": int8 [slots,
    choices]}``. ``legal`` holds order numbers (``env.board.orders.texts``), padded with -1; its rows are the slots. A
    choice is an index into its row. Empty rows and message rounds allow only choice 0. With ``press="tokens"`` also
    ``"messages"``: int8 [players, 3 * R], see `welfare_env.game.press.observe_messages`. With ``flat=True`` two
    vectors, ``observations`` and ``action_mask``, as in `welfare_env.envs.aec`; ``legal`` is left out.

Everything else (agents, infos, illegal actions, rewards, end) is as in `welfare_env.envs.aec`; ``max_cycles`` is the
number of steps.

Version history
    v0: first version.
"""

from __future__ import annotations

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
from welfare_env.envs.actions import ListSpace, is_text, split_action
from welfare_env.envs.board_env import BoardEnv, no_numbers, working_modes
from welfare_env.envs.setting import EnvSettings
from welfare_env.errors import ActionError, IllegalOrderError
from welfare_env.game.position import Position
from welfare_env.game.press import MEDIATOR
from welfare_env.game.view import MESSAGES, ORDERS
from welfare_env.rules import Rules


@dataclass(frozen=True)
class Orders:
    """The orders of an action: strings, which `Game` parses, or choices as order numbers that are jointly legal.

    Attributes:
        texts: orders given as strings.
        numbers: orders given as choices; without WAIVE.
        faults: invalid choices: (choice, reason).
    """

    texts: Sequence[str] = ()
    numbers: Sequence[int] = ()
    faults: Sequence[tuple[str, str]] = ()


def legal_shape(board: Board, rules: Rules) -> tuple[int, int]:
    """Numbers of slots and choices that are sufficient for every position of a power on this board."""
    units = (
        len(board.provinces) if rules.overmilitarise else max(len(board.centers), *map(len, board.start_units.values()))
    )
    sites = len(board.centers) if board.build_anywhere else max(map(len, board.homes.values()))
    moves = ~np.isin(board.orders.kind, (WAIVE, RETREAT, DISBAND, BUILD, GIVE))
    choices = np.bincount(board.orders.piece[moves], minlength=len(board.pieces)).max()
    return units + sites, max(int(choices), 8)


def slot_rows(position: Position, power: int) -> list[list[int]]:
    """The legal order numbers of each slot of a power. In Winter each list begins with WAIVE."""
    first = [WAIVE] if position.state.phase_type == ADJUSTMENTS else []
    return [first + position.slot_orders(slot).tolist() for slot in position.slots(power)]


def legal_arrays(rows: list[list[int]], shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """``legal`` and ``action_mask`` of an observation with these rows: int32 and int8 [slots, choices]."""
    legal, mask = np.full(shape, -1, np.int32), np.zeros(shape, np.int8)
    mask[:, 0] = 1
    for slot, row in enumerate(rows):
        legal[slot, : len(row)] = row
        mask[slot, : len(row)] = 1
    return legal, mask


class ParallelDiplomacyEnv(BoardEnv, ParallelEnv):
    """The parallel environment. See the module's documentation."""

    metadata: ClassVar[dict[str, Any]] = {"name": "welfare_diplomacy_v0", "render_modes": working_modes()}
    _round: int  # 1 .. R in message rounds, else 0

    def __init__(self, setting: EnvSettings) -> None:
        super().__init__(setting)
        self._shape = legal_shape(self.board, self.rules)

    def _legal_spaces(self) -> dict[str, spaces.Space]:
        legal = spaces.Box(-1, len(self.board.orders) - 1, self._shape, np.int32)
        return {"legal": legal, "action_mask": spaces.Box(0, 1, self._shape, np.int8)}

    def _orders_space(self) -> spaces.Space:
        slots, choices = self._shape
        return ListSpace([choices] * slots)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin a new game. Nothing in this environment is random; the seed is accepted for PettingZoo's interface.

        Args:
            options: ``{"game": game}`` begins in the position of that game (see `Game.from_position`).

        Raises:
            RulesError: invalid seed, unknown option, or a game that does not fit. The environment is then unchanged.
        """
        if seed is not None:
            checks.seed(seed)
        self._begin(self.setting.new_game(options))
        self._cycles = 0
        self._begin_phase()
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Play a message round or resolve the phase.

        Agents left out send nothing. Their orders from message rounds remain, else their units hold.

        Raises:
            GameOverError: the game is over or has not begun: call reset().
            ActionError: an action is malformed, or for an unknown agent.
            OrderError, PressError: `strict`, and an order or a message is illegal. After an error nothing has changed.
        """
        self._check_running()
        if not isinstance(actions, Mapping):
            raise ActionError(f"actions {checks.quoted(actions)}: give a dict, agent -> action")
        for agent in actions:
            checks.choice("an agent of the actions", agent, self.agents, ActionError)
        before = self.game.position.state.welfare
        split = {agent: split_action(self.rules, agent, actions[agent]) for agent in self.agents if agent in actions}
        orders = {agent: self._read(agent, given) for agent, (given, _) in split.items()}
        if self.setting.strict:
            for agent, (_, messages) in split.items():
                self._check(agent, orders[agent], messages)
        taken = {agent: tuple(self._take(agent, orders[agent], messages)) for agent, (_, messages) in split.items()}
        self._refused = dict.fromkeys(self.agents, ()) | taken
        if self._round:
            self._round = (self._round + 1) % (self.rules.message_rounds + 1)
        else:
            self.game.advance()
            self._begin_phase()
        return self._outcome(before)

    def check_action(self, agent: str, action: Any) -> None:
        """Check the form of an action, not its legality, without carrying it out.

        Raises:
            ActionError: the action is malformed, or for an unknown agent.
        """
        checks.choice("agent", agent, self.possible_agents, ActionError)
        self._read(agent, split_action(self.rules, agent, action)[0])

    def _check(self, agent: str, orders: Orders, messages: Mapping[str, str]) -> None:
        """Raise OrderError or PressError if anything in an action is illegal."""
        self._check_press(agent, messages, self._round)
        self._check_orders(agent, orders.texts)
        if orders.faults:
            raise IllegalOrderError(orders.faults[0][1])

    def _take(self, agent: str, orders: Orders, messages: Mapping[str, str]) -> list[str]:
        """Send an agent's messages and submit its orders. Returns the errors."""
        speaks = agent == MEDIATOR or self.game.position.is_alive(agent)
        refused = self._say(agent, messages, self._round if speaks else 0)
        if orders.texts:
            return refused + self._submit(agent, orders.texts)
        if agent != MEDIATOR and not self._round:
            self.game._clear_void(agent)
            self.game._submit_numbers(agent, orders.numbers)
            for given, reason in orders.faults:
                self.game.add_void(agent, given, reason)
        return refused + [reason for _, reason in orders.faults]

    def _outcome(self, welfare_before: np.ndarray) -> tuple[dict, dict, dict, dict, dict]:
        self._cycles += 1
        done = self.game.is_done
        cut = not done and self.setting.max_cycles is not None and self._cycles >= self.setting.max_cycles
        outcome = (
            self._observations(),
            self.setting.rewards(self.game.position, welfare_before),
            dict.fromkeys(self.agents, done),
            dict.fromkeys(self.agents, cut),
            self._infos(),
        )
        if done or cut:
            self.agents = []
        return outcome

    def _begin_phase(self) -> None:
        speaking = self.rules.has_press and self.game.position.state.phase_type != RETREATS and not self.game.is_done
        self._round = 1 if speaking else 0

    def _read(self, agent: str, orders: Any) -> Orders:
        """The orders of an action.

        Raises:
            ActionError: neither a list of strings nor a choice for every slot.
        """
        if is_text(orders):
            return Orders(texts=orders)
        choices = checks.whole_array(orders, self._shape[:1])
        if choices is None:
            given, slots = checks.quoted(orders), self._shape[0]
            raise ActionError(f"orders {given} of {agent}: give {slots} whole numbers, or a list of strings")
        if self._round:
            return Orders(faults=[("", reason) for reason in no_numbers(agent, choices)])
        return self._chosen(agent, choices.tolist())

    def _chosen(self, agent: str, choices: list[int]) -> Orders:
        """The orders that choices stand for."""
        rows = self._rows(agent)
        if any(choices[len(rows) :]):  # choices for unused slots
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
        """The jointly legal Winter orders: within the limits, and all builds or all disbands if the rules say so."""
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
        """The legal order numbers of each slot of a player; see `slot_rows`."""
        return [] if agent == MEDIATOR else slot_rows(self.game.position, self.board.power_index[agent])

    def _observation(self, agent: str) -> dict[str, np.ndarray]:
        legal, mask = legal_arrays([] if self._round else self._rows(agent), self._shape)
        return self._seen(agent, -1, self._round, {"legal": legal, "action_mask": mask})

    def _observations(self) -> dict[str, dict[str, np.ndarray]]:
        return {agent: self._observation(agent) for agent in self.agents}

    def _infos(self) -> dict[str, dict[str, Any]]:
        if not self.setting.infos:
            return {agent: {} for agent in self.agents}
        asked = MESSAGES if self._round else ORDERS
        return {
            agent: {"view": self.game.view(agent, asked, self._round), "refused": self._refused[agent]}
            for agent in self.agents
        }
