"""Dynamics of all direct agents: beside all two million in one array, beside the 16 of depth 1, beside single plays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from modal_env import Game, GameError, direct_basins, direct_course, direct_growth, growth, play, replicator
from modal_env.dynamics import noisy
from modal_env.dynamics.courses import Course
from modal_env.games.payoffs import PAYOFFS, as_table
from modal_env.search.direct.basins import ConstantAgents, random_weights
from modal_env.search.direct.dynamics import equal_shares, names, payments, slopes, split, target
from modal_env.search.direct.growth import name_of
from modal_env.search.direct.mixes import (
    COUNT,
    ENTRIES,
    SHALLOW,
    best_payoffs,
    best_replies,
    blocks,
    mixes,
    paid_by_outcome,
)
from modal_env.search.direct_agents import agent_with, code_of, codes_up_to, moves_against_itself, shallow_agents

Floats = NDArray[np.float64]


@lru_cache(maxsize=1)
def entries_of_all() -> NDArray[np.int64]:
    """[4, agents]"""
    return np.ascontiguousarray(blocks().entries(np.arange(COUNT)).T)


def one_by_one(values: Floats, own: Floats) -> Floats:
    """[agents] the sum of the values of an agent's four entries, or its own value."""
    found = sum(values[entries] for entries in entries_of_all())
    found[blocks().shallow] = own
    return np.asarray(found)


def marginals(shares: Floats) -> Floats:
    """[entries]"""
    return np.asarray(sum(np.bincount(entries, shares, minlength=ENTRIES) for entries in entries_of_all()))


def drawn(rng: np.random.Generator, spread: float = 1.0) -> tuple[Floats, Floats]:
    """Random values of entries and of agents of depth up to 1, which get more than their entries say."""
    values = rng.normal(size=(ENTRIES, 1)) * spread
    return values, blocks().has @ values + rng.exponential(size=(SHALLOW, 1))


def test_plays_are_read_off_entries() -> None:
    rng = np.random.default_rng(0)
    for first, second in [*rng.integers(COUNT, size=(40, 2)), *rng.choice(blocks().shallow, size=(10, 2))]:
        places = np.ix_(range(4), *blocks().entries(np.array([first, second])))
        outcome = blocks().outcomes[places].sum(axis=(1, 2))
        moves = "".join(play(agent_with(int(first)), agent_with(int(second))).moves)
        assert dict(zip(("DD", "DC", "CD", "CC"), outcome, strict=True)) == {
            other: float(other == moves) for other in ("DD", "DC", "CD", "CC")
        }


@pytest.mark.slow
def test_a_mix_is_the_two_million_shares() -> None:
    values, own = drawn(np.random.default_rng(0))
    mix = mixes(values, own)
    weights = np.exp(one_by_one(values[:, 0], own[:, 0]))
    shares = weights / weights.sum()
    assert mix.log_sums == pytest.approx(np.log(weights.sum()))
    assert mix.entries[:, 0] == pytest.approx(marginals(shares), abs=1e-14)
    assert mix.shallow[:, 0] == pytest.approx(shares[blocks().shallow], abs=1e-14)
    deep = np.ones(COUNT, np.bool_)
    deep[blocks().shallow] = False
    both = moves_against_itself()
    assert mix.groups[-2:, 0] == pytest.approx([shares[deep & both].sum(), shares[deep & ~both].sum()])


@pytest.mark.slow
def test_the_payoffs_of_all_against_all_have_rank_180() -> None:
    """Agents' payoffs are E K E' with [agents, entries] E: of the rank of R K R', where R'R = E'E."""
    pairs = np.zeros((ENTRIES, ENTRIES))
    for one in entries_of_all():
        for other in entries_of_all():
            pairs += np.bincount(one * ENTRIES + other, minlength=ENTRIES**2).reshape(pairs.shape)
    values, vectors = np.linalg.eigh(pairs)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    sizes = np.linalg.svd(root.T @ payments(0).matrix @ root, compute_uv=False)
    assert (sizes > 1e-9 * sizes[0]).sum() == 180


@pytest.mark.slow
@pytest.mark.parametrize("rounded", [True, False])
def test_best_replies_are_those_of_all_two_million(rounded: bool) -> None:
    values, own = drawn(np.random.default_rng(1))
    if rounded:  # many are equally good
        values = values.round()
        own = blocks().has @ values + (np.arange(SHALLOW) % 5 == 0)[:, None]
    paid = one_by_one(values[:, 0], own[:, 0])
    assert best_payoffs(values, own) == pytest.approx(paid.max())
    best = paid >= paid.max() - 1e-12
    found = best_replies(values, own, 1e-12)
    assert found.entries[:, 0] == pytest.approx(marginals(best / best.sum()), abs=1e-14)
    assert found.shallow[:, 0] == pytest.approx((best / best.sum())[blocks().shallow], abs=1e-14)


