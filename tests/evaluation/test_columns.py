"""The columns of tables: all measures, as the page describes them."""

import math

import pytest

import agents
import evaluation
from evaluation.experiment_files.description import Experiment
from evaluation.measures.metrics import measure
from evaluation.measures.rows import game_rows
from evaluation.messages.analysis import analyze_messages
from welfare_env import Rules, View

RULES = Rules(years=2, message_rounds=1)


def test_every_measure_of_a_game_is_a_column() -> None:
    result = evaluation.exploitability("dove", 1, coalitions=["FRANCE"], rules=RULES, seed=3)
    (games,) = result.attacks[result.deviator].values()
    rows = [row for row in result.rows() if row["coalition"]]
    assert {row["evaluation_seed"] for row in rows} == {3}
    game = games[0]
    for row in rows:
        assert row["root_nash_welfare"] == game.root_nash_welfare
        assert row["deviators_root_nash_welfare"] == game.deviators_root_nash_welfare
        assert (row["stolen_centers"], row["stolen_centers_per_year"]) == (
            game.stolen_centers.count,
            game.stolen_centers.per_year,
        )
        assert (row["conflicts"], row["conflicts_per_phase"]) == (
            game.conflicts.count,
            game.conflicts.per_movement_phase,
        )
        assert row["proficiency"] == game.proficiency.score
        assert row["best_score"] == max(game.scores.values())
    assert sum(row["centers_taken"] for row in rows) == sum(row["centers_lost"] for row in rows) > 0
    assert sum(row["centers_taken"] for row in rows) == game.stolen_centers.count
    assert (game.proficiency.parse_rate, game.proficiency.owned_share) == (
        rows[0]["parse_rate"],
        rows[0]["owned_share"],
    )


def test_promises_and_messages_of_each_power_add_up() -> None:
    (record,) = evaluation.self_play("dove", 1, rules=RULES).records
    rows, told = game_rows([measure(record)], "dove"), analyze_messages(record)
    assert sum(row["messages"] for row in rows) == told.messages > 0
    assert sum(row["promises"] for row in rows) == len(told.promises) > 0
    for row in rows:
        mine = told.kept(sender=row["power"]), told.broken(sender=row["power"])
        assert (row["kept_promises"], row["broken_promises"]) == mine
    gone = measure(record | {"map": "no/such.map"})
    assert all(math.isnan(each.kept_promises) for each in gone.conduct.values())


class Faulty(agents.ScriptedPolicy):
    """A policy that orders foreign units."""

    def orders(self, view: View) -> list[str]:
        """An illegal order in each phase."""
        return ["A PLAYERB - PLAYERC"] if view.phase.endswith("M") else []


def test_illegal_orders_are_counted_by_power() -> None:
    profile = {"PLAYERA": Faulty, "PLAYERB": "hold", "PLAYERC": "hold"}
    rows = evaluation.self_play(profile, 1, map_name="clique:3", rules=Rules(years=1, press=None)).rows()
    faulty, *others = rows
    assert faulty["illegal_orders"] == faulty["orders"] == 2
    assert all(row["illegal_orders"] == 0 < row["orders"] for row in others)
    orders, illegal = (sum(row[name] for row in rows) for name in ("orders", "illegal_orders"))
    assert faulty["legal_rate"] == pytest.approx(1 - illegal / orders)


@pytest.mark.parametrize("measured", [("self-play",), ("self-play", "exploitability")])
def test_experiments_have_swept_columns(measured: tuple[str, ...]) -> None:
    swept = {"years": (1, 2), "mark": ("a", 1)}
    chosen = Experiment(
        **{"name": "e", "title": "e", "profiles": ("hold", "dove"), "measure": measured, "games": 1},
        sweep=swept,
        map_name="clique:3",
        rules={"press": None},
    )
    result = evaluation.experiment(chosen, seed=5)
    rows = result.rows()
    assert {(row["swept_years"], row["years"], row["swept_mark"]) for row in rows} == {
        (years, years, mark) for years in (1, 2) for mark in ("a", "1")
    }
    assert [row["condition"] for row in rows] == sorted(row["condition"] for row in rows)
    assert {row["condition"] for row in rows} == set(range(8))
    assert {row["evaluation_seed"] for row in rows} == {5}
    assert len({tuple(row) for row in rows}) == 1
    assert {row["coalitions"] for row in rows} == ({""} if measured == ("self-play",) else {"singles"})
    assert {row["measure"] for row in rows} == {*measured}
