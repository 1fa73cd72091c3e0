"""The planner and its plans: copies that play on, games in its head, what it finds, and fixed plans."""

import copy
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import agents
import evaluation
from agents import PlanningPolicy, Policy, ReseedablePolicy
from agents.policy import CoalitionPolicy
from agents.scripted.planner.campaign import PLANS, CampaignPolicy
from agents.scripted.planner.drawing import PlanDrawer
from agents.scripted.planner.planner import PlannerPolicy, least_gain
from agents.scripted.planner.plans import Course, Move, Plan
from agents.scripted.planner.search import PlanSearch, kind_of
from agents.scripted.planner.tactics import centers_wanted, rotation
from agents.scripted.planner.world import PlanPlayer, World
from evaluation import exact
from tests.playing import seated
from welfare_env import Game, Rules

TOY = {"map_name": "clique:3", "rules": Rules(years=1, press=None)}
STANDARD = {"rules": Rules(years=10, press=None)}
YEARS = range(1901, 1909)
FOUND = [  # board, years, members, others, and a digest of the orders
    ("clique:3", 4, ("PLAYERB",), "dumbbot", "98a8a0d02f32"),
    pytest.param("clique:4", 2, ("PLAYERA", "PLAYERC"), "dumbbot", "57d4ccc53921", marks=pytest.mark.slow),
    pytest.param("clique:4", 2, ("PLAYERA", "PLAYERB"), "marshal", "e89233979dc9", marks=pytest.mark.slow),
]
COPIED = ["random", "dumbbot", "exploiter:nice=dove,attack=dumbbot", "marshal", "pact", "posse", "noisy:of=dumbbot"]


def played(policies: Mapping[str, Policy], game: Game) -> dict[str, list[str]]:
    """What everybody orders; the game then goes on."""
    found = {}
    for power, policy in policies.items():
        action: Any = policy.act(None, {"view": game.view(power)})
        found[power] = list(action)
        game.submit(power, action, strict=False)
    game.advance()
    return found