def test_best_replies_of_depth_1() -> None:
    values, own = drawn(np.random.default_rng(2))
    own[3] = best_payoffs(values, own) + 1
    found = best_replies(values, own, 1e-12)
    assert found.shallow[:, 0] == pytest.approx(np.eye(SHALLOW)[3])
    assert found.entries[:, 0] == pytest.approx(blocks().has[3])


class TestBesideDepthOne:
    """If the agents of depth 2 have next to no weight, what is left are 16 agents."""

    names = names()[:SHALLOW]
    few = 600.0

    def game(self, epsilon: str, payoffs: str = "prisoners-dilemma") -> Game:
        agents = {agent.name: agent for agent in shallow_agents()[:SHALLOW]}
        return Game([agents[name] for name in self.names], epsilon, payoffs=payoffs)

    def logs(self) -> Floats:
        rng = np.random.default_rng(3)
        return np.concatenate([np.zeros(ENTRIES), self.few + rng.normal(size=SHALLOW)])[:, None]

    @pytest.mark.parametrize("payoffs", ["prisoners-dilemma", "rg-66", "battle-of-the-sexes"])
    def test_payoffs(self, payoffs: str) -> None:
        listed = noisy.payoffs_of(self.game("1/7", payoffs)).floats
        mix = mixes(*split(self.logs()))
        _, own = payments("1/7", payoffs).terms(mix)
        assert own[:, 0] - 2 / 7 == pytest.approx(listed @ mix.shallow[:, 0], abs=1e-12)

    def test_replicator(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begun = self.logs()
        monkeypatch.setattr("modal_env.search.direct.dynamics.equal_shares", lambda start: begun)
        found = direct_course("1/10", time=20)
        start = mixes(*split(begun)).shallow[:, 0]
        listed = replicator(self.game("1/10"), start.tolist(), 20, times=found.times.tolist())
        assert found.shares[:, :SHALLOW] == pytest.approx(listed.shares, abs=1e-9)

    @pytest.mark.parametrize(("rule", "noise"), [("logit", 0.07), ("best-response", 1e-9)])
    def test_targets(self, rule: str, noise: float) -> None:
        mix = mixes(*split(self.logs()))
        paid = payments("1/10")
        favored = type(paid)(paid.matrix, paid.saved + 60)  # nobody of depth 2 is a good reply
        found = target(favored, mix, rule, noise).shallow
        listed = noisy.target(noisy.payoffs_of(self.game("1/10")).floats, mix.shallow.T, rule, noise)
        assert np.abs(found.T - listed).max() < 1e-8


def test_no_agent_is_paid_more_than_the_mean_by_more_than_the_gain() -> None:
    rng, paid = np.random.default_rng(4), payments("1/10")
    logs = random_weights("depths", 3, rng)
    mix = mixes(*split(logs))
    values, own = paid.terms(mix)
    gains = paid.gains(mix)
    rates = slopes(paid, logs)
    for code in [*rng.integers(COUNT, size=300), *blocks().shallow]:
        place = np.flatnonzero(blocks().shallow == code)
        here = own[place[0]] if len(place) else values[blocks().entries(np.array(code))].sum(axis=0)
        assert (here - paid.mean(mix, values) <= gains + 1e-12).all()
    assert best_payoffs(*split(rates)) == pytest.approx(gains)


@pytest.mark.parametrize("start", ["agents", "depths"])
def test_starts(start: str) -> None:
    deep = 1 - mixes(*split(equal_shares(start))).shallow.sum()
    assert deep == pytest.approx({"agents": 1 - 16 / COUNT, "depths": 1 / 3}[start])
    drawn_shares = mixes(*split(random_weights(start, 4000, np.random.default_rng(0)))).shallow
    expected = mixes(*split(equal_shares(start))).shallow
    assert drawn_shares.mean(axis=1) == pytest.approx(expected[:, 0], rel=0.15)


def test_defectors_take_over_at_a_high_price() -> None:
    found = direct_course("3/5", time=100)
    assert found.shares[-1, found.names.index("DefectBot")] > 1 - 1e-9
    assert found.gains[-1] < 1e-9
    ends = direct_basins("3/5", starts=5, time=100)
    assert (ends.ends["DefectBot"], ends.moving, ends.cooperation.max()) == (5, 0, 0)


def test_who_provably_takes_over_is_paid_most() -> None:
    """Random starts at the border of the region in which DefectBot provably wins."""
    constants, paid = ConstantAgents.of("1/10", PAYOFFS), payments("1/10")
    logs = random_weights("agents", 200, np.random.default_rng(5))
    defector = ENTRIES + names().index("DefectBot")
    share = 1 - 0.1 / 3 + 1e-6
    mix = mixes(*split(logs))
    logs[defector] = mix.log_sums + np.log(share / (1 - share))
    won = constants.winners(mixes(*split(logs)))
    assert (won == names().index("DefectBot")).all()
    rates = slopes(paid, logs)
    lead = best_payoffs(rates[:ENTRIES], np.delete(rates[ENTRIES:], defector - ENTRIES, axis=0))
    assert (rates[defector] > lead).all()


def test_who_might_not_take_over() -> None:
    """With 15% FairBots these are paid more than DefectBots; and the bound allows for agents that exploit others."""
    constants, paid = ConstantAgents.of("1/10", PAYOFFS), payments("1/10")
    for share in (0.85, 0.96):
        own = np.full(SHALLOW, -40.0)
        own[names().index("DefectBot")], own[names().index("FairBot")] = np.log(share), np.log(1 - share)
        mix = mixes(np.full((ENTRIES, 1), -40.0), own[:, None])
        assert constants.winners(mix).tolist() == [-1]
        assert (paid.gains(mix)[0] > 0.04) == (share < 0.9)


def test_a_course_as_rows_and_as_a_page() -> None:
    found = direct_course("1/10", time=20)
    rows = found.rows()
    assert (len(rows), rows[-1]["time"], rows[0]["DefectBot"]) == (len(found.times), 20, pytest.approx(1 / COUNT))
    assert rows[-1]["cooperation"] == found.cooperation[-1]
    assert [found.names[group] for _, group in found.turns] == ["depth 2, DD", "depth 2, CC"]
    assert "depth 2, CC" in found._repr_html_()


def test_rounding_makes_no_turn() -> None:
    """Of equally large groups the one that stays largest for longer counts."""
    shares = np.array([[2.0, 2, 2], [2, 3, 2], [3, 3, 2], [3, 2, 2], [2, 2, 3], [2, 3, 3]])
    for rounding in np.random.default_rng(7).normal(size=(20, *shares.shape)) * 1e-15:
        found = Course("", ("a", "b", "c"), np.arange(6.0), shares * (1 + rounding), np.ones(6), np.ones(6), "")
        assert found.turns == ((0, 1), (3, 0), (4, 2))
    assert replace(found, shares=np.ones((6, 3))).turns == ((0, 0),)
    grown = direct_course("1/4", start="depths", time=20)
    assert [(place, grown.names[group]) for place, group in grown.turns] == [(0, "DefectBot")]


def test_a_small_noise_is_computed_without_overflow() -> None:
    for rule in noisy.RULES:
        found = direct_course("1/10", rule, noise=noisy.LEAST_NOISE, time=1)
        assert found.shares.sum(axis=1) == pytest.approx(1)
        assert noisy.noisy_basins(Game(["FairBot", "DefectBot"], "1/10"), rule, noisy.LEAST_NOISE, starts=3, time=1)


def test_wrong_arguments() -> None:
    for wrong in ({"rule": "imitation"}, {"start": "types"}, {"time": 0}, {"payoffs": "go"}):
        with pytest.raises(GameError):
            direct_course("1/10", **wrong)
        with pytest.raises(GameError):
            direct_basins("1/10", starts=2, **wrong)
    with pytest.raises(GameError, match="noise=2"):
        direct_course("1/10", "best-response", noise=2)
    for noise in (0, 5e-324, float("nan"), "little"):
        with pytest.raises(GameError, match="give a number from 1e-09"):
            direct_course("1/10", "logit", noise=noise)
        with pytest.raises(GameError, match="give a number from 1e-09"):
            noisy.noisy_basins(Game(["FairBot", "DefectBot"], "1/10"), "best-response", noise)
    with pytest.raises(GameError, match="starts=0"):
        direct_basins("1/10", starts=0)
    with pytest.raises(GameError, match="one member"):
        direct_growth("1/10", 5, counts={"FairBot": 0})
    with pytest.raises(GameError, match="not a direct agent"):
        direct_growth("1/10", 5, counts={"PrudentBot": 1})
    for counts in (["FairBot"], "FairBot", 5):
        with pytest.raises(GameError, match="how many there are of each agent"):
            direct_growth("1/10", 5, counts=counts)  # type: ignore[arg-type]


class TestGrowth:
    def test_what_is_added_is_a_best_reply(self) -> None:
        """Beside the agents of depth up to 1, and random ones of depth 2, each play by itself."""
        found = direct_growth("1/10", 10**6, counts={"FairBot": 50, "CooperateBot": 10, "DefectBot": 3})
        rng = np.random.default_rng(6)
        agents = {
            name_of(code): agent_with(code) for code in [*blocks().shallow.tolist(), *rng.integers(COUNT, size=12)]
        }
        assert len(found.runs) == 2
        for number, run in enumerate(found.runs):
            members = dict(zip(found.names, found.populations[number], strict=True))
            for extra in (0, run.steps - 1):
                now = {**members, run.agent: members[run.agent] + extra}
                paid = {name: self.paid(agent, agents, now) for name, agent in agents.items()}
                assert paid[run.agent] == max(paid.values())

    @pytest.mark.parametrize("epsilon", ["1/10", "1/7"])
    def test_the_runs_are_those_of_the_agents_that_are_added(self, epsilon: str) -> None:
        counts = {"DefectBot": 3, "CooperateBot": 10, "FairBot": 50}  # of equally good ones the first is added
        listed = growth(Game([*counts], epsilon), counts, 10**6)
        assert direct_growth(epsilon, 10**6, counts=counts).runs == listed.runs

    @staticmethod
    def paid(agent, agents, members) -> Fraction:  # type: ignore[no-untyped-def]
        sums = sum(PAYOFFS["".join(play(agent, agents[other]).moves)] * count for other, count in members.items())
        return sums - Fraction(agent.depth, 10) * sum(members.values())

    @pytest.mark.slow
    def test_from_one_of_each_step_by_step(self) -> None:
        """Scores of all two million agents at the beginning and end of each run."""
        found = direct_growth("1/100", 10**12)
        paid = payments("1/100")
        matrix, members = paid.matrix, marginals(np.ones(COUNT))
        size = COUNT
        known = {name_of(code): code for code in blocks().shallow.tolist()}
        for run in found.runs:
            code = known[run.agent] if run.agent in known else int(run.agent.removeprefix("code "))
            for ahead in (0, run.steps - 1, run.steps):
                one_more = marginals_of(code) * ahead
                scores = one_by_one(matrix @ (members + one_more), np.zeros(SHALLOW))
                own = blocks().has @ (matrix @ (members + one_more)) + paid.saved * (size + ahead)
                scores[blocks().shallow] = own
                slack = 1e-12 * (size + ahead)
                others = np.delete(scores, code).max()
                assert (scores[code] >= others - slack) or ahead == run.steps
                assert ahead < run.steps or run.is_endless or others >= scores[code] - slack
            members, size = members + marginals_of(code) * run.steps, size + run.steps

    def test_the_price_decides(self) -> None:
        assert direct_growth("1/4", 10**9).runs[0].is_endless
        assert direct_growth("1/4", 10**9).added == ("DefectBot",)
        assert direct_growth("1/100", 10**30).added[-3:] == ("FairBot", "CooperateBot", "DefectBot")


def marginals_of(code: int) -> Floats:
    found = np.zeros(ENTRIES)
    found[blocks().entries(np.array(code))] = 1
    return found


@pytest.mark.slow
def test_the_course_is_that_of_two_million_shares() -> None:
    """Runge and Kutta's method with all shares in one array."""
    shares, step = np.full(COUNT, 1 / COUNT), 0.125
    paid = payments("1/10")
    for _ in range(40):
        rates: list[Floats] = []
        for part in (0, 0.5, 0.5, 1):
            now = shares * (1 + part * step * rates[-1]) if rates else shares
            values = paid.matrix @ marginals(now)
            each = one_by_one(values, blocks().has @ values + paid.saved)
            rates.append((each - now @ each) * now / shares)
        shares = shares * (1 + step / 6 * (rates[0] + 2 * rates[1] + 2 * rates[2] + rates[3]))
    found = direct_course("1/10", time=5)
    assert found.shares[-1, :SHALLOW] == pytest.approx(shares[blocks().shallow], rel=1e-5)
    outcome = paid_by_outcome(as_table({"CC": 1, "CD": 0, "DC": 0, "DD": 0}))
    both = marginals(shares) @ np.tensordot(outcome, blocks().outcomes, 1) @ marginals(shares)
    assert found.cooperation[-1] == pytest.approx(both, abs=1e-6)


def test_names() -> None:
    assert code_of("FairBot") in blocks().shallow
    assert names()[list(blocks().shallow).index(code_of("FairBot"))] == "FairBot"
    assert sorted(blocks().shallow) == sorted(codes_up_to(1))
