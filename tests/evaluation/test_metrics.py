"""The measures, on records made by hand and on the authors' own published figures."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import COALITIONS
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
from welfare_env.errors import RecordError, UnknownPowerError

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
    def test_welfare_is_a_year(self) -> None:
        record = game(phase("COMPLETED", welfare={"FRANCE": 43, "GERMANY": 7}), years=10)
        assert welfare_per_year(record) == {"FRANCE": 4.3, "GERMANY": 0.7, "ITALY": 0.0}

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
        for name, alone in {
            "conflicts": conflicts,
            "stolen_centers": stolen_centers,
            "proficiency": proficiency,
        }.items():
            assert getattr(found, name) == alone(self.RECORD)

    def test_parts_the_powers(self) -> None:
        found = measure(self.RECORD, deviators=["FRANCE"])
        assert found.deviators_root_nash_welfare == pytest.approx(4)
        assert found.baseline_root_nash_welfare == pytest.approx(math.sqrt(2))
        alone = measure(self.RECORD)
        assert math.isnan(alone.deviators_root_nash_welfare)
        assert alone.baseline_root_nash_welfare == alone.root_nash_welfare

    def test_names_what_is_missing(self) -> None:
        with pytest.raises(UnknownPowerError, match="SPAIN"):
            measure(self.RECORD, deviators=["SPAIN"])
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
