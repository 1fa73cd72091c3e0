"""Garrabrant, Prisoners' Dilemma with Costs to Modeling (2018), statement by statement, comments included.

The tests are in the post's order, and their docstrings say what it says. Where it is wrong, or holds only for some
prices, the test's name and its last lines say so.
"""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

import modal_env
from modal_env import (
    LIBRARY,
    POST,
    CooperateBot,
    DefectBot,
    FairBot,
    OneBot,
    ProgramGame,
    PrudentBot,
    RandomBot,
    SlipBot,
)
from modal_env.best_replies import CALLS

SMALL = [F(1, 1000), F(1, 20), F(1, 10), F(6, 25)]
"""Prices below 1/4."""
NAMES = [agent.name for agent in POST]
C, D, FAIR, P = range(4)


def post(epsilon: object = F(1, 10)) -> ProgramGame:
    return ProgramGame(POST, epsilon)


def good(e: F) -> list[F]:
    """The good mix: CooperateBot e, FairBot 1 - 3e/2, PrudentBot e/2."""
    return [e, F(0), 1 - 3 * e / 2, e / 2]


def moves_of(agent: modal_env.Agent) -> str:
    """What an agent does to CooperateBot, DefectBot, FairBot and PrudentBot."""
    return "".join(modal_env.play(agent, other).moves[0] for other in POST)


def best(opponent: modal_env.Agent, epsilon: F, depth: int = 2) -> set[str]:
    """The best replies among all agents up to a depth that call `CALLS`, by what they and the opponent do."""
    paid = {
        reply.moves[0] + (str(reply.agent.depth),): modal_env.PRESETS["prisoners-dilemma"]["".join(reply.moves[0])]
        - epsilon * reply.agent.depth
        for reply in modal_env.replies([opponent], CALLS, depth=depth)
    }
    return {"".join(key) for key, points in paid.items() if points == max(paid.values())}


def random_mixes(count: int = 6) -> list[list[F]]:
    rng = np.random.default_rng(0)
    parts = rng.integers(0, 6, (count, 4)) + np.eye(4, dtype=int)[rng.integers(0, 4, count)]
    return [[F(int(part), int(row.sum())) for part in row] for row in parts]


class TestIntroduction:
    @pytest.mark.parametrize("e", SMALL)
    def test_fair_bots_are_no_equilibrium(self, e: F) -> None:
        """Even a small penalty makes FairBot against FairBot no equilibrium: CooperateBot does not pay it."""
        assert [agent.name for agent in post(e).best_replies("FairBot")] == ["CooperateBot"]

    @pytest.mark.parametrize("e", SMALL)
    def test_defect_bot_is_best_against_cooperate_bot(self, e: F) -> None:
        """The best response to CooperateBot is DefectBot."""
        assert [agent.name for agent in post(e).best_replies("CooperateBot")] == ["DefectBot"]

    def test_defect_bots_are_a_stable_equilibrium(self) -> None:
        """DefectBot against DefectBot is a stable Nash equilibrium."""
        for e in SMALL:
            assert [agent.name for agent in post(e).best_replies("DefectBot")] == ["DefectBot"]
            assert modal_env.jacobian(post(e), {"DefectBot": 1}).kind == "stable"

    def test_it_is_not_the_only_pure_one(self) -> None:
        """DefectBot against DefectBot is the unique pure equilibrium, the author believes. SlipBot is another."""
        assert [best(SlipBot, e) for e in (F(1, 10), F(1, 2), F(51, 100))] == [{"CC2"}, {"CC2", "DD0"}, {"DD0"}]

    @pytest.mark.parametrize("e", SMALL)
    def test_three_agents_mix(self, e: F) -> None:
        """For small penalties there is an equilibrium that mixes CooperateBot, FairBot and PrudentBot."""
        assert modal_env.exploitability(post(e), good(e)) == 0

    @pytest.mark.parametrize("e", SMALL)
    def test_it_is_paid_as_fair_bots_are(self, e: F) -> None:
        """Both get exactly the same utility as FairBot against FairBot."""
        assert post(e).utility(good(e), good(e)) == post(e).utility("FairBot", "FairBot") == 2 - e

    def test_the_basin_of_defection_gets_small(self) -> None:
        """As the penalty gets small, so does the basin of the defect equilibrium: about 3 epsilon^2 of all starts."""
        shares = [modal_env.basins(post(F(1, n)), 20_000, seed=1).share("DefectBot") for n in (5, 10, 20)]
        assert shares[0].low > shares[1].high > shares[1].low > shares[2].high
        assert shares[2].low < 3 / 20**2 < shares[2].high

    def test_nearly_all_starts_cycle(self) -> None:
        """Nearly all initial conditions cycle around the three: no other start is taken over by anybody."""
        found = modal_env.basins(post(F(1, 10)), 5_000, seed=2)
        assert found.elsewhere + found.ends["DefectBot"] == 5_000
        assert found.elsewhere > 4_750


