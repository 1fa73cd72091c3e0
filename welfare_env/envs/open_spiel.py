"""Welfare Diplomacy without press as an OpenSpiel game, for OpenSpiel's algorithms.

OpenSpiel (Lanctot et al. 2019, arXiv 1908.09453; the extra ``openspiel``) has best responses, counterfactual regret
minimization and many more algorithms for extensive-form games. ``welfare_env.open_spiel_game("clique:3", years=1)``
gives such a game and registers it with `pyspiel.load_game`, which takes all options as text:
``"welfare_diplomacy(map_name=clique:3,years=1)"``.

Players
    The powers in the board's order: player 0 is ``board.powers[0]``.

Turns
    Power by power and unit by unit, as in the AEC environment without press: in Winter a power has turns until it
    chooses WAIVE or has nothing left to order. Phases without decisions have no turns. There are no chance nodes.

Actions
    Numbers of the board's order vocabulary (``board.orders.texts``), as in the other environments; 0 is WAIVE.

Information states
    Orders are secret until all are in: a player knows all orders of earlier phases (perfect recall) and its own orders
    of the current phase. The information state string is this history. The observation tensor is the player's view of
    the board, float32 [provinces, features] flattened, see `welfare_env.envs.observation`; it has no history.

Returns
    Welfare points; standard variant: the final scores. Rewards are paid when a phase ends.

Trees grow fast: algorithms that traverse the whole tree are limited to toy boards of two or three powers and one or two
years.

    >>> import pyspiel, welfare_env
    >>> game = welfare_env.open_spiel_game("clique:2", years=1)
    >>> state = game.new_initial_state()
    >>> [state.action_to_string(action) for action in state.legal_actions()]
    ['A HAX H', 'A HAX - CAX']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspiel

from welfare_env.board.orders import WAIVE
from welfare_env.envs.observation import board_space, observe
from welfare_env.envs.setting import EnvSettings, make_setting
from welfare_env.game.history import play_phase
from welfare_env.game.position import WINTER_TURN, Position

NAME = "welfare_diplomacy"
PARAMETERS = {"map_name": "standard", "years": 10, "variant": "welfare"}
MOST_PLAYERS = 64
TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Welfare Diplomacy",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.REWARDS,
    max_num_players=MOST_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=PARAMETERS,
)


@dataclass(frozen=True)
class Moment:
    """The situation between two actions. Immutable, so that copies of a state share it.

    Attributes:
        past: all orders of earlier phases, as text.
        given: the orders of this phase so far, a tuple per player.
        turns: (player, slot) of the remaining turns in this phase, the next one first; empty at the end.
        gains: each player's reward for the previous action.
    """

    position: Position
    past: str
    given: tuple[tuple[int, ...], ...]
    turns: tuple[tuple[int, int], ...]
    gains: tuple[float, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> Moment:
        return self

    def after(self, action: int, setting: EnvSettings) -> Moment:
        """The moment after an action (not checked) of the player whose turn it is."""
        (player, slot), turns = self.turns[0], self.turns[1:]
        own = self.given[player] if action == WAIVE else (*self.given[player], action)
        if slot == WINTER_TURN and action != WAIVE and len(self.position.winter_orders(player, own)):
            turns = self.turns
        given = (*self.given[:player], own, *self.given[player + 1 :])
        return replace(self, given=given, turns=turns, gains=(0.0,) * len(given)).played(setting)

    def played(self, setting: EnvSettings) -> Moment:
        """The next moment in which a player has a turn, or the end."""
        moment = self
        while not moment.turns and not moment.position.state.done:
            powers = setting.board.powers
            record = play_phase(moment.position, dict(zip(powers, moment.given, strict=True)))
            paid = setting.rewards(record.after, record.position.state.welfare)
            orders = "; ".join(", ".join(record.orders[power]) or "none" for power in powers)
            moment = replace(
                opening(record.after),
                past=f"{moment.past}{record.phase}: {orders}\n",
                gains=tuple(gain + paid[power] for gain, power in zip(moment.gains, powers, strict=True)),
            )
        return moment


def opening(position: Position) -> Moment:
    """The moment at the start of a phase, before any orders."""
    players = range(len(position.board.powers))
    done = position.state.done
    turns = () if done else tuple((player, slot) for player in players for slot in position.turns(player))
    return Moment(position, "", ((),) * len(players), turns, (0.0,) * len(players))


class WelfareDiplomacyGame(pyspiel.Game):
    """The game for OpenSpiel; made by `welfare_env.open_spiel_game` or `pyspiel.load_game`."""

    def __init__(self, given: EnvSettings | Mapping[str, Any] | None = None) -> None:
        if isinstance(given, EnvSettings):
            self.setting = given
        else:
            self.setting = make_setting(press=None, **{**PARAMETERS, **(given or {})})
        board, rules = self.setting.board, self.setting.rules
        units = len(board.provinces)
        paid = sum(rules.weight(year) for year in range(rules.years)) * (len(board.centers) + units)
        info = pyspiel.GameInfo(
            num_distinct_actions=len(board.orders),
            max_chance_outcomes=0,
            num_players=len(board.powers),
            min_utility=0.0,
            max_utility=float(paid) if rules.is_welfare else float(len(board.centers)),
            utility_sum=None,
            max_game_length=rules.years * (6 * units + len(board.powers)),
        )
        named = {"map_name": board.name, "years": rules.years, "variant": rules.variant}
        super().__init__(TYPE, info, named)

    def new_initial_state(self) -> WelfareDiplomacyState:
        """The initial state."""
        return WelfareDiplomacyState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> BoardObserver:
        """An observer of a player's information state (perfect recall) or of the board."""
        recalls = iig_obs_type is not None and iig_obs_type.perfect_recall
        return BoardObserver(self.setting, recalls)


