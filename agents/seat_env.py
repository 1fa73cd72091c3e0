"""One seat of Welfare Diplomacy as a `gymnasium.Env`; policies play the others.

Creation
    ``import welfare_env`` registers it, then ``gymnasium.make("WelfareDiplomacySeat-v0", seat="FRANCE",
    others="dove")``; or ``gymnasium.make("welfare_env:WelfareDiplomacySeat-v0", ...)``, which imports it.

Steps
    One step per phase in which the seat has orders to give. Other phases are played without a step; their rewards are
    added to the step's. No press.

Actions
    ``MultiDiscrete``, one choice per province: 0 is no order, k the k-th order in the vocabulary for a unit or a build
    in that province (`SeatEnv.order_text`). So a choice means the same in every position. The action mask, int8 [sum of
    choices], concatenates the choices of all provinces: ``info["action_mask"]``, or as bool
    ``env.unwrapped.action_masks()`` for sb3-contrib's MaskablePPO; ``env.action_space.sample(mask)`` accepts it. Where
    a unit needs an order, choice 0 is masked. Masked choices are ignored: the unit holds, or a dislodged one disbands.
    If a Winter action mixes builds and disbands, only the kind of its first choice counts, unless the rules have
    ``build_and_disband``; orders beyond the limit are void and listed in ``info["refused"]``.

Observations
    float32 [provinces, features], as `welfare_env.envs.observation` describes; the seat's power comes first.

Rewards
    Welfare points gained since the last step (welfare); the score at the end (standard). As in `welfare_env.make`.

Infos
    ``action_mask``; ``refused``: why orders of the last step were void; ``view``: the position as policies see it.

Copies
    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give an independent copy, with its own game and policies, which
    plays on as the original would. Language models cannot be copied; lambdas and local functions cannot be pickled.

Version history
    v0: first version.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium import spaces

import welfare_env
from agents.seat import Seat
from agents.specs import ProfileLike
from welfare_env import Rules, checks
from welfare_env.board.board import Board
from welfare_env.engine import ADJUSTMENTS
from welfare_env.envs.actions import ListSpace
from welfare_env.envs.board_env import working_modes
from welfare_env.envs.observation import board_space
from welfare_env.errors import ActionError, GameOverError, RulesError


class ChoiceSpace(ListSpace):
    """A choice per province; `sample` accepts the action mask of `SeatEnv`, int8 [sum of choices]."""

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        """A random choice per province among those that the mask allows."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return spaces.MultiDiscrete.sample(self, mask=mask, probability=probability)


class Menus:
    """The orders that can be chosen in each province of a board.

    Attributes:
        sizes: int64 [provinces], number of choices, including "no order".
        firsts: int64 [provinces], index of the first choice in a mask.
        order_at: int64 [sum of sizes], the order number of each choice; 0 for "no order".
        place_of: int64 [orders], index of each order in a mask; -1 for WAIVE and GIVE, which cannot be chosen.
    """

    def __init__(self, board: Board) -> None:
        pieces = board.orders.piece.astype(np.int64)
        provinces = np.where(pieces >= 0, np.array(board.piece_province)[pieces], -1)
        self.sizes = 1 + np.bincount(provinces[provinces >= 0], minlength=len(board.provinces))
        self.firsts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.order_at = np.zeros(self.sizes.sum(), np.int64)
        self.place_of = np.full(len(pieces), -1, np.int64)
        for province, first in enumerate(self.firsts.tolist()):
            orders = np.flatnonzero(provinces == province)
            self.place_of[orders] = first + 1 + np.arange(len(orders))
            self.order_at[first + 1 : first + 1 + len(orders)] = orders


class SeatEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """See the module's documentation.

    Args:
        seat: the power to play; None: the map's first.
        others: a policy for all other seats, a profile of them such as "4*dove + 2*random" whose seats rotate from game
            to game, or power -> policy.
        map_name, rules, options: as for `welfare_env.make`; press is off.

    Raises:
        UnknownPowerError: no such seat.
        UnknownAgentError, ProfileError: policies that cannot be made, or do not fit the other seats.
        RulesError, UnknownMapError, MapFormatError: as `welfare_env.make`; or rules with press.
    """

    metadata = {"render_modes": working_modes(), "render_fps": 1}  # noqa: RUF012 (as in Gymnasium)

    def __init__(
        self,
        seat: str | None = None,
        others: ProfileLike = "random",
        map_name: str | Board = "standard",
        rules: Rules | None = None,
        **options: Any,
    ) -> None:
        if options.setdefault("press", None) is not None or (rules is not None and rules.mediator):
            raise RulesError("a seat has no press: leave press=None and mediator=False")
        self._env: Any = welfare_env.parallel_env(map_name, rules, **options)
        self.board: Board = self._env.board
        self._seat = Seat(seat, others, self._env)
        self.seat = self._seat.power
        self._menus = Menus(self.board)
        self.observation_space = board_space(self.board)
        self.action_space = ChoiceSpace(self._menus.sizes)
        self.render_mode = self._env.render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new game; the others' seats and seeds are drawn from the environment's generator.

        Args:
            options: ``{"game": game}`` begins in the position of that game.

        Raises:
            RulesError: an unknown option, a game of another map or other rules, or one that ends before the seat has
                orders to give.
        """
        super().reset(seed=seed)
        shift, shared = int(self.np_random.integers(len(self._seat.others))), int(self.np_random.integers(2**31))
        self._seat.begin(shift, shared, options)
        self._skip()
        if not self._seat.is_running:
            raise RulesError(f"{self.seat} has nothing to order before this game ends: give an earlier position")
        return self._seat.observation["observation"], self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Order the seat's units, and play until its next orders or the end of the game.

        Raises:
            GameOverError: the game is over or has not begun: call reset().
            ActionError: not a choice for every province. Nothing has changed then.
        """
        if not self._seat.is_running:
            raise GameOverError("the game is over or has not begun: call reset()")
        reward = self._seat.advance(self._orders(action))
        refused = self._seat.infos[self.seat]["refused"]
        reward += self._skip()
        info = self._info() | {"refused": refused}
        is_done = self._env.game.is_done
        return self._seat.observation["observation"], reward, is_done, not (is_done or self._seat.is_running), info

    def action_masks(self) -> np.ndarray:
        """The legal choices: bool [sum of choices]."""
        mask = np.zeros(len(self._menus.order_at), np.bool_)
        mask[self._menus.firsts] = True
        position, is_winter = self._env.game.position, self._is_winter()
        for slot in position.slots(self.board.power_index[self.seat]) if self._seat.is_running else ():
            places = self._menus.place_of[position.slot_orders(slot)]
            if not is_winter:  # the unit needs an order
                mask[self._menus.firsts[np.searchsorted(self._menus.firsts, places[0], "right") - 1]] = False
            mask[places] = True
        return mask

    def order_text(self, province: int, choice: int) -> str:
        """The order of a choice in a province, such as "A PAR - BUR"; "" for no order."""
        number = int(self._menus.order_at[self._menus.firsts[province] + choice])
        return self.board.orders.texts[number] if number else ""

    def render(self) -> Any:
        """As in the environments of `welfare_env`."""
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # or both would play the same game

    def _skip(self) -> float:
        """Play the phases in which the seat has nothing to order. Returns its reward in them."""
        paid, number = 0.0, self.board.power_index[self.seat]
        while self._seat.is_running and not self._env.game.position.slots(number):
            paid += self._seat.advance([])
        return paid

    def _orders(self, action: Any) -> list[str]:
        """The orders of an action, without illegal choices.

        Raises:
            ActionError: not a choice for every province.
        """
        if action not in self.action_space:
            raise ActionError(
                f"action {checks.quoted(action)}: give a choice for each of the {len(self._menus.sizes)} provinces, "
                "each at least 0 and below its entry of env.action_space.nvec"
            )
        choices = np.asarray(action, np.int64)
        places = self._menus.firsts + choices
        numbers = self._menus.order_at[places[self.action_masks()[places] & (choices > 0)]]
        if self._is_winter() and len(numbers) and not self._env.rules.build_and_disband:
            kinds = self.board.orders.kind[numbers]
            numbers = numbers[kinds == kinds[0]]
        return [self.board.orders.texts[number] for number in numbers.tolist()]

    def _is_winter(self) -> bool:
        return self._env.game.position.state.phase_type == ADJUSTMENTS

    def _info(self) -> dict[str, Any]:
        mask = self.action_masks().astype(np.int8)
        return {"action_mask": mask, "refused": (), "view": self._seat.view}