class TestAgents:
    @pytest.mark.parametrize(
        ("agent", "moves"), [(CooperateBot, "CCCC"), (DefectBot, "DDDD"), (FairBot, "CDCC"), (PrudentBot, "DDCC")]
    )
    def test_how_they_play(self, agent: modal_env.Agent, moves: str) -> None:
        """CooperateBot cooperates with all, DefectBot with none, FairBot with all but DefectBot, PrudentBot with itself
        and FairBot."""
        assert moves_of(agent) == moves

    def test_depths(self) -> None:
        """The depth is the maximum of the depth of boxes and of the agents called: 0, 0, 1 and 2."""
        assert [agent.depth for agent in POST] == [0, 0, 1, 2]
        assert modal_env.parse("[]X(PrudentBot)").depth == 2
        assert modal_env.parse("[][][]X(FairBot)").depth == 3

    def test_payoffs(self) -> None:
        """2 for mutual cooperation, 1 for mutual defection, 3 and 0 for exploitation, less epsilon times the depth."""
        e = F(1, 10)
        for i, j in product(range(4), repeat=2):
            moves = moves_of(POST[i])[j] + moves_of(POST[j])[i]
            points = {"CC": 2, "CD": 0, "DC": 3, "DD": 1}[moves]
            assert post(e).utilities[i][j] == points - e * POST[i].depth


class TestPureEquilibria:
    @pytest.mark.parametrize("opponent", [CooperateBot, DefectBot])
    def test_who_does_not_depend_on_you_is_defected_on(self, opponent: modal_env.Agent) -> None:
        """The best response to CooperateBot and DefectBot is DefectBot, with the least possible penalty."""
        move = moves_of(opponent)[0]
        assert {best(opponent, e).pop() for e in SMALL} == {f"D{move}0"}

    def test_fair_bot_cannot_be_exploited(self) -> None:
        """The best response to FairBot is CooperateBot: you cannot exploit FairBot, so you cooperate at no penalty."""
        assert ("D", "C") not in {reply.moves[0] for reply in modal_env.replies([FairBot], CALLS)}
        assert {best(FairBot, e).pop() for e in SMALL} == {"CC0"}

    def test_prudent_bot_cannot_be_exploited(self) -> None:
        """The best response to PrudentBot is FairBot: no exploiting, no mutual cooperation at penalty 0, but at 1."""
        found = {reply.moves[0]: reply.agent.depth for reply in modal_env.replies([PrudentBot], CALLS)}
        assert ("D", "C") not in found
        assert found["C", "C"] == 1

    def test_above_one_defect_bot_is_best_against_prudent_bot(self) -> None:
        """That is for epsilon less than 1; otherwise you defect to avoid the penalty. At 1 both are as good."""
        assert [best(PrudentBot, e) for e in (F(9, 10), F(1), F(11, 10))] == [{"CC1"}, {"CC1", "DD0"}, {"DD0"}]

    @pytest.mark.parametrize("e", [*SMALL, F(1, 4), F(1, 3), F(1, 2), F(1), F(2)])
    def test_with_four_agents_it_is_the_only_pure_equilibrium(self, e: F) -> None:
        """If the only options are these four, the unique pure equilibrium is mutual DefectBot."""
        assert [str(one) for one in modal_env.equilibria(POST, e) if one.is_pure] == ["both DefectBot; paid 1"]

    @pytest.mark.parametrize("agent", [SlipBot, OneBot])
    def test_the_lemma_fails(self, agent: modal_env.Agent) -> None:
        """If an agent of depth n cooperates with another of depth n, it does with one of depth n - 1, he believes. Not
        SlipBot (n = 2) and not OneBot (n = 1), which cooperate with themselves."""
        assert modal_env.play(agent, agent).moves == ("C", "C")
        calls = [call for call in CALLS if call.depth < agent.depth]
        below = modal_env.replies([agent], calls, depth=agent.depth - 1)
        assert {reply.moves[0][1] for reply in below} == {"D"}

    @pytest.mark.parametrize(
        ("agent", "partner"),
        [
            (PrudentBot, "[]false <-> ~([]([]false -> X(PrudentBot)) & (true <-> ~[]false))"),
            (SlipBot, "(true <-> ~[][]false) <-> ~[][][]false"),
        ],
    )
    def test_another_price_may_make_it_true(self, agent: modal_env.Agent, partner: str) -> None:
        """There might be a simple modification of the penalties that makes it true. A price for each X(.) does: here
        are agents with fewer than PrudentBot and SlipBot have, that these cooperate with."""
        game = ProgramGame([agent, modal_env.parse(partner, name="Partner")], F(1, 10), {"call": 1})
        assert game.played.moves[0][1] == "C"
        assert game.affine[1][1][0] < game.affine[1][0][0]