class WelfareDiplomacyState(pyspiel.State):
    """A state of the game, with OpenSpiel's usual methods."""

    def __init__(self, game: WelfareDiplomacyGame) -> None:
        super().__init__(game)
        setting = game.setting
        self.moment = opening(setting.opening.position).played(setting)
        self.paid = self.moment.gains

    def current_player(self) -> int:
        """The player whose turn it is."""
        return self.moment.turns[0][0] if self.moment.turns else int(pyspiel.PlayerId.TERMINAL)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return not self.moment.turns

    def _legal_actions(self, player: int) -> list[int]:
        asked, slot = self.moment.turns[0] if self.moment.turns else (None, 0)
        if asked != player:
            return []
        found: list[int] = self.moment.position.turn_orders(player, slot, self.moment.given[player]).tolist()
        return found

    def _apply_action(self, action: int) -> None:
        self.moment = self.moment.after(action, self.get_game().setting)
        self.paid = tuple(map(sum, zip(self.paid, self.moment.gains, strict=True)))

    def _action_to_string(self, player: int, action: int) -> str:
        return self.moment.position.board.orders.texts[action]

    def returns(self) -> list[float]:
        """Each player's total reward so far."""
        return list(self.paid)

    def rewards(self) -> list[float]:
        """Each player's reward for the last action."""
        return list(self.moment.gains)

    def __str__(self) -> str:
        return self.moment.past + in_words(self.moment)


def in_words(moment: Moment, player: int | None = None) -> str:
    """The orders of this phase so far as text: of one player or all."""
    texts, powers = moment.position.board.orders.texts, moment.position.board.powers
    shown = range(len(powers)) if player is None else (player,)
    given = "; ".join(f"{powers[each]} {', '.join(texts[order] for order in moment.given[each])}" for each in shown)
    return f"{moment.position.phase}: {given}"


class BoardObserver:
    """An OpenSpiel observer: `set_from` overwrites `tensor` and `dict`."""

    def __init__(self, setting: EnvSettings, recalls: bool) -> None:
        self._years, self._recalls = setting.rules.years, recalls
        shape = board_space(setting.board).shape
        self.tensor = None if recalls else np.zeros(int(np.prod(shape)), np.float32)
        self.dict = {} if self.tensor is None else {"board": self.tensor.reshape(shape)}

    def set_from(self, state: WelfareDiplomacyState, player: int) -> None:
        """Write the player's view of the board; with perfect recall there is no tensor."""
        moment = state.moment
        position, (asked, slot) = moment.position, moment.turns[0] if moment.turns else (-1, WINTER_TURN)
        if not self.dict:
            return
        province = -1 if asked != player or slot == WINTER_TURN else position.slot_province(slot)
        seen = observe(position.board, position.state, self._years, player, province, 0.0, moment.given[player])
        self.dict["board"][:] = seen

    def string_from(self, state: WelfareDiplomacyState, player: int) -> str:
        """The player's information state; without perfect recall the position and its orders of this phase."""
        moment, position = state.moment, state.moment.position
        known = moment.past if self._recalls else f"{position.units} {position.centers} {position.welfare}\n"
        return known + in_words(moment, player)


pyspiel.register_game(TYPE, WelfareDiplomacyGame)
