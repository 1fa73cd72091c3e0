"""Exact best responses, against a search without table, bounds or omissions, and against games of the real policies."""

import doctest
import math
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import agents
import welfare_env
from agents import HoldPolicy, ScriptedPolicy
from evaluation import EvaluationError
from evaluation.exact import best_response, best_responses, exploitability, theorems
from evaluation.exact.phases import Expander, PointBounds, Stepper
from welfare_env import Rules, View
from welfare_env.engine import ADJUSTMENTS, DONE, MOVEMENT, RETREATS, State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

A, B = "PLAYERA", "PLAYERB"


def rules(years: int, **options: object) -> Rules:
    return Rules(press=None, years=years, **options)


class Restless(ScriptedPolicy):
    """Orders whatever a checksum of the position picks: moves, attacks, retreats, builds and disbands."""

    def __init__(self, *number: int) -> None:
        self.number = number

    def orders(self, view: View) -> list[str]:
        if view.phase_type == ADJUSTMENTS:
            return self.winter(view)
        return [orders[self._number(view, what) % len(orders)] for what, orders in sorted(view.legal_orders.items())]

    def winter(self, view: View) -> list[str]:
        builds = [orders[-1] for what, orders in sorted(view.legal_orders.items()) if len(what) == 3]
        if view.max_builds and self._number(view, "") % 2:
            return builds[: view.max_builds]
        return [f"{unit} D" for unit in self.own_units(view) if self._number(view, unit) % 3 == 0]

    def _number(self, view: View, what: str) -> int:
        units = {power: sorted(pieces) for power, pieces in view.units.items()}
        return zlib.crc32(repr((*self.number, view.phase, view.power, what, units, view.centers)).encode())


# The search that leaves nothing out


def every_plan(position: Position, power: int) -> Iterator[tuple[int, ...]]:
    """All that a power can order, one thing after the other."""

    def after(orders: tuple[int, ...], slots: list[int]) -> Iterator[tuple[int, ...]]:
        if not slots:
            yield orders
            return
        allowed = position.slot_orders(slots[0]).tolist()
        if position.state.phase_type == ADJUSTMENTS:
            yield from after(orders, slots[1:])
            allowed = [order for order in allowed if order in position.winter_orders(power, orders)]
        for order in allowed:
            yield from after((*orders, order), slots[1:])

    yield from after((), position.slots(power))


class Exhaustive:
    """What a power can expect at most, over all its plans, with a table of solved positions or without.

    Args:
        draws: who plays the others in a game, one of several with a chance: (chance, power -> policy).
    """

    def __init__(self, map_name: str, played: Rules, power: str, draws: list, remember: bool = False) -> None:
        self.board = welfare_env.load_board(map_name)
        self.engine = make_engine("fast", self.board, played)
        self.power, self.draws, self.remember = self.board.power_index[power], draws, remember
        self.known, self.asked, self.states = {}, {}, {}

    def value(self) -> float:
        return self._value(self.engine.initial(), tuple(range(len(self.draws))))

    def _value(self, state: State, left: tuple[int, ...]) -> float:
        """Sum over the draws that are left of chance times points to come."""
        if state.done:
            return 0
        parts = (state.units, state.dislodged, state.retreats, state.owners)
        key = (left, state.phase, state.year, *(part.tobytes() for part in parts))
        if key not in self.known or not self.remember:
            self.states[key] = state
            position, groups = Position(self.engine, state), defaultdict(list)
            for number in left:
                groups[self._ordered(position, self.draws[number][1])].append(number)
            self.known[key] = max(
                sum(self._after(position, dict(others) | {self.power: plan}, group) for others, group in groups.items())
                for plan in every_plan(position, self.power)
            )
        return self.known[key]

    def _after(self, position: Position, moves: dict, left: list[int]) -> float:
        played = [np.array(moves[power], np.int32) for power in range(len(self.board.powers))]
        state, _ = self.engine.step(position.state, played)
        paid = int((state.welfare - position.state.welfare)[self.power])
        return paid * sum(self.draws[number][0] for number in left) + self._value(state, tuple(left))

    def _ordered(self, position: Position, policies: dict) -> tuple[tuple[int, tuple[int, ...]], ...]:
        return tuple((self.board.power_index[who], self._orders(position, who, policies[who])) for who in policies)

    def _orders(self, position: Position, power: str, policy) -> tuple[int, ...]:
        key = power, id(policy), position.state.row.tobytes()
        if key not in self.asked:
            policy.reset(power, 5)
            orders = policy.act(None, {"view": View(position, power)})
            self.asked[key] = tuple(self.board.orders.index[order] for order in orders)
        return self.asked[key]


def profile_of(others: object, board: welfare_env.Board) -> dict:
    """A policy of a spec or class for each power."""
    return {who: agents.make(others) if isinstance(others, str) else others() for who in board.powers}


