"""One seat of Welfare Diplomacy with text in and text out, for training language models.

>>> import agents, json
>>> game = agents.SeatGame("FRANCE", others="dove", years=1, message_rounds=1)
>>> turn = game.reset(seed=0)
>>> while not turn.is_done:
...     turn = game.step(json.dumps({"reasoning": "...", "orders": [], "messages": {"GLOBAL": "Peace!"}}))
>>> turn.reward
0.0

Needs no SDK and no trainer. The seat is asked like a language model (`agents.lm`): once in every message round, and
once in a phase without messages, unless it has nothing to say or to order. The first text is the whole prompt; each
later one contains only what is new (`agents.lm.prompts.building`), so texts and replies form one conversation. Replies
are parsed leniently (`agents.lm.reading.parsing`); if a reply has no readable orders, those of an earlier round stand.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import welfare_env
from agents.lm.errors import ConfigError
from agents.lm.player.policy import is_asked
from agents.lm.prompts.building import build, news
from agents.lm.reading.parsing import Parsed, parse, reply_schema
from agents.policy import Policy
from agents.seat import Seat, player_of
from agents.specs import PolicyLike, ProfileLike
from welfare_env import Rules, View, checks
from welfare_env.board.board import Board
from welfare_env.errors import ActionError, GameOverError, RulesError
from welfare_env.game.view import MESSAGES

REWARDS = ("welfare", "gain")
MOST_KEPT = 32  # seeds for which the baseline's points are kept


@dataclass(frozen=True)
class SeatTurn:
    """A question to the player at the seat, or the end of the game.

    Attributes:
        text: the prompt; after the last phase, that the game is over and everybody's points.
        reward: reward since its last reply; at the reset, of phases before its first question.
        is_done: whether the game is over.
        reply: its last reply as parsed, with what of it is not used; None at the reset.
    """

    text: str
    reward: float
    is_done: bool
    reply: Parsed | None = None


class SeatGame:
    """See the module's documentation.

    Args:
        seat: the power to play; None: the map's first.
        others: a policy for all other seats, a profile of them such as "4*dove + 2*random" whose seats rotate with the
            seed, or power -> policy.
        reward: "welfare": the welfare points that the seat gains, year by year. "gain": the same minus the points of
            `baseline` in the same seat, year and seed against the same others; the sum over a game is the gain of
            deviating (`evaluation.exploitability`).
        baseline: the policy to compare with for "gain"; None for the policy that the others play.
        map_name, rules, options: as for `welfare_env.make`.

    Raises:
        UnknownPowerError: no such seat.
        UnknownAgentError, ProfileError: policies that cannot be made, or do not fit the other seats.
        ConfigError: an unknown reward, a baseline although reward is not "gain", or no baseline although the others
            play several policies.
        RulesError, UnknownMapError, MapFormatError: as `welfare_env.make`; or rules without welfare points.
    """

    def __init__(
        self,
        seat: str | None = None,
        others: ProfileLike = "dove",
        reward: str = "welfare",
        baseline: PolicyLike | None = None,
        map_name: str | Board = "standard",
        rules: Rules | None = None,
        **options: Any,
    ) -> None:
        self._env: Any = welfare_env.parallel_env(map_name, rules, **options)
        if not self._env.rules.is_welfare or self._env.rules.mediator:
            raise RulesError(
                "a seat is played for welfare points, without a mediator: leave variant='welfare' and mediator=False"
            )
        self._seat = Seat(seat, others, self._env)
        self.seat = self._seat.power
        checks.choice("reward", reward, REWARDS, ConfigError)
        self._baseline = self._compared(baseline) if reward == "gain" else None
        if reward != "gain" and baseline is not None:
            raise ConfigError("baseline: it is used only with reward='gain'")
        self._kept: dict[int, dict[int, float]] = {}  # seed -> year -> points of the baseline
        self._last: View | None = None  # at the player's last question

    def reset(self, seed: int = 0) -> SeatTurn:
        """Begin a new game. The same seed and replies give the same game.

        Raises:
            RulesError: an invalid seed.
        """
        seed = checks.seed(seed)
        self._without = {} if self._baseline is None else self._points_without(self._baseline, seed)
        self._seat.begin(seed, seed)
        self._phase = ""  # of the last reply
        self._orders: list[str] = []
        self._last = None
        return self._turn(self._skip(), None)

    def step(self, reply: str) -> SeatTurn:
        """Give the reply to the last text, and play until the seat is asked again or the game ends.

        Raises:
            GameOverError: the game is over or has not begun: call reset().
            ActionError: not a text. Nothing has changed then.
        """
        view = self.view
        if not isinstance(reply, str):
            raise ActionError(f"reply {checks.quoted(reply)}: give a text")
        parsed = parse(reply, view)
        orders = self._orders if view.phase == self._phase and not (parsed.orders or parsed.is_valid) else parsed.orders
        paid = self._paid(_action(view, orders, parsed.messages))
        self._phase, self._orders = view.phase, orders
        return self._turn(paid + self._skip(), parsed)

    def __repr__(self) -> str:
        phase = self.view.phase if self._seat.is_running else "not running"
        return f"<SeatGame of {self.seat}: {phase}>"

    @property
    def view(self) -> View:
        """The current view of the player at the seat.

        Raises:
            GameOverError: the game is over or has not begun.
        """
        if not self._seat.is_running:
            raise GameOverError("the game is over or has not begun: call reset()")
        return self._seat.view

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the next reply, with the legal orders.

        Raises:
            GameOverError: the game is over or has not begun.
        """
        return reply_schema(self.view)

    def record(self) -> dict[str, Any]:
        """The game so far as plain JSON types, for `evaluation.measure` and `welfare_env.Game.load`.

        Raises:
            GameOverError: the game has not begun.
        """
        if not self._seat.infos:
            raise GameOverError("the game has not begun: call reset()")
        return self._env.game.record()

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # or both would play the same game

    def _compared(self, baseline: PolicyLike | None) -> Policy:
        """The player that the seat is compared with.

        Raises:
            ConfigError: no baseline is given, and the others play several policies.
        """
        if baseline is not None:
            return player_of(baseline, "baseline")
        policies = self._seat.profile.policies
        if len(policies) > 1:
            raise ConfigError("baseline: the others play several policies; give the one to compare the seat with")
        return player_of(policies[0], "baseline")

    def _points_without(self, baseline: Policy, seed: int) -> dict[int, float]:
        """Year -> the baseline's points in the seat, in the game of this seed. Those of the last games are kept."""
        if seed not in self._kept:
            self._seat.begin(seed, seed)
            baseline.reset(agent=self.seat, seed=seed)
            paid: dict[int, float] = {}
            while self._seat.is_running:
                year, action = self.view.year_index, baseline.act(self._seat.observation, self._seat.infos[self.seat])
                paid[year] = paid.get(year, 0.0) + self._seat.advance(action)
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]  # the oldest
            self._kept[seed] = paid
        return self._kept[seed]

    def _paid(self, action: Any) -> float:
        """Play a message round or a phase. Returns the seat's reward, at the end of a year minus the baseline's."""
        year = self.view.year_index
        paid = self._seat.advance(action)
        is_over = not self._seat.is_running or self.view.year_index != year
        return paid - self._without.get(year, 0.0) if is_over else paid

    def _skip(self) -> float:
        """Play on with the orders already given until the seat has to reply. Returns its reward."""
        paid = 0.0
        while self._seat.is_running and not self._is_asked(self.view):
            orders = self._orders if self._phase == self.view.phase else []
            paid += self._paid(_action(self.view, orders, []))
        return paid

    def _is_asked(self, view: View) -> bool:
        is_ordered = view.phase == self._phase and view.asked != MESSAGES
        return not is_ordered and is_asked(view)

    def _turn(self, paid: float, reply: Parsed | None) -> SeatTurn:
        if not self._seat.is_running:
            return SeatTurn(self._result(), paid, True, reply)
        last, self._last = self._last, self.view
        return SeatTurn(build(self.view).text if last is None else news(self.view, last), paid, False, reply)

    def _result(self) -> str:
        points = ", ".join(f"{power} {points}" for power, points in self._env.game.welfare.items())
        return f"The game is over. Welfare points: {points}.\n"


def _action(view: View, orders: list[str], messages: list[tuple[str, str]]) -> Any:
    if view.asked == MESSAGES:
        return view.encode_messages(messages) | {"orders": orders}
    return view.encode_orders(orders)
