"""Welfare Diplomacy as a PettingZoo AEC environment.

Welfare Diplomacy is Diplomacy in which powers earn points for supply centers that they do not use for units: after each
Winter a power gains its centers minus its units. The game ends after a fixed number of years, and there is no winner
(Mukobi et al. 2023, section 2.2).

Creation
    ``env = welfare_env.make()``, or ``pettingzoo.make("aec", "WelfareDiplomacy-v0")``. Arguments: `welfare_env.make`.

Agents
    The map's powers ("AUSTRIA" .. "TURKEY"), and "MEDIATOR" under ``Rules(mediator=True)``. They stay until the end.

Turns
    A movement or adjustment phase with press begins with R rounds of messages. In each round every power that is not
    eliminated speaks once, in random order; later speakers can already read earlier messages. Orders follow, power by
    power: one step per unit (movement: every unit; retreats: every dislodged unit). In Winter a power has turns until
    it chooses WAIVE or has nothing left to order. Orders are secret until all are in. Phases without decisions take no
    steps.

Actions
    Without press ``Discrete(n)``: a number in the board's order vocabulary (``env.board.orders.texts``), 0 is WAIVE.
    With press a dict ``{"orders": number, "messages": {recipient: text}}``; recipients are the other players and
    "GLOBAL", an empty or missing text sends nothing. Both spaces' ``sample(mask)`` take the observation's mask. With
    ``press="tokens"`` a message is a number, ``Discrete(6)``: 0 sends nothing, i + 1 is ``TOKENS[i]`` of
    `welfare_env.game.press`. The words are also accepted.
    A list of strings instead of a number gives *all* orders of the phase at once: ``["A PAR - BUR", "F BRE - MAO"]``;
    with press it may also stand for the whole dict, without messages.
    It is allowed in any message round, and replaces earlier orders; a player that gives a list in the last round has
    no order turns. (In the paper players give orders in every round, before reading later speakers.)

Observations
    ``{"observation": float32 [provinces, features], "action_mask": int8 [n]}``, see `welfare_env.envs.observation`. In
    a message round the mask allows only WAIVE. It is never empty. With ``press="tokens"`` also ``"messages"``:
    int8 [players, 3 * R], this phase's messages to and from the observer, see
    `welfare_env.game.press.observe_messages`.

    With ``flat=True`` it is ``{"observations": float32 [numbers], "action_mask": int8 [n]}``, as RLlib's maskable
    module takes them: the board row by row, then the words, divided by 5.

Infos
    ``info["view"]`` is a read-only `View` with strings: board, legal orders, visible messages, history, scores.
    ``info["refused"]`` lists the errors of the agent's last action, if any. ``infos=False`` leaves infos empty.

Illegal actions
    An illegal order is recorded as void and the unit holds; an invalid message is dropped. Both are listed in
    ``info["refused"]``. With ``strict=True`` they raise `IllegalOrderError` or `PressError`, and nothing changes. An
    illegal number ends a power's Winter turn. Malformed actions always raise `ActionError`.

Rewards
    Welfare: the points that a power gained, paid at the end of each Winter; the mediator gets the sum. Standard: the
    final score, paid at the end. No discounting.

End
    All agents are terminated together after the last Winter (standard: or when a power owns more than half the
    centers). ``max_cycles`` truncates an agent after that many of its own steps; its units hold from then on.

Rendering
    ``render_mode="ansi"`` gives text, "svg" a picture, "rgb_array" its pixels (needs the extra ``plot``), and "human"
    opens the replay page, which follows the game; see `DiplomacyEnv.render`.

Version history
    v0: first version.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from welfare_env import checks
from welfare_env.board.orders import WAIVE
from welfare_env.engine import RETREATS
from welfare_env.envs.actions import check_number, is_text, split_action
from welfare_env.envs.board_env import BoardEnv, no_numbers, working_modes
from welfare_env.envs.setting import EnvSettings
from welfare_env.errors import GameOverError, IllegalOrderError
from welfare_env.game.position import WINTER_TURN
from welfare_env.game.press import MEDIATOR, speakers
from welfare_env.game.view import MESSAGES, ORDERS


class AgentTurn(NamedTuple):
    """A turn of an agent: to send the messages of a round, or to order one slot."""

    agent: str
    asked: str
    message_round: int = 0
    slot: int = WINTER_TURN


class DiplomacyEnv(BoardEnv, AECEnv):
    """See the module's documentation."""

    metadata: ClassVar[dict[str, Any]] = {
        "name": "welfare_diplomacy_v0",
        "render_modes": working_modes(),
        "is_parallelizable": False,
    }

    def __init__(self, setting: EnvSettings) -> None:
        super().__init__(setting)
        self._rng = np.random.default_rng()

    def _legal_spaces(self) -> dict[str, spaces.Space]:
        return {"action_mask": spaces.Box(0, 1, (len(self.board.orders),), np.int8)}

    def _orders_space(self) -> spaces.Space:
        return spaces.Discrete(len(self.board.orders))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game. The seed determines the order of speaking in this and all later games.

        Args:
            options: ``{"game": game}`` begins in the position of that game (see `Game.from_position`).

        Raises:
            RulesError: invalid seed, unknown option, or a game that does not fit. The environment is then unchanged.
        """
        game = self.setting.new_game(options)
        if seed is not None:
            self._rng = np.random.default_rng(checks.seed(seed))
        self._begin(game)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._steps = dict.fromkeys(self.agents, 0)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._turns: deque[AgentTurn] = deque()
        self._plan_phase()
        self._move_on()
        self._tell_all()

    # A step: carry out the agent's action, then continue to the next turn.

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`.

        Raises:
            GameOverError: the agent or the game is done, or the game has not begun.
            ActionError: the action is malformed.
            OrderError, PressError: `strict`, and an order or a message is illegal. After an error nothing has changed.
        """
        self._check_running()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise GameOverError(f"{agent} is terminated or truncated: call step(None) to remove it, or reset()")
            self._was_dead_step(action)
            return
        orders, messages = split_action(self.rules, agent, action)
        if not is_text(orders):
            orders = check_number(orders, len(self.board.orders), agent)
        if self.setting.strict:
            self._check(self._turns[0], orders, messages)
        self._refused[agent] = tuple(self._take(self._turns.popleft(), orders, messages))
        self._cumulative_rewards[agent] = 0.0
        if any(self.rewards.values()):
            self._clear_rewards()
        self._count_step(agent)
        if self._move_on():
            self._accumulate_rewards()
        if self.truncations[agent] or not self._turns:
            self._deads_step_first()

    def _check(self, turn: AgentTurn, orders: Sequence[str] | int, messages: Mapping[str, str]) -> None:
        """Raise OrderError or PressError if anything in an action is illegal."""
        self._check_press(turn.agent, messages, turn.message_round)
        if not isinstance(orders, int):
            self._check_orders(turn.agent, orders)
        elif reasons := self._faults(turn, orders):
            raise IllegalOrderError(reasons[0])

    def _faults(self, turn: AgentTurn, number: int) -> list[str]:
        """Why an order number cannot be given in a turn; [] if it can."""
        if turn.asked == MESSAGES:
            return no_numbers(turn.agent, number)
        orders = self._orders_open(turn)
        where = int(orders.searchsorted(number))
        if where < len(orders) and int(orders[where]) == number:
            return []
        text = self.board.orders.texts[number]
        return [f"{text!r} (order {number}) is not allowed for {turn.agent} now: see the action mask"]

    def _take(self, turn: AgentTurn, orders: Sequence[str] | int, messages: Mapping[str, str]) -> list[str]:
        """Carry out the action of a turn. Returns the errors.

        A list of orders gives all of the phase at once, after which the power has no further turns in it; in message
        rounds an empty list is none, and only those of the last round are final.
        """
        refused = self._say(turn.agent, messages, turn.message_round)
        if isinstance(orders, int):
            faults = self._faults(turn, orders)
            if turn.asked == ORDERS:
                self._take_number(turn, orders, faults)
            return refused + faults
        if orders or turn.asked == ORDERS:
            refused += self._submit(turn.agent, orders)
            if turn.asked == ORDERS or turn.message_round == self.rules.message_rounds:
                self._drop_turns(turn.agent)
        return refused

    def _take_number(self, turn: AgentTurn, number: int, faults: list[str]) -> None:
        """Submit one order in addition to the earlier ones; if it has faults, it is void."""
        given = self._orders_given(turn)
        self.game._submit_numbers(turn.agent, given if number == WAIVE or faults else (*given, number))
        if faults:
            self.game.add_void(turn.agent, self.board.orders.texts[number], faults[0])
        elif turn.slot == WINTER_TURN and number != WAIVE:
            self._ask_winter(turn.agent)

    def _orders_given(self, turn: AgentTurn) -> tuple[int, ...]:
        """The orders given so far; none on a power's first order turn, which replaces orders given with messages."""
        if turn.agent in self._fresh:
            self._fresh.discard(turn.agent)
            return ()
        return self.game._order_numbers(turn.agent)

    def _count_step(self, agent: str) -> None:
        self._steps[agent] += 1
        if self.setting.max_cycles is not None and self._steps[agent] >= self.setting.max_cycles:
            self.truncations[agent] = True
            self._drop_turns(agent)

    def _drop_turns(self, agent: str) -> None:
        self._turns = deque(turn for turn in self._turns if turn.agent != agent)

    # The sequence of turns.

    def _move_on(self) -> bool:
        """Play phases until an agent has a turn or the game is over, and pay rewards.

        Returns whether any phase was played.
        """
        is_played = False
        while not self._turns and not self.game.is_done and self._live_agents():
            before = self.game.position.state.welfare
            self.game.advance()
            self._reward(before)
            self._plan_phase()
            is_played = True
        if self._turns:
            self.agent_selection = self._turns[0].agent
            self.infos[self.agent_selection] = self._info(self.agent_selection)
            return is_played
        for agent in self._live_agents():
            self.terminations[agent] = True
        self._tell_all()
        return is_played

    def _live_agents(self) -> list[str]:
        return [agent for agent in self.agents if not (self.terminations[agent] or self.truncations[agent])]

    def _plan_phase(self) -> None:
        """Queue the turns of a new phase."""
        self._fresh = set(self.board.powers)  # powers that have not ordered yet outside message rounds
        if self.game.is_done:
            return
        live = self._live_agents()
        if self.rules.has_press and self.game.position.state.phase_type != RETREATS:
            speaking = [agent for agent in speakers(self.game.position) if agent in live]
            for message_round in range(1, self.rules.message_rounds + 1):
                sequence = self._rng.permutation(len(speaking)).tolist()
                self._turns.extend(AgentTurn(speaking[index], MESSAGES, message_round) for index in sequence)
        for power in [agent for agent in live if agent != MEDIATOR]:
            self._queue_orders(power)

    def _queue_orders(self, power: str) -> None:
        for slot in self.game.position.turns(self._number(power)):
            self._turns.append(AgentTurn(power, ORDERS, slot=slot))

    def _ask_winter(self, power: str) -> None:
        """Queue another Winter turn of a power unless only WAIVE is left."""
        if len(self.game.position.winter_orders(self._number(power), self._winter_given(power))):
            self._turns.appendleft(AgentTurn(power, ORDERS))

    def _number(self, power: str) -> int:
        return self.board.power_index[power]

    # The action mask.

    def _options(self, turn: AgentTurn) -> np.ndarray:
        """Order numbers allowed in a turn: int8 [orders]."""
        mask = np.zeros(len(self.board.orders), np.int8)
        mask[WAIVE if turn.asked == MESSAGES else self._orders_open(turn)] = 1
        return mask

    def _orders_open(self, turn: AgentTurn) -> np.ndarray:
        given = self._winter_given(turn.agent) if turn.slot == WINTER_TURN else ()
        return self.game.position.turn_orders(self._number(turn.agent), turn.slot, given)

    def _winter_given(self, power: str) -> tuple[int, ...]:
        return () if power in self._fresh else self.game._order_numbers(power)

    # Observations and infos.

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """``{"observation": float32 [provinces, features], "action_mask": int8 [orders]}``; see the module.

        Raises:
            ActionError: unknown agent.
            GameOverError: before `reset`.
        """
        self._check_begun()
        self._check_agent(agent)
        turn = self._turns[0] if self._turns and self._turns[0].agent == agent else AgentTurn(agent, MESSAGES)
        legal = {"action_mask": self._options(turn)}
        return self._seen(agent, self._province(turn), turn.message_round, legal)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward, termination, truncation and info of the agent whose turn it is.

        Raises:
            GameOverError: the game is over, or has not begun.
        """
        self._check_running()
        return super().last(observe)

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """Iterate over the agents in the order of their turns.

        Raises:
            GameOverError: before `reset`.
        """
        self._check_begun()
        return super().agent_iter(max_iter)

    def _province(self, turn: AgentTurn) -> int:
        """The province of the unit to be ordered, or -1."""
        if turn.asked == MESSAGES or turn.slot == WINTER_TURN:
            return -1
        return self.game.position.slot_province(turn.slot)

    def _info(self, agent: str) -> dict[str, Any]:
        if not self.setting.infos:
            return {}
        turn = self._turns[0] if self._turns and self._turns[0].agent == agent else AgentTurn(agent, ORDERS)
        return {"view": self.game.view(agent, turn.asked, turn.message_round), "refused": self._refused[agent]}

    def _tell_all(self) -> None:
        self.infos = {agent: self._info(agent) for agent in self.agents}

    def _reward(self, welfare_before: np.ndarray) -> None:
        for agent, reward in self.setting.rewards(self.game.position, welfare_before).items():
            if agent in self.rewards:
                self.rewards[agent] += reward
