"""The gains from leaving the paper's punishing profiles, against published values and other searches."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import welfare_env
from agents.toy_boards.kernels import PROVINCES, adjacent
from agents.toy_boards.shape import clique_of
from evaluation import EvaluationError
from evaluation.exact import best_response, theorems
from evaluation.exact import graph_kernels as g
from evaluation.exact.punisher_search import PunisherSearch
from tests.agents.test_toy_boards import shape_of
from tests.evaluation.conftest import call

A, B = "PLAYERA", "PLAYERB"
TABLE = Path(__file__).parents[2] / "docs" / "tables" / "theorems-gains.csv"


def published() -> dict[tuple[str, str, str], list[str]]:
    """Punishers, map and role -> gains by T - t, from the table of docs/theorems.md."""
    with TABLE.open(encoding="utf-8") as file:
        next(file)  # the command
        rows = list(csv.DictReader(file))
    return {(how, row["map"], row["deviator"]): row[how].split() for row in rows for how in theorems.PUNISHERS}


@pytest.mark.parametrize(
    ("map_name", "years", "punishers"),
    [
        ("clique:3", 8, "stated"),
        ("clique:3", 8, "best"),
        ("clique:4", 4, "stated"),
        ("shared-clique:3", 6, "stated"),
        ("shared-clique:3", 5, "best"),
        ("clique:7", 3, "ranked"),
        pytest.param("clique:4", 7, "stated", marks=pytest.mark.slow),
        pytest.param("clique:4", 6, "best", marks=pytest.mark.slow),
        pytest.param("clique:5", 4, "best", marks=pytest.mark.slow),
        pytest.param("clique:6", 3, "ranked", marks=pytest.mark.slow),
        pytest.param("shared-clique:6", 3, "best", marks=pytest.mark.slow),
        pytest.param("shared-clique:7", 3, "ranked", marks=pytest.mark.slow),
    ],
)
def test_gains_are_those_of_the_page_and_depend_on_the_unarmed_years_only(map_name, years, punishers):
    table = published()
    for found in theorems.deviation_gains(map_name, years, punishers):
        assert str(found.gain) == table[punishers, map_name, found.role][found.years - found.t], found


@pytest.mark.parametrize(
    ("map_name", "years"),
    [("clique:3", 2), ("shared-clique:2", 2), pytest.param("clique:3", 3, marks=pytest.mark.slow)],
)
def test_another_search_finds_the_same(map_name, years):
    """With the engine's rules, and the punishers as players."""
    for found in theorems.deviation_gains(map_name, years):
        reply = best_response(map_name, f"punisher:t={found.t},remembers=yes", found.deviator, found.years)
        assert (reply.value, reply.profile_value) == (found.value, found.profile_value)


def test_in_ten_years_the_gain_still_grows_by_two_a_year():
    search = PunisherSearch(clique_of(welfare_env.load_board("clique:3")), 0)
    assert [search.value(years, years - 1) - 2 * years for years in (8, 9, 10)] == [11, 13, 15]


@pytest.mark.parametrize("name", ["clique:2", "shared-clique:7"])
def test_keys_keep_whole_positions(name):
    """Random positions, and one with the highest number everywhere."""
    clique, rng = clique_of(welfare_env.load_board(name)), np.random.default_rng(0)
    shape = shape_of(clique)
    count, last = int(shape[PROVINCES]), clique.powers - 1
    near = np.array([sum(1 << q for q in range(count) if adjacent(shape, core, q)) for core in range(clique.cores)])
    highest = [np.full(count, last), np.full(count, last), np.full(clique.cores, last), near]
    for given in [highest, *(drawn_position(clique, near, rng) for _ in range(50))]:
        key, found = np.full(4, -1), [np.full_like(array, -9) for array in given]
        g.pack(shape, g.PATH_DISBAND, *given, key)
        assert g.unpack(shape, key, *found) == g.PATH_DISBAND
        assert [array.tolist() for array in found] == [array.tolist() for array in given]


def drawn_position(clique, near, rng):
    """Random owners, units, dislodged units and retreats, as arrays of the kernels."""
    owner, unit = rng.integers(-1, clique.powers, (2, clique.cores + clique.powers))
    lost = rng.integers(-1, clique.powers, clique.cores)
    return owner, unit, lost, near & rng.integers(1 << len(owner), size=clique.cores)


def test_the_command_prints_gains_and_writes_tables(tmp_path):
    called = ["theorems", "--map", "clique:3", "--years", "3", "--csv", tmp_path / "gains.csv"]
    assert "no gain for T-t = 0, 1; a gain for T-t = 2 (1)" in call(*called)
    with (tmp_path / "gains.csv").open() as file:
        assert [int(row["gain"]) for row in csv.DictReader(file)] == [0, 0, 0, 0, 0, 1]
    rows = json.loads(call(*called, "--json"))
    assert [(row["years"], row["t"], row["value"]) for row in rows][-1] == (3, 1, 7)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("standard", 3, "stated"), "clique:n and shared-clique:n"),
        (("clique:8", 3, "stated"), "n from 2 to 7"),
        (("clique:3", 11, "stated"), "years=11"),
        (("clique:3", 3, "kind"), "punishers='kind'"),
        (("clique:7", 3, "best"), "more than 262,144 joint orders"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(arguments, fault):
    with pytest.raises((EvaluationError, welfare_env.UnknownMapError), match=fault):
        list(theorems.deviation_gains(*arguments))