def check_against_all_plans(map_name: str, others: object, played: Rules, power: str, remember: bool) -> None:
    policies = profile_of(others, welfare_env.load_board(map_name))
    del policies[power]
    whole = Exhaustive(map_name, played, power, [(1, policies)], remember)
    assert best_response(map_name, dict(policies), power, rules=played).value == whole.value()


@pytest.mark.slow
@pytest.mark.parametrize("power", [A, B])
@pytest.mark.parametrize("others", ["prosocial", "hold", Restless])
def test_a_search_without_table_and_bounds_finds_the_same(others, power):
    check_against_all_plans("clique:2", others, rules(1), power, remember=False)
    check_against_all_plans("clique:2", others, rules(2), power, remember=False)


@pytest.mark.slow
@pytest.mark.parametrize(("map_name", "years"), [("clique:2", 4), ("clique:3", 2), ("shared-clique:2", 3)])
@pytest.mark.parametrize("others", ["prosocial", "hold", Restless])
def test_a_search_of_all_plans_without_bounds_finds_the_same(map_name, others, years):
    check_against_all_plans(map_name, others, rules(years), A, remember=True)


@pytest.mark.parametrize(
    ("others", "options"),
    [
        ("prosocial", {"overmilitarise": True}),
        (Restless, {"overmilitarise": True}),
        (Restless, {"progressive": (3, 0, 1)}),
        (Restless, {"adjudication": "package"}),
    ],
)
def test_so_it_does_under_other_rules(others, options):
    check_against_all_plans("clique:2", others, rules(3, **options), B, remember=True)


# What the search leaves out and takes together


BOARDS = ("clique:3", "shared-clique:3", "clique:4")
BUSY = st.tuples(  # board, seed, phases played, and whose rulings
    st.sampled_from(BOARDS), st.integers(0, 10**6), st.integers(1, 20), st.sampled_from(("rulebook", "package"))
)
MAX_PLANS = 2000


def busy_position(map_name: str, seed: int, phases: int, adjudication: str) -> Position:
    """A position after some phases of random play."""
    games = welfare_env.vector_env(1, map_name, rules(8, adjudication=adjudication))
    games.reset(seed)
    for _ in range(phases):
        games.step(games.sample())
    return Position(make_engine("fast", games.board, games.rules), games.state(0))


def random_orders(position: Position, seed: int) -> dict[int, dict[int, int]]:
    """For all powers but the first; none in Winter, when they might not go together."""
    rng = np.random.default_rng(seed)
    powers = range(1, len(position.board.powers)) if position.state.phase_type != ADJUSTMENTS else ()
    return {
        power: {slot: int(rng.choice(position.slot_orders(slot))) for slot in position.slots(power)} for power in powers
    }


def step(position: Position, others: dict[int, dict[int, int]], plan: tuple[int, ...]) -> State:
    orders = {power: list(given.values()) for power, given in others.items()} | {0: list(plan)}
    played = [np.array(orders.get(power, []), np.int32) for power in range(len(position.board.powers))]
    return position.engine.step(position.state, played)[0]


@given(BUSY, st.booleans())
@settings(max_examples=50)
def test_the_plans_that_are_left_out_lead_nowhere_else(drawn, alone):
    position = busy_position(*drawn)
    units = position.state.units
    if alone and position.state.phase_type == MOVEMENT:
        position = Position(position.engine, position.state.replaced(units=units[units[:, 0] == 0]))
    assume(math.prod(len(position.slot_orders(slot)) for slot in position.slots(0)) <= MAX_PLANS)
    stepper, others = Stepper(position.board, position.engine.rules), random_orders(position, drawn[1])
    rows = Expander(position.board, (0,), stepper).expand(position, [others]).rows[:, 0]
    everywhere = {canonical(stepper, step(position, others, plan)) for plan in every_plan(position, 0)}
    assert {row.tobytes() for row in rows} == everywhere


def canonical(stepper: Stepper, state: State) -> bytes:
    rows = state.row[None].copy()
    if state.done:
        rows[:] = 0
        rows[0, DONE] = 1
    stepper.make_canonical(rows)
    return rows.tobytes()


@given(BUSY)
@settings(max_examples=50)
def test_the_sequence_of_units_makes_no_difference(drawn):
    position = busy_position(*drawn)
    stepper = Stepper(position.board, position.engine.rules)
    units = position.state.units[::-1]
    units = units[np.argsort(units[:, 0], kind="stable")]
    turned = Position(position.engine, position.state.replaced(units=units))
    assert canonical(stepper, turned.state) == canonical(stepper, position.state)
    others = random_orders(position, drawn[1])
    own = next(every_plan(position, 0))
    assert canonical(stepper, step(turned, others, own)) == canonical(stepper, step(position, others, own))