class TestMixedEquilibria:
    @pytest.mark.parametrize("mix", random_mixes(), ids=str)
    def test_utilities(self, mix: list[F]) -> None:
        """What the four are paid against a mix: 1 + 2c, 2(c + f), 2 - d - e and 2 + c - d - 2e."""
        e, (c, d, f, _) = F(1, 7), mix
        assert post(e).replies(mix) == (2 * (c + f), 1 + 2 * c, 2 - d - e, 2 + c - d - 2 * e)

    @pytest.mark.parametrize("mix", random_mixes(), ids=str)
    def test_indifference_between_constants(self, mix: list[F]) -> None:
        """Who is indifferent between CooperateBot and DefectBot faces FairBot exactly 1/2 of the time."""
        paid = post(F(1, 7)).replies(mix)
        assert (paid[C] == paid[D]) == (mix[FAIR] == F(1, 2))

    def test_then_prudent_bot_is_better_below_a_quarter(self) -> None:
        """But then PrudentBot is better: by 1/2 + p - 2e, so for every p only if e is below 1/4."""
        for e, p in product([*SMALL, F(1, 4), F(3, 10)], [F(0), F(1, 10), F(1, 2)]):
            paid = post(e).replies([F(1, 2) - p, 0, F(1, 2), p])
            assert paid[P] - paid[D] == F(1, 2) + p - 2 * e

    def test_nobody_mixes_the_constants_below_a_quarter(self) -> None:
        """No player can randomize between CooperateBot and DefectBot. Between 1/4 and 1/2 two equilibria do."""
        families = modal_env.ranges(POST).families
        mixing = [one for one in families if any(path.shares[C] and path.shares[D] for path in one.rows)]
        assert {str(one.interval) for one in mixing} == {"1/4 <= eps <= 1/3", "1/4 <= eps <= 1/2"}

    @pytest.mark.parametrize("mix", random_mixes(), ids=str)
    def test_without_cooperate_bot_no_prudent_bot(self, mix: list[F]) -> None:
        """If a player does not play CooperateBot, FairBot is strictly better than PrudentBot for the other."""
        paid = post(F(1, 7)).replies(mix)
        assert paid[FAIR] - paid[P] == F(1, 7) - mix[C]

    @pytest.mark.parametrize("e", SMALL)
    def test_the_bad_mix(self, e: F) -> None:
        """If neither plays CooperateBot, they play DefectBot alone, or 1 - e DefectBot and e FairBot."""
        found = [one.row for one in modal_env.equilibria(POST, e) if not one.row[C]]
        assert found == [(0, 1, 0, 0), (0, 1 - e, e, 0)]

    @pytest.mark.parametrize("e", SMALL)
    def test_not_exactly_one_plays_cooperate_bot(self, e: F) -> None:
        """There is no equilibrium in which exactly one player plays CooperateBot."""
        assert not [one for one in modal_env.equilibria(POST, e) if bool(one.row[C]) != bool(one.column[C])]

    def test_without_fair_bot_or_prudent_bot(self) -> None:
        """Without FairBot, DefectBot beats CooperateBot; without PrudentBot, CooperateBot beats FairBot."""
        for c in (F(0), F(1, 3), F(1)):
            paid = post().replies([c, 0, 0, 1 - c])
            assert paid[D] > paid[C]
            paid = post().replies([c, 0, 1 - c, 0])
            assert paid[C] > paid[FAIR]

    @pytest.mark.parametrize("mix", random_mixes(), ids=str)
    def test_the_shares_of_the_good_mix(self, mix: list[F]) -> None:
        """Indifference between CooperateBot and FairBot means p = e/2, between FairBot and PrudentBot c = e."""
        c, d, _, p = mix
        paid = post(F(1, 7)).replies(mix)
        assert paid[C] - paid[FAIR] == F(1, 7) - d - 2 * p
        assert paid[P] - paid[FAIR] == c - F(1, 7)

    @pytest.mark.parametrize(("e", "count"), [*((e, 3) for e in SMALL), (F(3, 10), 5), (F(2, 5), 3), (F(1), 1)])
    def test_three_equilibria_below_a_quarter(self, e: F, count: int) -> None:
        """There are three Nash equilibria, all symmetric. So it is for e < 1/4, and again for 1/3 < e < 1/2."""
        found = modal_env.equilibria(POST, e)
        assert len(found) == count
        assert all(one.is_symmetric and one.is_point for one in found)

    @pytest.mark.parametrize("e", SMALL)
    def test_what_they_are_paid(self, e: F) -> None:
        """The first two are bad and pay 1, the last one pays 2 - e."""
        assert sorted(one.payoffs[0][0] for one in modal_env.equilibria(POST, e)) == [1, 1, 2 - e]


