"""Exact best responses of one power against fixed stateless policies, in welfare points.

>>> from evaluation.exact import best_response
>>> result = best_response("clique:3", "prosocial", "PLAYERA", years=3)
>>> result.value, result.profile_value
(8, 6)

The others play deterministic policies whose orders depend on the current position only. This makes the game a
single-player problem, solved by depth-first search with a transposition table; see docs/exact.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from rich.table import Table
from rich.text import Text

import welfare_env
from agents import Policy, PunisherPolicy, RandomPolicy
from agents.modal.players import RoundWriter
from agents.runtime.results import Result, tables_of
from agents.runtime.table_files import Row
from agents.scripted.mixture import MixturePolicy
from agents.scripted.punisher import excluded
from agents.specs import Spec, read, read_profile
from agents.toy_boards.shape import clique_of
from evaluation.checks import ESTIMATE, PROGRAMS, EvaluationError, board_of, check_whole
from evaluation.exact.certificates import OrdersByPhase
from evaluation.exact.planner import Given, Planner
from welfare_env import Board, Game, Rules, View
from welfare_env.board.orders import WAIVE
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Profile = str | Mapping[str, str | Policy]

MOST_YEARS = 100
PROBES = 8  # games with a random deviator, in which the other policies are checked
SEEDS = (0, 1)
UNSOLVED = ("transfers", "retreat_welfare", "build_and_disband")  # options of the rules


class ExactResult(Result):
    """A result with a row per deviating coalition."""


def exact_row(
    map_name: str,
    years: int,
    coalition: Sequence[str],
    profile_value: float | None,
    value: float,
    positions: int,
    profile: str = "",
) -> Row:
    """A row of the table "exact" of `evaluation.columns`; values are points of the whole game."""
    own = math.nan if profile_value is None else float(profile_value)
    return {
        "map": map_name,
        "years": years,
        "profile": profile,
        "coalition": "+".join(coalition),
        "profile_value": own,
        "value": float(value),
        "gain": value - own,
        "gain_per_year": (value - own) / years,
        "positions": positions,
    }


@tables_of.register
def exact_table(result: ExactResult) -> list[Table]:
    """One row per coalition."""
    title = "Welfare points of the whole game; those of a coalition are added up"
    table = Table("map", "years", "coalition", title=Text(title, "table.title"), title_justify="left")
    for name in ("with the profile", "best response", "gain", "gain a year", "positions"):
        table.add_column(name, justify="right")
    for row in result.rows():
        values = (f"{row[name]:.6g}" for name in ("profile_value", "value", "gain"))
        names = (str(row[name]) for name in ("map", "years", "coalition"))
        table.add_row(*map(Text, (*names, *values, f"{row['gain_per_year']:.2f}", f"{row['positions']:,}")))
    return [table]


@dataclass(frozen=True, repr=False)
class BestResponse(ExactResult):
    """The best response to a profile: its value and a line of play.

    Attributes:
        map_name, rules, power: the game, and the power that deviates.
        value: the power's maximum points in the whole game.
        profile_value: its points when it plays its own policy; None if the profile has no policy for it.
        orders: an optimal line of play: (short phase name, the power's orders) for every phase of the game.
        states: number of distinct positions searched.
    """

    map_name: str
    rules: Rules
    power: str
    value: int
    profile_value: int | None
    orders: OrdersByPhase
    states: int

    @property
    def gain(self) -> int | None:
        """`value` minus `profile_value`; None if the profile has no policy for the power."""
        return None if self.profile_value is None else self.value - self.profile_value

    def rows(self) -> list[Row]:
        """One row."""
        found = self.profile_value, self.value, self.states
        return [exact_row(self.map_name, self.rules.years, (self.power,), *found)]


def best_response(
    map_name: str, profile: Profile, power: str, years: int | None = None, rules: Rules | None = None
) -> BestResponse:
    """One power's best response to a fixed profile: its exact value, and a line of play that attains it.

    Every other policy must answer the same position with the same orders, whatever the history and seed. Policies that
    read points, history or observation arrays are rejected. So are policies whose answers differ when checked: the
    search asks each policy twice in every position, with a different seed and unit order; the policies also play some
    games against a random deviator, and one game of the optimal line. Memory or randomness that these checks miss makes
    the value wrong. Punishers with memory are accepted if all others are identical punishers (`with_known_deviator`).

    Args:
        map_name: a board without convoys, such as "clique:4".
        profile: one spec for all powers, a profile such as "2*dove + 1*hold" (in the board's order), or power -> spec
            or policy; `power` may be omitted.
        power: the power that deviates.
        years: length of the game; default: as in `rules`.
        rules: welfare, without press, transfers, `retreat_welfare` and `build_and_disband`; default: ten years.

    Raises:
        UnknownMapError, UnknownPowerError, UnknownAgentError, ProfileError, RulesError: invalid input of this kind.
        EvaluationError: unsupported rules or board, or a rejected policy. For a mix or a network, the message refers
            to `evaluation.exact.exploitability`.
    """
    board = board_of(map_name)
    board.check_power(power)
    played = checked_rules(rules, years)
    check_land(board)
    policies = policies_of(board, profile, (power,))
    own = policies.pop(power, None)
    for who, policy in policies.items():
        if isinstance(policy, MixturePolicy) or hasattr(policy, "network_for"):
            raise EvaluationError(
                f"policy of {who}: it is a network, or a mix drawn once a game. "
                "evaluation.exact.exploitability has the exact value against these"
            )
    answers = PolicyAnswers(board, played, with_known_deviator(board, policies, power))
    for seed in range(PROBES):
        play_game(answers, {power: RandomPolicy()}, seed)
    planner = Planner(board, played, board.power_index[power], answers.given)
    value = planner.value(answers.engine.initial())
    number, texts = board.power_index[power], board.orders.texts
    moves = planner.best_line(answers.engine.initial())
    line = tuple((phase, tuple(texts[order] for order in orders.get(number, ()))) for phase, orders in moves)
    if (paid := play_game(answers, {power: _LinePolicy(line)}, SEEDS[0]).welfare[power]) != value:
        raise EvaluationError(f"the line is worth {value}, but its game paid {paid}: internal error; please report it")
    profile_value = None if own is None else play_game(answers, {power: own}, SEEDS[0]).welfare[power]
    return BestResponse(
        map_name=map_name,
        rules=played,
        power=power,
        value=value,
        profile_value=profile_value,
        orders=line,
        states=planner.states,
    )


def check_land(board: Board) -> None:
    """Raise EvaluationError if the board has convoys."""
    if board.convoys:
        raise EvaluationError(
            f"map {board.name!r}: it has convoys; exact values are for boards without convoys, such as clique:4. "
            f"Here, {ESTIMATE}"
        )


def checked_rules(rules: Rules | None, years: int | None) -> Rules:
    """The rules of the game. Raises RulesError or EvaluationError as `best_response` does."""
    if rules is not None and not isinstance(rules, Rules):
        raise welfare_env.RulesError(f"rules={quoted(rules)}: give welfare_env.Rules(...)")
    played = Rules(press=None) if rules is None else rules
    if years is not None:
        check_whole("years", years, 1, MOST_YEARS)
        played = replace(played, years=years)
    wrong = ["variant='standard'"] * (not played.is_welfare) + [f"press={played.press!r}"] * played.has_press
    wrong += [f"{name}=True" for name in UNSOLVED if getattr(played, name)]
    if wrong:
        raise EvaluationError(
            f"rules with {', '.join(wrong)}: exact values need welfare rules without press and without "
            f"{', '.join(UNSOLVED)}, such as Rules(press=None)"
        )
    if played.years > MOST_YEARS:
        raise EvaluationError(f"years={played.years}: exact values are for games of {MOST_YEARS} years at most")
    return played


def policies_of(board: Board, profile: Profile, deviators: tuple[str, ...]) -> dict[str, Policy]:
    """Power -> policy; deviators need none. Raises the errors of `best_response`."""
    if isinstance(profile, str):
        seats = read_profile(profile).seats(board.powers, seating="fixed")
        return {who: _made(who, policy) for who, policy in seats.items()}
    if not isinstance(profile, Mapping) or not all(isinstance(part, str | Policy) for part in profile.values()):
        raise EvaluationError(f"profile={quoted(profile)}: give a spec such as 'prosocial', or power -> spec or policy")
    for power in profile:
        board.check_power(power)
    if missing := [other for other in board.powers if other not in profile and other not in deviators]:
        raise EvaluationError(
            f"profile: {', '.join(missing)} missing; give every power but {' and '.join(deviators)} a policy"
        )
    return {who: _made(who, read(part)) if isinstance(part, str) else part for who, part in profile.items()}


def _made(power: str, spec: Spec) -> Policy:
    if spec.models:
        _refuse(power, f"{spec.text:.80} asks a language model")
    policy = spec.make()
    if isinstance(policy, RoundWriter):
        raise EvaluationError(f"policy of {power}: {spec.text!r:.80} {PROGRAMS}")
    return policy


def with_known_deviator(board: Board, policies: Mapping[str, Policy], deviator: str) -> dict[str, Policy]:
    """The others' policies; punishers with memory are replaced by punishers that know `deviator`.

    This is equivalent if all others are such punishers: then only the deviator can be the first to leave the path.

    Raises:
        EvaluationError: some punishers have memory, but the others are not all identical punishers.
    """
    remembering = {
        who: policy for who, policy in policies.items() if type(policy) is PunisherPolicy and policy.remembers
    }
    if not remembering:
        return dict(policies)
    clique = clique_of(board)
    profiles = {(policy.t, excluded(clique, policy.shared), policy.certificate) for policy in remembering.values()}
    if len(remembering) < len(policies) or len(profiles) > 1:
        raise EvaluationError(
            "punishers who remember have exact values only where all players but the deviator are such punishers, "
            "with the same t, shared and certificate: among others, whom they accuse depends on the history. Give them "
            "deviator=POWER, or leave out remembers"
        )
    return {
        who: PunisherPolicy(policy.t, policy.shared, deviator, certificate=policy.certificate)
        for who, policy in remembering.items()
    }


class _PositionView(View):
    """A view of the position alone; reading points or history raises EvaluationError."""

    def __init__(self, position: Position, power: str, opening: Position) -> None:
        super().__init__(position, power)
        self._opening = opening

    @property
    def beginning(self) -> Position:
        return self._opening

    @property
    def welfare(self) -> NoReturn:
        _refuse(self.power, "it reads view.welfare")

    @property
    def scores(self) -> NoReturn:
        _refuse(self.power, "it reads view.scores")

    @property
    def history(self) -> NoReturn:
        _refuse(self.power, "it reads view.history")


@dataclass(frozen=True)
class _NoObservation:
    """Replaces the observation arrays; reading them raises EvaluationError."""

    power: str

    def __getitem__(self, name: object) -> NoReturn:
        _refuse(self.power, f"it reads observation[{name!r:.40}]")


def _refuse(power: str, why: str) -> NoReturn:
    raise EvaluationError(
        f"policy of {power}: {why}. An exact best response needs opponents whose orders follow from the present "
        "position alone, without points, memory and chance, such as prosocial and hold. For mixes drawn once a game, "
        "and networks, use evaluation.exact.exploitability. The gain against any other policy has no exact value: "
        + ESTIMATE
    )


class PolicyAnswers:
    """The orders of the other powers as a function of the position."""

    def __init__(self, board: Board, rules: Rules, policies: Mapping[str, Policy]) -> None:
        self.board, self.rules, self.policies = board, rules, policies
        self.engine = make_engine("fast", board, rules)
        self._opening = Position(self.engine, self.engine.initial())

    def given(self, position: Position) -> Given:
        """The orders of all powers that have units or builds to order: power -> slot -> order number.

        Raises:
            EvaluationError: a policy is rejected.
        """
        asked = [power for power in self.policies if position.slots(self.board.power_index[power])]
        if not asked:
            return {}
        reversed_units = Position(self.engine, units_reversed(position.state))
        given: Given = {}
        for power in asked:
            orders = self._orders(power, position, SEEDS[0])
            again = self._orders(power, reversed_units, SEEDS[1])
            self._check_same(power, orders, again, f"asked twice in {position.phase}")
            given[self.board.power_index[power]] = self._slotted(power, position, orders)
        return given

    def check_game(self, position: Position, actions: Mapping[str, Any]) -> None:
        """Check that the policies give the same orders in a game as for the position alone.

        Raises:
            EvaluationError: a policy's orders differ.
        """
        given = self.given(position)
        for power in self.policies:
            alone = list(given.get(self.board.power_index[power], {}).values())
            ordered = self._numbers(power, position.phase, actions[power])
            self._check_same(
                power, ordered, alone, f"in {position.phase} of a game, and asked about the position alone"
            )

    def _check_same(self, power: str, first: list[int], second: list[int], where: str) -> None:
        """Check that two answers have the same orders, in any sequence."""
        if sorted(first) != sorted(second):
            texts = self.board.orders.texts
            one, other = (repr([texts[order] for order in orders])[:200] for orders in (first, second))
            _refuse(power, f"{where}, it orders {one} and {other}")

    def _orders(self, power: str, position: Position, seed: int) -> list[int]:
        """The policy's answer to a position, after a reset."""
        policy = self.policies[power]
        policy.reset(power, seed)
        view = _PositionView(position, power, self._opening)
        return self._numbers(power, position.phase, policy.act(_NoObservation(power), {"view": view}))

    def _numbers(self, power: str, phase: str, answer: Any) -> list[int]:
        """The order numbers of a list of order strings, without WAIVE."""
        if not isinstance(answer, list) or not all(isinstance(text, str) for text in answer):
            _refuse(power, f"in {phase} it answers {answer!r:.80}, no list of orders as strings")
        unknown = [text for text in answer if text not in self.board.orders.index]
        if unknown:
            _refuse(power, f"in {phase} it orders {unknown[0]!r:.80}, which is no order of this board")
        return [number for text in answer if (number := self.board.orders.index[text]) != WAIVE]

    def _slotted(self, power: str, position: Position, orders: list[int]) -> dict[int, int]:
        """Slot -> order."""
        slotted: dict[int, int] = {}
        for count, order in enumerate(orders):
            slot = self._slot(position, self.board.power_index[power], order, orders[:count])
            if slot is None or slot in slotted:
                text = repr(self.board.orders.texts[order])
                _refuse(power, f"in {position.phase} it orders {text}, which is not legal there, or not with the rest")
            slotted[slot] = order
        return slotted

    def _slot(self, position: Position, power: int, order: int, before: list[int]) -> int | None:
        """The slot in which this order is legal for the power, given the orders before it."""
        if position.state.phase_type == ADJUSTMENTS and order not in position.winter_orders(power, before):
            return None
        return position.slot_of(power, order)


def units_reversed(state: State) -> State:
    """The same position, with each power's units in reverse order."""
    units = state.units[::-1]
    return state.replaced(units=units[np.argsort(units[:, 0], kind="stable")])


# Games with the real policies


class _LinePolicy:
    """Plays the orders of a given line."""

    def __init__(self, line: OrdersByPhase) -> None:
        self._orders = dict(line)

    def reset(self, agent: str, seed: int = 0) -> None: ...

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view: View = info["view"]
        return view.encode_orders(self._orders[view.phase])


def play_game(answers: PolicyAnswers, deviators: Mapping[str, Policy], seed: int) -> Game:
    """Play a whole game of the real policies, with the given policies for the deviators.

    Raises:
        EvaluationError: a policy's orders differ from its answer to the position alone.
    """
    env = welfare_env.parallel_env(answers.board.name, answers.rules)
    observations, infos = env.reset(seed=seed)
    players = {who: copy.deepcopy(policy) for who, policy in answers.policies.items()} | dict(deviators)
    for who, policy in players.items():
        policy.reset(who, seed)
    while env.agents:
        actions = {who: players[who].act(observations[who], infos[who]) for who in env.agents}
        answers.check_game(env.game.position, actions)
        observations, _, _, _, infos = env.step(actions)
    return env.game
