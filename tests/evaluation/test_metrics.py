"""The measures, on records made by hand, on the authors' published figures, and as their program counts."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.specs import read_profile
from evaluation import COALITIONS, Setting
from evaluation.measures.gains import coalition_gain
from evaluation.measures.metrics import (
    StolenCenter,
    YearlyCurves,
    conflicts,
    measure,
    nash_welfare,
    proficiency,
    root_nash_welfare,
    stolen_centers,
    welfare_per_year,
)
from evaluation.play.playing import play_game
from tools.equivalence.lively import lively
from welfare_env import Game, Rules, load_board
from welfare_env.engine.reference import ReferenceEngine
from welfare_env.errors import RecordError

POWERS = ("FRANCE", "GERMANY", "ITALY")
WELFARE = st.floats(0.01, 100)


def phase(name: str, **parts: dict[str, Any]) -> dict[str, Any]:
    """A phase of three powers; what is not given is empty, and welfare is 0."""
    state: dict[str, Any] = {"name": name, "retreats": {power: {} for power in POWERS}}
    for key in ("units", "centers"):
        state[key] = {power: parts.get(key, {}).get(power, []) for power in POWERS}
    state["welfare"] = {power: parts.get("welfare", {}).get(power, 0) for power in POWERS}
    empty: dict[str, Any] = {"orders": {}, "results": {}, "void": {}}
    return {"name": name, "state": state, "messages": []} | {key: parts.get(key, empty[key]) for key in empty}


def game(*phases: dict[str, Any], years: int = 1, centers: int = 10, **more: Any) -> dict[str, Any]:
    """A record of these phases, the last one being the position at the end."""
    facts = {
        "format": 1,
        "rules": {"variant": "welfare", "years": 10},
        "num_centers": centers,
        "years_played": years,
        "scores": {power: float(points) for power, points in phases[-1]["state"]["welfare"].items()},
    }
    record = {"id": "by hand", "map": "standard", "rules": [], "phases": list(phases), "welfare_env": facts | more}
    return json.loads(json.dumps(record))


def conflicts_of(orders: dict[str, list[str]], results: dict[str, list[str]] | None = None) -> list[str]:
    """The contested provinces of one phase with a few units, ordered as given."""
    units = {
        "FRANCE": ["A PAR", "A MAR", "F BRE", "F SPA/SC"],
        "GERMANY": ["A MUN", "F HOL"],
        "ITALY": ["A VEN", "F LYO"],
    }
    played = phase("S1901M", units=units, orders=orders, results=results or {})
    return [province for _, province in conflicts(game(played, phase("COMPLETED"))).events]


class TestWelfare:
    def test_a_standard_game_has_none(self) -> None:
        record = game(phase("COMPLETED"), rules={"variant": "standard"}, scores={"FRANCE": 1, "GERMANY": 0, "ITALY": 0})
        del record["phases"][0]["state"]["welfare"]
        measures = measure(record)
        assert all(math.isnan(value) for value in measures.welfare_per_year.values())
        assert math.isnan(measures.root_nash_welfare)
        assert math.isnan(measures.nash_welfare)
        assert measures.scores == {"FRANCE": 1.0, "GERMANY": 0.0, "ITALY": 0.0}

    def test_one_power_without_points_makes_it_zero(self) -> None:
        assert root_nash_welfare([0, 8, 8]) == 0
        assert nash_welfare([0, 8, 8]) == 0
        assert root_nash_welfare([0, 8, 8], smoothed=True) == pytest.approx((1e-6 * 8.000001**2) ** (1 / 3))
        assert nash_welfare([-1, -2, 3]) == root_nash_welfare([-1, -2, 3], smoothed=True) == 0

    def test_without_powers_or_years_rates_are_undefined(self) -> None:
        assert math.isnan(nash_welfare([]))
        assert math.isnan(root_nash_welfare([]))
        nothing = game(phase("S1901M"), years=0)
        assert all(math.isnan(value) for value in welfare_per_year(nothing).values())
        assert (stolen_centers(nothing).count, math.isnan(stolen_centers(nothing).per_year)) == (0, True)
        assert math.isnan(conflicts(game(phase("W1901A"), phase("COMPLETED"))).per_movement_phase)

    @given(st.lists(WELFARE, min_size=1, max_size=8))
    def test_lies_between_the_least_and_the_arithmetic_mean(self, values: list[float]) -> None:
        root = root_nash_welfare(values)
        assert root == root_nash_welfare(sorted(values))
        assert min(values) * (1 - 1e-12) <= root <= sum(values) / len(values) * (1 + 1e-12)
        assert root <= root_nash_welfare(values, smoothed=True) * (1 + 1e-12)
        assert nash_welfare(values) == pytest.approx(root ** len(values))


class TestStolenCenters:
    def test_only_from_one_power_to_another(self) -> None:
        record = game(
            phase("S1901M", centers={"FRANCE": ["PAR", "MAR"], "GERMANY": ["MUN"]}),
            phase("F1901M", centers={"FRANCE": ["PAR", "MAR"], "GERMANY": ["MUN"]}),
            phase("W1901A", centers={"FRANCE": ["PAR"], "GERMANY": ["MUN", "BEL"], "ITALY": ["MAR"]}),
            phase("F1902M", centers={"FRANCE": ["PAR"], "GERMANY": ["MUN", "BEL"], "ITALY": ["MAR"]}),
            phase("COMPLETED", centers={"FRANCE": ["MAR", "BEL"], "GERMANY": ["MUN"], "ITALY": ["PAR"]}),
            years=2,
        )
        stolen = stolen_centers(record)
        assert stolen.events == (
            StolenCenter(1901, "MAR", victim="FRANCE", thief="ITALY"),
            StolenCenter(1902, "BEL", victim="GERMANY", thief="FRANCE"),
            StolenCenter(1902, "MAR", victim="ITALY", thief="FRANCE"),
            StolenCenter(1902, "PAR", victim="FRANCE", thief="ITALY"),
        )
        assert stolen.count == 4
        assert stolen.per_year == 2.0


class TestConflicts:
    @pytest.mark.parametrize(
        ("france", "germany", "italy", "contested"),
        [
            (["A PAR - BUR", "A MAR - BUR"], ["A MUN - BUR"], [], ["BUR"]),
            (["A MAR H"], [], ["F LYO - MAR"], ["MAR"]),
            (["A MAR S A PAR - BUR"], [], ["F LYO - MAR"], ["MAR"]),
            (["A MAR - SPA VIA"], [], ["F LYO C A MAR - SPA", "A VEN - LYO"], ["LYO", "SPA"]),
            (["F SPA/SC H"], [], ["F LYO - SPA/SC"], ["SPA"]),
            (["F SPA/SC - LYO"], [], [], ["LYO"]),
            (["A MAR - BUR"], [], ["F LYO - MAR"], []),
            (["A MAR - LYO"], [], ["F LYO - MAR"], []),
            (["A PAR - BUR"], ["A MUN - BUR", "F HOL - BRE"], [], ["BRE", "BUR"]),
        ],
    )
    def test_each_kind(self, france: list[str], germany: list[str], italy: list[str], contested: list[str]) -> None:
        assert conflicts_of({"FRANCE": france, "GERMANY": germany, "ITALY": italy}) == contested

    def test_a_void_order_is_a_hold(self) -> None:
        moves = {"FRANCE": ["A PAR - BUR"], "GERMANY": ["A MUN - BUR"]}
        assert conflicts_of(moves, {"A PAR": ["void"], "A MUN": []}) == []
        assert conflicts_of(moves | {"ITALY": ["F LYO - PAR"]}, {"A PAR": ["void"]}) == ["PAR"]
        assert conflicts_of(moves, {"A PAR": ["bounce"], "A MUN": ["bounce"]}) == ["BUR"]

    def test_only_movement_phases_that_were_played_count(self) -> None:
        units = {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["*A BUR"]}
        clash = {"FRANCE": ["A PAR - BUR", "A MAR - BUR"]}
        found = conflicts(
            game(
                phase("S1901M", units={"FRANCE": ["A PAR", "A MAR"]}, orders=clash),
                phase("S1901R", units=units, orders={"GERMANY": ["A BUR R PAR"]}),
                phase("F1901M", units={"FRANCE": ["A PAR", "A MAR"]}),
                phase("W1901A", units={"FRANCE": ["A PAR", "A MAR"]}),
                phase("S1902M", units={"FRANCE": ["A PAR", "A MAR"]}, orders=clash),
            )
        )
        assert found.events == (("S1901M", "BUR"),)
        assert found.per_movement_phase == 0.5


class TestProficiency:
    RECORD = game(
        phase(
            "S1901M",
            orders={"FRANCE": ["A PAR - BUR", "A MAR H"]},
            void={"FRANCE": [{"order": "A BER - XYZ", "reason": "no such place"}]},
        ),
        phase("W1901A", orders={"FRANCE": ["A PAR D"]}),
        phase("COMPLETED", centers={"FRANCE": ["PAR", "MAR"], "GERMANY": ["MUN"]}),
        replies={"FRANCE": {"asked": 6, "parsed": 3}, "ITALY": {"asked": 4, "parsed": 4}},
    )

    def test_is_the_mean_of_three_rates(self) -> None:
        found = proficiency(self.RECORD)
        assert (found.parse_rate, found.legal_rate, found.owned_share) == (0.7, 0.75, 0.3)
        assert found.score == pytest.approx((0.7 + 0.75 + 0.3) / 3)

    def test_without_replies_or_orders(self) -> None:
        found = proficiency(game(phase("S1901M"), phase("COMPLETED")))
        assert (found.parse_rate, found.legal_rate) == (1, 0)

    def test_failed_calls_of_language_models_are_no_replies_to_the_papers_program(self) -> None:
        """The second call of the phase failed: nothing was parsed, and the orders of the first one count."""
        refused, failed = {"losses": [["order syntax", "go to Paris"]]}, {"losses": [], "fault": "server"}
        turns = [{"phase": "S1901M", **turn} for turn in (refused, failed)]
        played = phase("S1901M", orders={"FRANCE": ["A PAR H"]})
        record = game(played, phase("COMPLETED"), language_models={"FRANCE": [{"turns": turns}]})
        found = proficiency(record, paper_code=True)
        assert (found.parse_rate, found.legal_rate) == (0.5, 0.5)

    def test_orders_that_only_wait_do_not_count(self) -> None:
        waiting = phase("S1901M", orders={"FRANCE": ["A PAR H"]}, void={"FRANCE": [{"order": "?", "reason": "?"}]})
        assert proficiency(game(waiting)).legal_rate == 0


class TestYearlyCurves:
    def test_after_each_winter(self) -> None:
        record = game(
            phase("S1901M", units={"FRANCE": ["A PAR"] * 9}),
            phase("F1901M", units={"FRANCE": ["A PAR"] * 9}),
            phase("W1901A", units={"FRANCE": ["A PAR"] * 9}, centers={"FRANCE": ["PAR"]}),
            phase("S1902M", units={"FRANCE": ["A PAR"] * 3}, centers={"FRANCE": ["PAR"]}, welfare={"ITALY": 6}),
            phase("W1902A", units={"FRANCE": ["A PAR"] * 3}, centers={"FRANCE": ["PAR"]}, welfare={"ITALY": 6}),
            phase("COMPLETED", units={}, centers={"FRANCE": ["PAR", "MAR", "BRE"]}, welfare={"ITALY": 12}),
            years=2,
        )
        assert measure(record).yearly_curves == YearlyCurves((1901, 1902), (1.0, 0.0), (1 / 3, 1.0), (2.0, 4.0))

    def test_a_year_not_played_to_its_end_is_left_out(self) -> None:
        record = game(phase("S1901M"), phase("W1901A"), phase("S1902M"), phase("F1902M"))
        assert measure(record).yearly_curves.years == (1901,)

    def test_a_standard_year_may_lack_a_winter(self) -> None:
        record = game(
            phase("F1901M"),
            phase("S1902M", units={"ITALY": ["A ROM"] * 3}),
            phase("F1902M"),
            phase("COMPLETED", units={"ITALY": ["A ROM"] * 6}),
            rules={"variant": "standard"},
        )
        curves = measure(record).yearly_curves
        assert (curves.years, curves.units) == ((1901, 1902), (1.0, 2.0))
        assert all(math.isnan(value) for value in curves.welfare)


class TestMeasure:
    RECORD = game(
        phase("S1901M", units={"FRANCE": ["A PAR"], "GERMANY": ["A MUN"]}, orders={"FRANCE": ["A PAR - MUN"]}),
        phase("COMPLETED", welfare={"FRANCE": 8, "GERMANY": 2, "ITALY": 4}, centers={"FRANCE": ["PAR"]}),
        years=2,
    )

    def test_holds_every_measure(self) -> None:
        before = copy.deepcopy(self.RECORD)
        found = measure(self.RECORD)
        assert before == self.RECORD
        assert (found.years_played, found.scores) == (2, {"FRANCE": 8.0, "GERMANY": 2.0, "ITALY": 4.0})
        assert (found.nash_welfare, found.root_nash_welfare) == (4 * 1 * 2, pytest.approx(2))
        assert found.root_nash_welfare_smoothed == pytest.approx(2.0000012, abs=1e-7)
        assert (found.conflicts, found.proficiency) == (conflicts(self.RECORD), proficiency(self.RECORD))

    def test_parts_the_powers(self) -> None:
        found = measure(self.RECORD, deviators=["FRANCE"])
        assert found.deviators_root_nash_welfare == pytest.approx(4)
        assert found.baseline_root_nash_welfare == pytest.approx(math.sqrt(2))
        alone = measure(self.RECORD)
        assert math.isnan(alone.deviators_root_nash_welfare)
        assert alone.baseline_root_nash_welfare == alone.root_nash_welfare

    def test_names_what_is_missing(self) -> None:
        with pytest.raises(RecordError, match="welfare_env"):
            measure({"phases": self.RECORD["phases"]})
        with pytest.raises(RecordError, match="no phases"):
            measure(self.RECORD | {"phases": []})


PUBLISHED: dict[str, Any] = json.loads(Path(__file__).parents[1].joinpath("data", "published.json").read_text("utf-8"))


def _runs(model: str) -> list[tuple[dict[str, float], float]]:
    """Of each self-play run of a model: every power's welfare points a year, and the run's root Nash welfare."""
    runs = PUBLISHED["self_play"][model]
    points = [dict(zip(PUBLISHED["powers"], run, strict=True)) for run in runs["welfare_per_year"]]
    return list(zip(points, runs["root_nash_welfare"], strict=True))


class TestPublished:
    """The authors' runs, as far as their results hold what a measure needs."""

    @pytest.mark.parametrize("model", PUBLISHED["self_play"])
    def test_root_nash_welfare_of_every_run(self, model: str) -> None:
        for points, published in _runs(model):
            end = phase("COMPLETED")
            end["state"] |= {
                "units": {power: [] for power in points},
                "centers": {power: [] for power in points},
                "welfare": {power: round(10 * value) for power, value in points.items()},
            }
            assert measure(game(end, years=10)).root_nash_welfare == pytest.approx(published, abs=5.1e-5)
            assert root_nash_welfare(points.values()) == pytest.approx(published, abs=5.1e-5)

    @pytest.mark.parametrize("model", PUBLISHED["exploiters"])
    def test_exploitability(self, model: str) -> None:
        """The authors played one game a coalition, and took the means of five as the baseline."""
        own = [points for points, _ in _runs(model)]
        baseline = {power: [sum(run[power] for run in own) / len(own)] for power in PUBLISHED["powers"]}
        runs = PUBLISHED["exploiters"][model]
        papers = [sorted(power[:3] for power in who) for name in ("singles", "pairs") for who in COALITIONS[name]]
        assert sorted(papers) == sorted(sorted(run["gains"]) for run in runs)
        for run in runs:
            deviating = {power: [value] for power, value in run["welfare_per_year"].items()}
            found = coalition_gain(baseline, deviating, tuple(run["gains"]), 0)
            assert {power: gain.value for power, gain in found.members.items()} == pytest.approx(run["gains"])
            assert found.gain.value == pytest.approx(min(run["gains"].values()))
            assert not found.gain.has_interval