class TestAnyModalAgent:
    def test_it_stays_an_equilibrium(self) -> None:
        """The good outcome is an equilibrium where both may play any modal agent: for e up to 1/3."""
        families = modal_env.ranges(POST).families
        family = next(one for one in families if one.is_point and one.rows[0].shares[P] and not one.rows[0].shares[D])
        deviants = [*(reply.agent for reply in modal_env.replies(POST, CALLS)), *LIBRARY.values()]
        assert [str(part) for part in modal_env.survival_range(family, POST, deviants)] == ["0 <= eps <= 1/3"]

    def test_above_a_third_defect_bot_breaks_it(self) -> None:
        """The argument passes over DefectBot, which is paid 1 + 2e."""
        e = F(2, 5)
        assert post(e).replies(good(e))[D] == 1 + 2 * e > 2 - e

    def test_only_constants_have_depth_0(self) -> None:
        """The only agents of depth 0 are CooperateBot and DefectBot."""
        assert {moves_of(reply.agent) for reply in modal_env.replies(POST, depth=0)} == {"CCCC", "DDDD"}

    def test_prudent_bot_has_the_perfect_behavior(self) -> None:
        """No agent of depth 2 does better than PrudentBot against the three."""
        three = (CooperateBot, FairBot, PrudentBot)
        points = {"CC": 2, "CD": 0, "DC": 3, "DD": 1}
        found = [[points["".join(pair)] for pair in reply.moves] for reply in modal_env.replies(three, CALLS)]
        assert max(found) == [3, 2, 2]
        assert [max(column) for column in zip(*found, strict=True)] == [3, 2, 2]

    @pytest.mark.parametrize(("depth", "is_possible"), [(1, False), (2, True)])
    def test_depth_1_is_not_enough(self, depth: int, is_possible: bool) -> None:
        """No agent of depth 1 provably cooperates with FairBot and defects against CooperateBot."""
        found = {reply.moves for reply in modal_env.replies([CooperateBot, FairBot], CALLS, depth=depth)}
        assert ((("D", "C"), ("C", "C")) in found) == is_possible