def test_orders_of_winter_that_exclude_each_other_count_in_the_sequence_of_slots():
    """As in a game with a network that draws a disband and a build: the first of them counts."""
    units, owned = {A: ["A CAX"], B: ["A CBX"]}, {A: ["CAX"], B: ["HBX", "CBX"]}
    game = welfare_env.Game.from_position("W1901A", units, owned, rules=rules(2), map_name="clique:2")
    position, index = game.position, game.board.orders.index
    gone, built = index["A CBX D"], index["A HBX B"]
    slots = {order: position.slot_of(1, order) for order in (gone, built)}
    expander = Expander(game.board, (), Stepper(game.board, rules(2)))
    ways = [{1: {slots[order]: order for order in orders}} for orders in ((gone, built), (built, gone), (gone,))]
    first, second, alone = expander.expand(position, ways).rows[0]
    assert slots[gone] < slots[built]
    assert first.tobytes() == second.tobytes() == alone.tobytes()


def test_a_head_on_fight_is_ruled_by_the_rules() -> None:
    """A and B attack each other, with support by the other's units, too: that defends by the rulebook only."""
    units = {"A": ["A CAX", "A HAX"], "B": ["A CBX", "A HBX"], "C": ["A CCX"], "D": ["A CDX"], "E": ["A CEX"]}
    units = {f"PLAYER{name}": own for name, own in units.items()}
    orders = {
        0: ["A CAX - CBX", "A HAX S A CBX - CAX"],
        1: ["A CBX - CAX", "A HBX S A CAX - CBX"],
        2: ["A CCX S A CAX - CBX"],
        3: ["A CDX S A CBX - CAX"],
        4: ["A CEX S A CBX - CAX"],
    }
    ends = []
    for adjudication in ("rulebook", "package"):
        played = rules(2, adjudication=adjudication)
        owned = {power: [unit[2:] for unit in own] for power, own in units.items()}
        position = welfare_env.Game.from_position("S1901M", units, owned, rules=played, map_name="clique:5").position
        index = position.board.orders.index
        given = {who: {position.slot_of(who, index[text]): index[text] for text in own} for who, own in orders.items()}
        stepper = Stepper(position.board, played)
        found = Expander(position.board, (), stepper).expand(position, [given]).rows[0, 0]
        others = {who: ordered for who, ordered in given.items() if who}
        assert found.tobytes() == canonical(stepper, step(position, others, tuple(given[0].values())))
        ends.append(found.tobytes())
    assert ends[0] != ends[1]


@pytest.mark.parametrize(
    ("map_name", "others", "years"),
    [("clique:2", Restless, 3), pytest.param("clique:3", Restless, 2, marks=pytest.mark.slow)],
)
def test_no_value_is_above_its_bound(map_name, others, years):
    policies = profile_of(others, welfare_env.load_board(map_name))
    del policies[A]
    whole = Exhaustive(map_name, rules(years), A, [(1, policies)], remember=True)
    whole.value()
    stepper, bounds = Stepper(whole.board, rules(years)), PointBounds(whole.board, rules(years), 0)
    for key, state in whole.states.items():
        row = np.frombuffer(canonical(stepper, state), np.int32)
        assert whole.known[key] <= bounds.upper(row[None])[0]
    assert any(state.phase_type == RETREATS for state in whole.states.values()) == (map_name == "clique:3")


@pytest.mark.parametrize(("others", "years"), [("hold", 2), ("prosocial", 3)])
def test_a_coalition_has_the_most_points_of_two(others, years):
    """Two together get what the better of all their plans pays; alone, no more."""
    pair = best_response("clique:3", others, (B, A), years)
    alone = [best_response("clique:3", others, power, years) for power in (A, B)]
    assert pair.coalition == (A, B)
    assert pair.profile_value == sum(each.profile_value for each in alone)
    assert pair.gain >= max(each.gain for each in alone)
    game = welfare_env.Game("clique:3", rules(years))
    third = agents.make(others)
    third.reset("PLAYERC", 3)
    for _, orders in pair.orders:
        game.submit("PLAYERC", third.act(None, {"view": game.view("PLAYERC")}))
        for power in (A, B):
            game.submit(power, best_responses.own_orders(game.view(power), orders))
        game.advance()
    assert game.welfare[A] + game.welfare[B] == pair.value


# Results


@pytest.mark.parametrize(("map_name", "values"), [("clique:3", [2, 4, 8, 14]), ("clique:4", [2, 4, 8])])
def test_values_against_the_prosocial_profile(map_name, values):
    for years, value in enumerate(values, 1):
        found = best_response(map_name, "prosocial", B, years)
        assert (found.value, found.profile_value, found.gain) == (value, 2 * years, value - 2 * years)
        assert found.positions > 0