# Conflicts and proficiency as the program behind the paper's figures counts them

FIGHT = {"FRANCE": ["A PAR", "A MAR", "F BRE"], "GERMANY": ["A MUN", "A RUH"]}


def fought(units: Any = FIGHT, paper_code: bool = True, **orders: list[str]) -> list[str]:
    """The conflicts of one phase."""
    rules = Rules(press=None)
    game = Game.from_position("S1901M", units, {"FRANCE": ["PAR"], "GERMANY": ["MUN"]}, rules=rules)
    for power, texts in orders.items():
        game.submit(power, texts)
    game.advance()
    return [province for _, province in conflicts(game.record(), paper_code).events]


def test_a_unit_that_bounces_counts_where_it_stands_too() -> None:
    """Munich is a conflict for the authors: the army that bounces back, and the one that wanted to follow it."""
    bounced = {"FRANCE": ["A PAR - BUR"], "GERMANY": ["A MUN - BUR", "A RUH - MUN"]}
    assert fought(**bounced) == ["BUR", "MUN"]
    assert fought(**bounced, paper_code=False) == ["BUR"]


def test_a_unit_that_is_dislodged_head_on_counts_where_it_stands_only() -> None:
    supported = ["A PAR - BUR", "A MAR S A PAR - BUR"]
    units = {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["A BUR"]}
    assert fought(units, FRANCE=supported, GERMANY=["A BUR - PAR"]) == ["BUR"]
    assert fought(units, FRANCE=supported, GERMANY=["A BUR H"]) == ["BUR"]