class TestEvolution:
    def test_nobody_appears_and_nobody_vanishes(self) -> None:
        """A population that starts nonzero remains nonzero, and one that starts 0 remains 0."""
        path = modal_env.replicator(post(), [F(1, 3), F(1, 3), F(1, 3), 0], 500)
        assert np.isfinite(path.log_shares[:, :3]).all()
        assert not path.shares[:, 3].any()

    @pytest.mark.parametrize("e", SMALL)
    def test_equilibria_are_at_rest(self, e: F) -> None:
        """The three equilibria are equilibria of this system, and so is any point where all agents are the same."""
        corners = [{name: 1} for name in NAMES]
        for mix in [*(one.row for one in modal_env.equilibria(POST, e)), *corners]:
            modal_env.jacobian(post(e), mix)  # raises an error elsewhere

    @pytest.mark.parametrize("e", SMALL)
    def test_the_bad_mix_is_unstable(self, e: F) -> None:
        """The DefectBot, FairBot one is unstable: the more FairBots there are, the better they do."""
        assert modal_env.jacobian(post(e), [0, 1 - e, e, 0]).kind == "unstable"
        better = [post(e).replies([0, 1 - f, f, 0]) for f in (e / 2, 2 * e)]
        assert [paid[FAIR] > paid[D] for paid in better] == [False, True]

    @pytest.mark.parametrize("e", SMALL)
    def test_the_good_mix_is_a_slow_spiral(self, e: F) -> None:
        """A small perturbation causes a very slow spiraling outward: its rate is e^2/4, a turn takes about 2 pi / e."""
        found = modal_env.jacobian(post(e), good(e))
        assert found.kind == "unstable"
        assert (found.trace, found.determinant) == (e**2 / 2, e**2 * (1 - 3 * e / 2))
        assert found.trace**2 < 4 * found.determinant

    def test_the_cycle(self) -> None:
        """FairBots, then CooperateBots, which PrudentBots exploit, which turn into FairBots, and the cycle repeats."""
        path = modal_env.replicator(post(), [F(1, 4)] * 4, 3000)
        assert (path.limit.kind, path.limit.agents) == ("cycle", ("CooperateBot", "PrudentBot", "FairBot"))
        assert path.log_shares[-1, D] / np.log(10) < -900  # DefectBots are pushed down

    def test_most_of_the_time_almost_all_are_fair_bots(self) -> None:
        """The system spends most of its time with almost all FairBots."""
        path = modal_env.replicator(post(), [F(1, 4)] * 4, 3000, times=np.linspace(0, 3000, 30_001).tolist())
        assert (path.shares[:, FAIR] > 0.95).mean() > 0.7
        lengths = path.lengths("FairBot")
        assert (lengths[1:] > 1.4 * lengths[:-1]).all()

    def test_growth_never_adds_defect_bots(self) -> None:
        """In the second model you switch between FairBots, PrudentBots and CooperateBots, never adding a DefectBot."""
        for start in ([5, 5, 5, 5], [20, 0, 5, 5], [1, 50, 50, 1], [0, 0, 10, 0]):
            grown = modal_env.growth(post(), start, 10**6)
            assert set(grown.added) == {"CooperateBot", "FairBot", "PrudentBot"}

    def test_unless_it_starts_with_very_few(self) -> None:
        """Unless you start with very few FairBots or PrudentBots: then only DefectBots are added."""
        for start in ([5, 5, 0, 0], [0, 50, 1, 1], [10, 80, 2, 2]):
            assert modal_env.growth(post(), start, 10**6).added == ("DefectBot",)

    def test_one_expects_little_defection(self) -> None:
        """Most ways of doing it will result in very little defection, he expects. Large finite populations of the four
        with rare mutations mostly defect, with SlipBot among them they cooperate."""
        games = [ProgramGame(agents, F(1, 10)) for agents in (POST, [*POST, SlipBot])]
        four, five = (modal_env.rare_mutations(game, 200) for game in games)
        assert four.cooperation < 0.3
        assert five.cooperation > 0.99

    def test_who_pays_for_punishing(self) -> None:
        """CooperateBots refuse to pay to punish; PrudentBots get paid exactly enough by exploiting CooperateBots."""
        e = F(1, 10)
        assert post(e).utility("CooperateBot", "FairBot") == post(e).utility("FairBot", "FairBot") + e
        assert post(e).replies(good(e)) == (2 - e, 1 + 2 * e, 2 - e, 2 - e)