class TestCopies:
    @pytest.mark.parametrize("spec", COPIED)
    def test_copies_play_on_alike_with_the_same_seed(self, spec: str) -> None:
        game = Game(rules=Rules(years=3, press=None))
        policies = {power: seated(spec, power, 1) for power in game.powers}
        for _ in range(3):
            played(policies, game)
        twins = [copy.deepcopy(policies) for _ in range(2)]
        for twin in twins:
            for policy in twin.values():
                if isinstance(policy, ReseedablePolicy):
                    policy.reseed(7)
        games = [copy.copy(game) for _ in range(3)]
        first, second = ([played(twin, other) for _ in range(4)] for twin, other in zip(twins, games, strict=False))
        assert first == second
        assert played(policies, games[2]).keys() == first[0].keys()  # the players themselves are as they were

    def test_language_models_are_not_copied_but_modelled(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            result = evaluation.exploitability(
                "lm:scripted/stub", deviator="plan:budget=1", coalitions=[("PLAYERA",)], games=1, **TOY
            )
        assert "cannot be copied" in caplog.text
        assert result.gains


class TestWorlds:
    def world(self, spec: str, game: Game) -> World:
        others = {power: agents.make(spec) for power in game.powers[1:]}
        return World(others, {game.powers[0]: agents.make(spec)}, np.random.default_rng(0))

    def test_copies_follow_the_game(self) -> None:
        """Copies of players without chance order what the players do."""
        game = Game(rules=Rules(years=3, press=None))
        players = {power: seated("marshal", power, 3) for power in game.powers}
        world = self.world("marshal", game)
        while not game.is_done:
            world.follow(game.view("AUSTRIA"))
            copies = {power: policy for power, policy in world._others.items() if game.legal_orders(power)}
            twins = copy.deepcopy(copies)
            told = {power: policy.act(None, {"view": game.view(power)}) for power, policy in twins.items()}
            found = played(players, game)
            assert told == {power: found[power] for power in told}

    def test_copies_see_each_phase_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[tuple[str, str]] = []
        orders = agents.HoldPolicy.orders
        monkeypatch.setattr(
            agents.HoldPolicy, "orders", lambda self, view: seen.append((view.power, view.phase)) or orders(self, view)
        )
        game = Game("clique:3", rules=Rules(years=2, press=None))
        world = self.world("hold", game)
        while not game.is_done:
            world.follow(game.view("PLAYERA"))
            game.advance()
        assert len(seen) == len(set(seen)) > 6

    def test_peace_is_worth_what_it_is(self) -> None:
        game = Game(rules=Rules(years=3, press=None))
        plan = Plan({"AUSTRIA": (Course(),) * 3})
        points = self.world("prosocial", game).play(game.view("AUSTRIA"), plan, seed=0)
        alone = evaluation.self_play("prosocial", games=1, rules=Rules(years=3, press=None))
        assert points == dict(alone.measures[0].scores)

    def test_other_seeds_are_other_games(self) -> None:
        game = Game("clique:3", rules=Rules(years=3, press=None))
        world, view = self.world("random", game), game.view("PLAYERA")
        plan = Plan({"PLAYERA": (Course(),) * 3})
        games = [str(world.play(view, plan, seed)) for seed in (0, 1, 2, 3, 0)]
        assert games[4] == games[0]
        assert len(set(games)) > 1


class TestPlans:
    def test_a_raid_that_is_over_makes_no_kind(self) -> None:
        plan = Plan({"PLAYERA": (Course(Move.TAKE, ("PLAYERB",)), Course(), Course())})
        assert kind_of(plan, 0) == (0, (("take", ("PLAYERB",)),))
        assert kind_of(plan, 1) == (3, ())

    @pytest.mark.parametrize("members", [("ITALY",), ("ITALY", "RUSSIA")])
    def test_every_move_is_drawn(self, members: Sequence[str]) -> None:
        """One member that takes, and another that receives, were never drawn: marshals lost 0.7 points a year to it."""
        game = Game(rules=Rules(years=5, press=None))
        drawer, view = PlanDrawer(game.board, 5, members, np.random.default_rng(1)), game.view(members[0])
        plans = [drawer.draw(view) for _ in range(200)]
        drawn = {course.move for plan in plans for courses in plan.courses.values() for course in courses}
        alone = {Move.SWAP, Move.RECEIVE}
        assert drawn == set(Move) - (alone if len(members) == 1 else set())


def position(phase: str, units: dict[str, list[str]], centers: dict[str, list[str]]) -> Game:
    return Game.from_position(phase, units, centers, rules=Rules(years=9, press=None))


HOMES = ["KIE", "BER", "MUN"]
PARIS = {"GERMANY": ["A BUR", "A GAS"], "FRANCE": ["A PAR"]}
LAND = Course(Move.LAND, ("ENGLAND",), wish=("HOL", "DEN"))


class TestTactics:
    @pytest.mark.parametrize(
        ("course", "phase", "units", "orders"),
        [
            # A guarded center is attacked with support.
            (Course(Move.TAKE, ("FRANCE",)), "S1902M", PARIS, ["A BUR - PAR", "A GAS S A BUR - PAR"]),
            (Course(Move.FIGHT, ("FRANCE",)), "S1902M", PARIS, ["A BUR - PAR", "A GAS S A BUR - PAR"]),
            # So many units are wanted after the Winter.
            (Course(Move.HOLD, units=2), "W1902A", {"GERMANY": ["A HOL"]}, ["A KIE B"]),
            (Course(Move.HOLD, units=0), "W1902A", {"GERMANY": ["A HOL"]}, ["A HOL D"]),
            # For a landing units gather next to the goals, and enter them in the same Fall, if all can.
            (LAND, "S1903M", {"GERMANY": ["A BUR", "A BER"]}, ["A BER - KIE", "A BUR - RUH"]),
            (LAND, "F1903M", {"GERMANY": ["A KIE", "A RUH"]}, ["A KIE - DEN", "A RUH - HOL"]),
            (LAND, "F1903M", {"GERMANY": ["A KIE", "A BUR"]}, ["A BUR - RUH", "A KIE H"]),
            # They are built as late as possible, and useless ones disbanded before.
            (LAND, "W1902A", {"GERMANY": ["A RUM"]}, ["A RUM D"]),
            (LAND, "W1903A", {"GERMANY": []}, ["A BER B", "A KIE B"]),
        ],
    )
    def test_what_plans_order(self, course: Course, phase: str, units: dict[str, list[str]], orders: list[str]) -> None:
        game = position(phase, units, {"GERMANY": HOMES, "FRANCE": ["PAR"]})
        assert sorted(PlanPlayer(Plan({"GERMANY": (course,) * 9}), {}, 0).orders(game)["GERMANY"]) == orders

    def test_an_empty_center_is_nearer_than_a_guarded_one(self) -> None:
        game = position("S1902M", {"GERMANY": ["A BUR"], "FRANCE": ["A MAR"]}, {"FRANCE": ["MAR", "PAR"]})
        for members, found in ((("GERMANY",), ["PAR", "MAR"]), (("GERMANY", "FRANCE"), ["MAR", "PAR"])):
            wanted = centers_wanted(game.view("GERMANY"), Course(Move.TAKE, ("FRANCE",)), members)
            assert [center for center in wanted if center in ("MAR", "PAR")] == found  # members guard nothing

    def test_loot_is_received_first_and_then_what_is_due_to_the_partner(self) -> None:
        centers = {"FRANCE": ["BEL", "LON", "PAR"], "ITALY": ["ROM"], "GERMANY": ["MUN"]}
        view = position("S1902M", {"GERMANY": ["A RUH", "F NTH"]}, centers).view("GERMANY")
        for most, wanted in ((None, ["BEL", "LON", "PAR"]), (2, ["BEL"])):  # Paris is due to France
            course = Course(Move.RECEIVE) if most is None else Course(Move.RECEIVE, most=most)
            assert centers_wanted(view, course, ("FRANCE", "GERMANY")) == wanted

    def test_loot_passes_from_member_to_member(self) -> None:
        units = {"ITALY": ["A TRI", "A VIE"], "RUSSIA": ["A BUD", "A GAL"]}
        game = position("S1902M", units, {"ITALY": ["ROM", "TRI", "VIE"], "RUSSIA": ["WAR", "BUD"]})
        for power in ("ITALY", "RUSSIA"):
            found = rotation(game.view(power), ("ITALY", "RUSSIA"))
            game.submit(power, [order for unit, order in found.items() if unit in game.units[power]])
        game.advance()
        where = {unit[2:]: power for power in ("ITALY", "RUSSIA") for unit in game.units[power]}
        assert (where["TRI"], where["VIE"], where["BUD"]) == ("RUSSIA", "RUSSIA", "ITALY")


def gain(spec: str, deviator: str, who: tuple[str, ...], games: int = 1, **options: Any) -> float:
    """What some powers gain together, in points a year of each."""
    found = evaluation.exploitability(
        spec, deviator=deviator, coalitions=[who], games=games, coordinated=len(who) > 1, **{**STANDARD, **options}
    )
    return found.gains[0].gain.value


class TestPlanner:
    def orders(self, planner, members, others, board="clique:3", years=2):
        """What a planner orders in a game on a toy board."""
        game = Game(board, Rules(years=years, press=None))
        assert isinstance(planner, PlanningPolicy | CoalitionPolicy)
        planner.meet(lambda power: agents.make(others))
        planner.reset_coalition(members, seed=0)
        players = {power: planner if power in members else seated(others, power, 1) for power in game.powers}
        told = [played(players, game) for _ in iter(lambda: game.is_done, True)]
        return [{member: orders[member] for member in members} for orders in told]

    def test_a_value_of_ones_own(self) -> None:
        """Of the members' gains over peace, which is tried first. Another value finds other orders."""
        gains: list[dict[str, float]] = []

        def least(each: Mapping[str, float]) -> float:
            gains.append(dict(each))
            return -sum(each.values())

        found = [
            self.orders(PlannerPolicy(budget=2, value=value), ("PLAYERB",), "prosocial")
            for value in (least_gain, least)
        ]
        assert gains[0] == {"PLAYERB": 0}
        assert found[0] != found[1]

    @pytest.mark.parametrize(("board", "years", "members", "others", "found"), FOUND)
    def test_the_same_budget_finds_the_same_plan_in_every_version(self, board, years, members, others, found):
        orders = self.orders(PlannerPolicy(budget=4), members, others, board, years)
        assert hashlib.sha256(json.dumps(orders).encode()).hexdigest()[:12] == found

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("board", "spec", "years", "budget"),
        [("clique:3", "prosocial", 4, 60), ("clique:3", "tit-for-tat", 4, 60), ("clique:4", "prosocial", 3, 30)],
    )
    def test_with_enough_budget_it_attains_the_exact_value(self, board, spec, years, budget) -> None:
        best = exact.best_response(board, spec, "PLAYERA", years=years)
        rules = Rules(years=years, press=None)
        found = gain(spec, f"plan:budget={budget}", ("PLAYERA",), map_name=board, rules=rules)
        assert found * years == pytest.approx(best.gain)
        assert board == "clique:3" or best.gain == pytest.approx(2)