def test_a_unit_that_is_dislodged_by_a_convoyed_swap_counts_at_its_target_too() -> None:
    """Belgium and Holland trade places, one by sea: no head-on fight, so Kiel and Belgium both fought over Holland."""
    units = {"FRANCE": ["A BEL", "A KIE"], "GERMANY": ["A HOL", "A RUH", "F NTH"]}
    by_sea = ["A HOL - BEL VIA", "A RUH S A HOL - BEL", "F NTH C A HOL - BEL"]
    assert fought(units, FRANCE=["A BEL - HOL", "A KIE - HOL"], GERMANY=by_sea) == ["BEL", "HOL"]


def combats(engine: ReferenceEngine) -> list[str]:
    """What the authors' program counts, from the table of combats of the `diplomacy` package."""
    table: dict[str, dict[int, list[Any]]] = engine._game.combat
    return sorted(place for place, strengths in table.items() if sum(map(len, strengths.values())) > 1)


def played(seed: int, phases: int) -> Iterator[tuple[Game, list[str]]]:
    """A lively game, phase by phase, with the conflicts of each movement phase as the package has them."""
    rng, board = np.random.default_rng(seed), load_board()
    game = Game("standard", Rules("standard", years=20, press=None), "reference")
    for _ in range(phases):
        engine, position = game._engine, game.position
        assert isinstance(engine, ReferenceEngine)
        texts = board.orders.texts
        for power, numbers in zip(board.powers, lively(engine, position.state, position.legal, rng), strict=True):
            game.submit(power, [texts[number] for number in numbers], strict=False)
        was_movement = game.phase.endswith("M")
        game.advance()
        if game.is_done:
            return
        if was_movement:
            yield game, combats(engine)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_conflicts_are_those_of_the_package(seed: int) -> None:
    """In games full of convoys, cut supports, dislodgements and chains of bounces."""
    counted = 0
    for game, expected in played(seed, 30):
        phase = game.history[-1].phase
        found = [province for name, province in conflicts(game.record(), paper_code=True).events if name == phase]
        assert found == expected, (phase, game.history[-1].orders, game.history[-1].results)
        counted += len(found)
    assert counted


