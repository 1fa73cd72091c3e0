"""Exact best responses to fixed policies on small boards, and the exploitability of a profile, in welfare points.

>>> from evaluation.exact import best_response, exploitability
>>> result = best_response("clique:3", "prosocial", "PLAYERA", years=3)
>>> result.value, result.profile_value
(8.0, 6.0)
>>> found = exploitability("clique:3", "mix:prosocial=1/2,hold=1/2", years=3)
>>> found.responses["PLAYERA"].value, found.responses["PLAYERA"].profile_value
(8.0, 3.0)

The orders of the others depend on the current position only, or on a policy drawn once a game. This makes the game a
problem of one player, solved by depth-first search with a table of positions; see docs/exact.md.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import welfare_env
from agents import Policy, PunisherPolicy, RandomPolicy
from agents.modal.players import RoundWriter
from agents.scripted.mixture import MixturePolicy
from agents.scripted.punisher import excluded
from agents.specs import Spec, read, read_profile
from agents.toy_boards.shape import clique_of
from evaluation.checks import ESTIMATE, PROGRAMS, EvaluationError, check_whole, listed
from evaluation.exact.opponents import NetworkPlayer, OpponentSeat, OpponentSeats, Player, ScriptedPlayer, refuse
from evaluation.exact.results import BestResponse, Exploitability, OrdersByPhase
from evaluation.exact.search import Search
from welfare_env import Board, Game, Rules, View, load_board
from welfare_env.checks import quoted

Profile = str | Mapping[str, str | Policy]

MAX_YEARS = 100
MAX_POSITIONS = 100_000
PROBES = 8  # games with random deviators, in which the other policies are checked
SLACK = 1e-6  # lowers the threshold so that the search returns a plan even without a gain
UNSOLVED = ("transfers", "retreat_welfare", "build_and_disband")  # options of the rules


def best_response(
    map_name: str,
    profile: Profile,
    powers: str | Sequence[str],
    years: int | None = None,
    rules: Rules | None = None,
    max_positions: int = MAX_POSITIONS,
) -> BestResponse:
    """The best response of a power, or of a coalition whose points are added up, to a fixed profile.

    Every other policy must answer the same position with the same orders, whatever the history and seed; or it is a
    network that takes its most probable orders ("rl:PATH,greedy=yes"), or a mix of such policies that each seat draws
    once a game ("mix:dove=1/3,hold=2/3"), about which the deviators learn from past orders. Networks that sample their
    orders are rejected, and policies that read points, history or observation arrays. So are policies whose answers
    differ when checked: the search asks each policy twice in every position, with a different seed and unit order;
    policies outside mixes also play some games against random deviators, and one game of the optimal line. Memory or
    randomness that these checks miss makes the value wrong. Punishers with memory are accepted if all others are
    identical punishers (`with_known_deviator`).

    Args:
        map_name: a board without convoys, such as "clique:4".
        profile: one spec for all powers, a profile such as "2*dove + 1*hold" (in the board's order), or power -> spec
            or policy, which may omit the deviators.
        powers: the power that deviates, or several.
        years: length of the game; default: as in `rules`.
        rules: welfare, without press, transfers, `retreat_welfare` and `build_and_disband`; default: ten years.
        max_positions: the largest number of positions to expand.

    Raises:
        UnknownMapError, UnknownPowerError, UnknownAgentError, ProfileError, RulesError: invalid input of this kind.
        EvaluationError: unsupported rules or board, a rejected policy, more positions than `max_positions`, or more
            than `evaluation.exact.opponents.MAX_WAYS` joint orders in a position.
        CheckpointError: a network that does not fit the game.
    """
    given = (powers,) if isinstance(powers, str) else tuple(listed("powers", powers, "['PLAYERA']"))
    board = _checked_board(map_name, given, max_positions)
    if not given or len(set(given)) < len(given):
        raise EvaluationError(f"powers={quoted(powers)}: give a power, or several different ones")
    coalition = tuple(sorted(given, key=board.power_index.__getitem__))
    policies = _policies_of(board, profile, coalition)
    game = _FixedGame(board, _checked_rules(rules, years), policies, max_positions)
    return game.response(coalition, game.points() if len(policies) == len(board.powers) else None)


def exploitability(
    map_name: str,
    profile: Profile,
    years: int | None = None,
    rules: Rules | None = None,
    powers: Iterable[str] | None = None,
    max_positions: int = MAX_POSITIONS,
) -> Exploitability:
    """Exact best responses of each power to a profile.

    Args:
        map_name, profile, years, rules, max_positions: as for `best_response`; a policy for every power.
        powers: the powers that deviate; default: all. `Exploitability.gap` covers these powers only; with [] only the
            profile's points are computed.

    Raises: as `best_response`.
    """
    known = None if powers is None else tuple(listed("powers", powers, "['PLAYERA']"))
    board = _checked_board(map_name, known or (), max_positions)
    game = _FixedGame(board, _checked_rules(rules, years), _policies_of(board, profile, ()), max_positions)
    points = game.points()
    responses = {power: game.response((power,), points) for power in (board.powers if known is None else known)}
    return Exploitability(board.name, game.rules, responses, points)


def _checked_board(map_name: str, powers: tuple[str, ...], max_positions: int) -> Board:
    board = load_board(map_name)
    for power in powers:
        board.check_power(power)
    check_whole("max_positions", max_positions, 1, 10**9)
    if board.convoys:
        raise EvaluationError(
            f"map {board.name!r}: it has convoys; exact values are for boards without convoys, such as clique:4. "
            f"Here, {ESTIMATE}"
        )
    return board


def _checked_rules(rules: Rules | None, years: int | None) -> Rules:
    if rules is not None and not isinstance(rules, Rules):
        raise welfare_env.RulesError(f"rules={quoted(rules)}: give welfare_env.Rules(...)")
    played = Rules(press=None) if rules is None else rules
    if years is not None:
        check_whole("years", years, 1, MAX_YEARS)
        played = replace(played, years=years)
    wrong = ["variant='standard'"] * (not played.is_welfare) + [f"press={played.press!r}"] * played.has_press
    wrong += [f"{name}=True" for name in UNSOLVED if getattr(played, name)]
    if wrong:
        raise EvaluationError(
            f"rules with {', '.join(wrong)}: exact values need welfare rules without press and without "
            f"{', '.join(UNSOLVED)}, such as Rules(press=None)"
        )
    if played.years > MAX_YEARS:
        raise EvaluationError(f"years={played.years}: exact values are for games of {MAX_YEARS} years at most")
    return played


def _policies_of(board: Board, profile: Profile, deviators: tuple[str, ...]) -> dict[str, Policy]:
    """Power -> policy; deviators need none."""
    if isinstance(profile, str):
        seats = read_profile(profile).seats(board.powers, seating="fixed")
        return {who: _made(who, policy) for who, policy in seats.items()}
    if not isinstance(profile, Mapping) or not all(isinstance(part, str | Policy) for part in profile.values()):
        raise EvaluationError(f"profile={quoted(profile)}: give a spec such as 'prosocial', or power -> spec or policy")
    for power in profile:
        board.check_power(power)
    if missing := [other for other in board.powers if other not in profile and other not in deviators]:
        raise EvaluationError(f"profile: {', '.join(missing)} missing; give every power a policy")
    return {who: _made(who, read(part)) if isinstance(part, str) else part for who, part in profile.items()}


def _made(power: str, spec: Spec) -> Policy:
    if spec.models:
        refuse(power, f"{spec.text:.80} asks a language model")
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
    profiles = {(policy.t, excluded(clique, policy.shared)) for policy in remembering.values()}
    if len(remembering) < len(policies) or len(profiles) > 1:
        raise EvaluationError(
            "punishers who remember have exact values only where all players but the deviator are such punishers, "
            "with the same t and shared: among others, whom they accuse depends on the history. Give them "
            "deviator=POWER, or leave out remembers"
        )
    return {who: PunisherPolicy(policy.t, policy.shared, deviator) for who, policy in remembering.items()}


@dataclass
class _FixedGame:
    """A game of fixed policies, some of which may be missing."""

    board: Board
    rules: Rules
    policies: Mapping[str, Policy]
    max_positions: int
    _networks: dict[tuple[str, bool], NetworkPlayer] = field(default_factory=dict)

    def points(self) -> dict[str, float]:
        """Power -> expected points if all play their policies."""
        found = self._search((), self.policies).expected().tolist()
        return {power: _rounded(each) for power, each in zip(self.board.powers, found, strict=True)}

    def response(self, coalition: tuple[str, ...], points: Mapping[str, float] | None) -> BestResponse:
        """The best response of a coalition; `points` as found by `points`, or None."""
        others = {who: policy for who, policy in self.policies.items() if who not in coalition}
        if len(coalition) == 1:
            others = with_known_deviator(self.board, others, coalition[0])
        for seed in range(PROBES if any(map(_is_scripted, others.values())) else 0):
            self._play(others, {power: RandomPolicy() for power in coalition}, seed)
        search = self._search(tuple(self.board.power_index[power] for power in coalition), others)
        worth = None if points is None else sum(points[power] for power in coalition)
        value = search.best(-1.0 if worth is None else worth - SLACK)
        value = _rounded(value if worth is None else max(value, worth))
        orders = None if search.seats.is_drawn else self._checked_line(search, others, coalition, value)
        plan = tuple(search.policy())
        return BestResponse(self.board.name, self.rules, coalition, value, worth, search.expanded, orders, plan)

    def _checked_line(
        self, search: Search, others: Mapping[str, Policy], coalition: tuple[str, ...], value: float
    ) -> OrdersByPhase:
        """The line of play of a solved search, played against the real policies."""
        texts = self.board.orders.texts
        line = tuple((phase, tuple(texts[order] for order in orders)) for phase, orders in search.line())
        game = self._play(others, {power: _LinePolicy(line) for power in coalition}, 0)
        if (paid := sum(game.welfare[power] for power in coalition)) != value:
            raise EvaluationError(
                f"the line is worth {value}, but its game paid {paid}: internal error; please report it"
            )
        return line

    def _play(self, others: Mapping[str, Policy], deviators: Mapping[str, Policy], seed: int) -> Game:
        """Play a whole game, and check that scripted policies order as if asked about each position alone.

        Raises:
            EvaluationError: a policy is rejected.
        """
        env = welfare_env.parallel_env(self.board.name, self.rules)
        scripted = [who for who, policy in others.items() if _is_scripted(policy)]
        alone = {who: ScriptedPlayer(self.board, self.rules, others[who]) for who in scripted}
        observations, infos = env.reset(seed=seed)
        players = {**others, **deviators, **{who: copy.deepcopy(others[who]) for who in alone}}
        for who, policy in players.items():
            policy.reset(who, seed)
        while env.agents:
            actions = {who: players[who].act(observations[who], infos[who]) for who in env.agents}
            for who, player in alone.items():
                player.check_played(who, env.game.position, actions[who])
            observations, _, _, _, infos = env.step(actions)
        return env.game

    def _search(self, powers: tuple[int, ...], others: Mapping[str, Policy]) -> Search:
        seats = {self.board.power_index[who]: self._seat(policy) for who, policy in others.items()}
        return Search(self.board, self.rules, powers, OpponentSeats(seats), self.max_positions)

    def _seat(self, policy: Policy) -> OpponentSeat:
        if isinstance(policy, MixturePolicy):
            return OpponentSeat(tuple(map(self._player, policy.policies)), policy.shares)
        return OpponentSeat((self._player(policy),), (1.0,))

    def _player(self, policy: Any) -> Player:
        """A player for the search. All seats of a network share one, so that its queries are batched."""
        if not hasattr(policy, "network_for"):
            return ScriptedPlayer(self.board, self.rules, policy)
        key = policy.path, policy.greedy
        if key not in self._networks:
            self._networks[key] = NetworkPlayer(self.board, self.rules, policy)
        return self._networks[key]


def _is_scripted(policy: Policy) -> bool:
    return not isinstance(policy, MixturePolicy) and not hasattr(policy, "network_for")


def _rounded(value: float) -> float:
    """Rounded to nine digits, to remove rounding errors of probability sums."""
    return round(float(value), 9)


class _LinePolicy:
    """Plays a power's orders of a line of play of its coalition."""

    def __init__(self, line: OrdersByPhase) -> None:
        self._orders = dict(line)

    def reset(self, agent: str, seed: int = 0) -> None: ...

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view: View = info["view"]
        return view.encode_orders(own_orders(view, self._orders[view.phase]))


def own_orders(view: View, orders: Iterable[str]) -> list[str]:
    """Those of a coalition's orders that the power of a view may give."""
    legal = {order for each in view.legal_orders.values() for order in each}
    return [order for order in orders if order in legal]
