"""Optimal Prosocial and its plan."""

from collections import Counter

import numpy as np
import pytest
from scipy import optimize

import welfare_env
from agents.scripted.center_partition import PartitionError, _worth, partition
from tests.playing import orders_at

MAPS = ["standard", pytest.param("ancmed", marks=pytest.mark.slow), "clique:3"]
BEST = {"AUSTRIA": 5, "ENGLAND": 5, "FRANCE": 5, "GERMANY": 5, "ITALY": 4, "RUSSIA": 5, "TURKEY": 5}


def final_counts(board):
    """Centers of every power after the first year if all follow the plan."""
    taken = {center for centers in board.start_centers.values() for center in centers}
    gains = Counter(
        route.power for route in partition(board).values() if route.stops[-1][:3] in set(board.centers) - taken
    )
    return {power: len(board.start_centers[power]) + gains[power] for power in board.powers}


def test_plan_of_the_standard_map_is_the_papers():
    assert final_counts(welfare_env.load_board("standard")) == BEST


# Alfa could take the neutral CCC only through HBY, a home of Beta's in which nobody stands.
THROUGH_A_HOME = """
ALFA (ALFA) HAX
A HAX

BETA (BETA) HBX HBY
A HBX

UNOWNED CCC DDD
---
LAND HAX ABUTS HBY
LAND HBY ABUTS HAX CCC
LAND CCC ABUTS HBY
LAND HBX ABUTS DDD
LAND DDD ABUTS HBX
"""

# MID is passed by one unit in Spring: Alfa's fleet (to CCC) or Beta's army (to DDD), whose other army could have CCC.
# Alfa has two homes and Beta three: 3 and 3 is a better minimum, 2 and 5 a better geometric mean.
ONE_WAY_FOR_TWO = """
ALFA (ALFA) HAA HAB
F HAA

BETA (BETA) HBA HBB HBC
A HBA
A HBB

UNOWNED CCC DDD
---
COAST HAA ABUTS MID
COAST MID ABUTS HAA CCC HBA DDD
COAST CCC ABUTS MID HBB
LAND HBA ABUTS MID
LAND HBB ABUTS CCC
LAND DDD ABUTS MID
LAND HAB ABUTS HBC
LAND HBC ABUTS HAB
"""


def board_of(text, path):
    """A board from its powers and its places; each place is called as it is abbreviated."""
    powers, places = text.split("---\n")
    names = "".join(f"{line.split()[1].title()} = {line.split()[1].lower()}\n" for line in places.splitlines())
    path.write_text(f"VICTORY 10\nBEGIN SPRING 1901 MOVEMENT\n{powers}{names}{places}")
    return welfare_env.load_board(str(path))


def test_no_way_leads_through_a_foreign_home(tmp_path):
    assert final_counts(board_of(THROUGH_A_HOME, tmp_path / "through.map")) == {"ALFA": 1, "BETA": 3}


def test_the_minimum_goes_before_the_mean(tmp_path):
    assert final_counts(board_of(ONE_WAY_FOR_TWO, tmp_path / "way.map")) == {"ALFA": 3, "BETA": 3}


def test_the_plan_is_the_best_and_not_almost(monkeypatch):
    asked = []
    solve = optimize.milp
    monkeypatch.setattr(optimize, "milp", lambda *args, **kwargs: asked.append(kwargs) or solve(*args, **kwargs))
    partition.__wrapped__(welfare_env.load_board("clique:3"))
    assert [kwargs["options"] for kwargs in asked] == [{"mip_rel_gap": 0}] * 3


def test_a_solver_that_gives_up_is_named(monkeypatch):
    gave_up = optimize.OptimizeResult(success=False, message="Time limit reached.", x=None, fun=None)
    monkeypatch.setattr(optimize, "milp", lambda *_, **__: gave_up)
    with pytest.raises(PartitionError, match="clique:3"):
        partition.__wrapped__(welfare_env.load_board("clique:3"))


@pytest.mark.parametrize("map_name", MAPS)
def test_self_play_follows_the_plan(map_name, seat):
    """Every year after the first pays every center; nothing is built, and no order ever fails."""
    game = seat("prosocial", map_name=map_name, years=2).finish().game
    counts, units = final_counts(game.board), game.board.start_units
    assert set(partition(game.board)) == {(power, unit) for power in units for unit in units[power]}
    assert {power: len(centers) for power, centers in game.centers.items()} == counts
    assert game.welfare == {power: 2 * count for power, count in counts.items()}
    assert game.units == dict.fromkeys(game.powers, ())
    for record in game.history:
        assert not any(record.results.values())


HELD_UP = {"units": {"FRANCE": ["A MAR", "F BRE"]}, "centers": {"FRANCE": ["MAR", "BRE", "PAR"]}}
FAR = {"units": {"FRANCE": ["A MUN", "F ENG"]}, "centers": {"FRANCE": ["MAR", "BRE", "PAR"]}}
SHUT = {
    "units": {"FRANCE": ["A MAR", "F BRE"], "ITALY": ["F MAO"]},
    "centers": {"FRANCE": ["MAR", "BRE", "PAR"], "ITALY": ["SPA"]},
}
RETREAT = {"units": {"ITALY": ["A BUR"]}, "centers": {"FRANCE": ["MAR"], "GERMANY": ["MUN"]}}


@pytest.mark.parametrize(
    ("phase", "position", "orders"),
    [
        # A MAR was held up on its way to SPA, F BRE on its way to POR: the fleet is too late in Fall.
        ("F1901M", HELD_UP, ["A MAR - SPA", "F BRE H"]),
        ("S1901M", HELD_UP, ["A MAR - SPA", "F BRE - MAO"]),
        ("S1901M", SHUT, ["A MAR H", "F BRE H"]),  # it enters nothing that is another's
        # From any position it disarms in the first Winter; in the standard variant it disbands what it must.
        ("F1905M", FAR, ["A MUN H", "F ENG H"]),
        ("W1905A", FAR, ["A MUN D", "F ENG D"]),
        ("W1905A", FAR | {"centers": {"FRANCE": ["MAR"]}, "rules": welfare_env.Rules("standard")}, ["A MUN D"]),
        # It retreats into no foreign center.
        ("S1902R", RETREAT | {"dislodged": {"FRANCE": {"A BUR": ["MUN", "RUH"]}}}, ["A BUR R RUH"]),
        ("S1902R", RETREAT | {"dislodged": {"FRANCE": {"A BUR": ["MUN"]}}}, ["A BUR D"]),
    ],
)
def test_what_it_orders(phase, position, orders):
    assert orders_at("prosocial", phase=phase, **position) == orders


def test_each_further_center_adds_its_part_of_the_logarithm():
    assert sum(_worth(2, gain) for gain in (1, 2, 3)) == pytest.approx(np.log(5) - np.log(2))