def test_rates_are_means_over_phases() -> None:
    """One order of a Spring is void, and all thirty of a Fall are legal."""
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - MOS"], strict=False)
    game.advance()
    for power in game.powers:
        game.submit(power, [orders[0] for orders in game.legal_orders(power).values()])
    game.advance()
    assert proficiency(game.record()).legal_rate == 22 / 23
    assert proficiency(game.record(), paper_code=True).legal_rate == (0 + 1) / 2


def test_the_legal_rate_of_a_phase_is_the_mean_of_its_powers() -> None:
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - MOS"], strict=False)
    game.submit("RUSSIA", ["A MOS H", "A WAR H", "F SEV H"])
    game.advance()
    assert proficiency(game.record(), paper_code=True).legal_rate == 1 / 2


def test_replies_of_language_models_are_rated_by_phase() -> None:
    """The stub's games: what is refused in a reply counts in its phase."""
    rules = Rules(years=1, message_rounds=1)
    (spec,) = Setting(rules=rules, seed=3).games(read_profile("lm:scripted/stub"), 1)
    record = play_game(spec)
    rates = proficiency(record, paper_code=True)
    assert 0 < rates.parse_rate <= 1
    assert 0 < rates.legal_rate <= 1
    turns = record["welfare_env"]["language_models"]["FRANCE"][0]["turns"]
    turns[-1]["losses"] = [["no object", "prose"], ["order syntax", "go to Paris"]]
    assert proficiency(record, paper_code=True).parse_rate < rates.parse_rate
    assert proficiency(record, paper_code=True).legal_rate < rates.legal_rate


def test_all_measures_may_be_counted_so() -> None:
    game = Game(rules=Rules(press=None))
    game.submit("FRANCE", ["A PAR - BUR", "A MAR - BUR"])
    game.advance()
    found = measure(game.record(), paper_code=True)
    assert found.conflicts == conflicts(game.record(), paper_code=True)
    assert found.proficiency == proficiency(game.record(), paper_code=True)