@pytest.mark.parametrize("others", ["prosocial", Restless])
def test_the_line_can_be_played(others):
    board = welfare_env.load_board("clique:4")
    profile = profile_of(others, board)
    found = best_response("clique:4", profile, A, 3)
    game = welfare_env.Game("clique:4", rules(3), "reference")
    for phase, orders in found.orders:
        assert game.phase == phase
        for who in board.powers[1:]:
            profile[who].reset(who, 9)
            game.submit(who, profile[who].act(None, {"view": game.view(who)}))
        game.submit(A, orders)
        game.advance()
    assert game.is_done
    assert game.welfare[A] == found.value


@pytest.mark.slow
def test_what_the_page_and_the_docstring_show():
    page = str(Path(__file__).parents[2] / "docs" / "exact.md")
    for shown in (doctest.testfile(page, module_relative=False), *map(doctest.testmod, (best_responses, theorems))):
        assert shown.attempted > 0
        assert shown.failed == 0


# What is refused


class Answering(HoldPolicy):
    """Gives one answer whatever is asked."""

    def __init__(self, answer):
        self.answer = answer

    def act(self, observation, info):
        return self.answer(observation, info["view"])


class Forgetful(HoldPolicy):
    """Attacks from the second question of a game on."""

    def reset(self, agent, seed=0):
        super().reset(agent, seed)
        self.asked = 0

    def movement(self, view):
        self.asked += 1
        return [orders[0] if self.asked == 1 else orders[-1] for orders in view.legal_orders.values()]


class FirstUnit(HoldPolicy):
    """Gives up the unit that is listed first, of several."""

    def movement(self, view):
        return [orders[-1] for orders in view.legal_orders.values()]

    def winter(self, view):
        builds = [orders[0] for what, orders in view.legal_orders.items() if len(what) == 3]
        units = view.units[view.power]
        return builds[: view.max_builds] or [f"{unit} D" for unit in units[:1] if len(units) > 1]


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ("dumbbot", "asked twice|of a game"),
        ("grim:fight=punish", "view.history"),
        (Answering(lambda seen, view: view.welfare and ["A HBX H"]), "view.welfare"),
        (Answering(lambda seen, view: seen["legal"].any() and ["A HBX H"]), "observation"),
        (Forgetful(), "of a game"),
        (FirstUnit(), "asked twice"),
        (Answering(lambda *_: ["A HBX H", "A HBX H"]), "not legal"),
        (Answering(lambda *_: ["A HBX X"]), "no order of this board"),
        (Answering(lambda *_: np.zeros(3, int)), "no list of orders"),
    ],
)
def test_policies_that_use_more_than_the_position_are_refused(others, why):
    with pytest.raises(EvaluationError, match=f"policy of {B}: .*({why}).*evaluation.exploitability"):
        best_response("clique:2", {B: others}, A, 3)


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"rules": Rules()}, EvaluationError, "press='text'"),
        ({"rules": rules(2, retreat_welfare=True)}, EvaluationError, "rules with retreat_welfare=True:"),
        ({"rules": Rules(press=None, variant="standard")}, EvaluationError, "rules with variant='standard':"),
        ({"rules": rules(2, progressive=(1, 2)), "years": 3}, welfare_env.RulesError, "progressive"),
        ({"years": 0}, EvaluationError, "years=0"),
        ({"map_name": "standard", "powers": "FRANCE"}, EvaluationError, "it has convoys"),
        ({"map_name": "nowhere"}, welfare_env.UnknownMapError, "nowhere"),
        ({"powers": "FRANCE"}, welfare_env.UnknownPowerError, "FRANCE"),
        ({"powers": [A, A]}, EvaluationError, "powers="),
        ({"profile": {}}, EvaluationError, "PLAYERB missing"),
        ({"profile": {B: 7}}, EvaluationError, "profile="),
        ({"profile": {B: "hold", "FRANCE": "hold"}}, welfare_env.UnknownPowerError, "FRANCE"),
    ],
)
def test_questions_that_have_no_answer(given, error, told):
    with pytest.raises(error, match=told):
        best_response(**({"map_name": "clique:2", "profile": "hold", "powers": A} | given))


def test_a_limit_of_positions_is_enough_if_it_is_their_number():
    found = best_response("clique:2", "hold", A, 2)
    assert best_response("clique:2", "hold", A, 2, max_positions=found.positions) == found
    with pytest.raises(EvaluationError, match=f"more than {found.positions - 1} positions"):
        best_response("clique:2", "hold", A, 2, max_positions=found.positions - 1)
    assert exploitability("clique:2", "hold", 2, powers=[], max_positions=1).points == {A: 0, B: 0}  # one at a time


def test_the_line_of_play_exists_if_nothing_is_drawn():
    assert best_response("clique:2", "mix:prosocial=1/2,hold=1/2", A, 2).orders is None
    assert len(best_response("clique:2", "prosocial", A, 2).orders) == 6