class TestCampaigns:
    def test_sheriffs_are_robbed_of_their_homes(self) -> None:
        assert gain("sheriff", "campaign:plan=no-home,victim=1", ("GERMANY",)) > 0.59

    def test_marshals_see_through_laundering(self) -> None:
        """They lost 0.2 points a year to it, until a thief could keep nothing that it takes from another thief."""
        assert gain("marshal", "campaign:plan=launder", ("ITALY", "RUSSIA")) < -1

    def test_handing_over_pays_beside_prosocial_players_and_not_beside_marshals(self) -> None:
        gains = [gain(target, "campaign:plan=hand-over", ("ITALY", "RUSSIA")) for target in ("prosocial", "marshal")]
        assert gains[0] > 0.4 > -0.5 > gains[1]

    def test_a_landing_takes_all_homes_in_one_fall_and_hands_them_over_in_the_next(self) -> None:
        """Germany and Italy, Austria's neighbors: among prosocial players both steps are seen in the game."""
        attack = CampaignPolicy("landing", taker=2)  # Italy, whose nearest power is Austria
        attack.reset_coalition(("GERMANY", "ITALY"), 0)
        game = Game(rules=Rules(press=None, years=8))
        players = {power: attack if power in attack.members else seated("prosocial", power) for power in game.powers}
        while not game.is_done:
            played(players, game)
        homes = set(game.board.start_centers["AUSTRIA"])
        ends = {record.position.year: record.after for record in game.history}
        owned = [{power: homes & set(ends[year].centers[power]) for power in game.powers} for year in YEARS]
        landed = next(number for number, held in enumerate(owned) if not held["AUSTRIA"])
        assert all(held["AUSTRIA"] == homes for held in owned[:landed])  # nothing is entered before
        assert owned[landed]["ITALY"] == homes
        assert homes in [held["GERMANY"] for held in owned[landed + 1 : landed + 3]]
        assert not any(ends[1908].units.values())

    def test_framing_takes_what_is_due_to_the_neighbor(self) -> None:
        """Russia keeps a center more beside prosocial players, and nothing beside marshals."""
        gains = [gain(target, "campaign:plan=frame,victim=3", ("RUSSIA",)) for target in ("prosocial", "marshal")]
        assert gains[0] > 0.5 > 0.01 > gains[1]

    @pytest.mark.parametrize("plan", PLANS)
    def test_they_run_on_any_board_in_any_number_of_years(self, plan: str) -> None:
        for map_name, years in (("standard", 3), ("clique:3", 1), ("shared-clique:3", 3)):
            rules, powers = Rules(years=years, press=None), Game(map_name).powers[:2]
            gain("prosocial", f"campaign:plan={plan},begin=1", powers, rules=rules, map_name=map_name)


def test_the_best_half_of_the_finalists_plays_on_until_the_budget_is_used():
    played = []

    def simulate(plan, seed):
        played.append(plan)
        return -ord(plan)

    search = PlanSearch(None, np.random.default_rng(0))
    search._confirm(list("abcd"), 11, simulate)
    assert {plan: played.count(plan) for plan in "abcd"} == {"a": 4, "b": 4, "c": 2, "d": 2}
    assert search.plans == list("abcd")