class TestComments:
    def test_a_random_bot(self) -> None:
        """RandomBot is reasoned about as DefectBot: CooperateBot cooperates with it, FairBot and PrudentBot do not; it
        performs worse than DefectBot."""
        assert [modal_env.play(agent, RandomBot).moves[0] for agent in POST] == list("CDDD")
        paid = ProgramGame([*POST, RandomBot], 0).utilities
        assert all(a <= b for a, b in zip(paid[4], paid[D], strict=True))
        assert paid[4] != paid[D]

    def test_prudent_bot_with_one_layer(self) -> None:
        """At depth 1, as []X(me) & []~X(DB), PrudentBot does not cooperate with itself."""
        shallow = modal_env.parse("[]X(me) & []~X(DefectBot)", name="ShallowBot")
        assert shallow.depth == 1
        assert modal_env.play(shallow, shallow).moves == ("D", "D")
        assert modal_env.play(PrudentBot, PrudentBot).moves == ("C", "C")

    def test_depth_and_worlds(self) -> None:
        """One expects to relate the depth to the world at which things stabilize. It is no bound: SlipBot has 2."""
        assert [modal_env.play(agent, agent).settles for agent in POST] == [0, 0, 0, 1]
        assert [modal_env.play(modal_env.library.WaitFairBot(k), FairBot).settles for k in (1, 2, 5)] == [2, 3, 6]
        assert modal_env.play(SlipBot, SlipBot).settles == 3

    @pytest.mark.parametrize("e", [F(26, 100), F(3, 10), F(33, 100)])
    def test_a_mix_of_all_four(self, e: F) -> None:
        """c = e, d = 1 - 3e, f = 1/2, p = 2e - 1/2 is an equilibrium for 1/4 < e < 1/3, paid 1 + 2e, and unstable."""
        mix = [e, 1 - 3 * e, F(1, 2), 2 * e - F(1, 2)]
        assert modal_env.exploitability(post(e), mix) == 0
        assert post(e).utility(mix, mix) == 1 + 2 * e < 2 - e
        assert modal_env.jacobian(post(e), mix).kind == "unstable"

    def test_at_a_third_it_is_the_good_mix(self) -> None:
        """When e = 1/3 this new equilibrium is the same as the original one, and beyond it there is neither."""
        e = F(1, 3)
        assert good(e) == [e, 1 - 3 * e, F(1, 2), 2 * e - F(1, 2)]
        assert max(modal_env.equilibria(POST, F(34, 100)), key=lambda one: one.payoffs[0]).row[P] == 0

    @pytest.mark.parametrize(("more", "limit"), [(F(-1, 100), "cycle"), (F(1, 100), "taken over")])
    def test_its_dynamics(self, more: F, limit: str) -> None:
        """An evolution would oscillate like that of the original one, he expects: with fewer CooperateBots and more
        PrudentBots it does, but the other way round DefectBots take over."""
        e = F(3, 10)
        path = modal_env.replicator(post(e), [e + more, 1 - 3 * e, F(1, 2), 2 * e - F(1, 2) - more], 10_000)
        assert path.limit.kind == limit
