"""Exact values against networks, mixes and punishers: searches of everything, played games, and the commands."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import agents
import evaluation
import welfare_env
from agents import HoldPolicy
from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.network import BoardNetwork, Size
from agents.toy_boards.kernels import PROVINCES, adjacent
from agents.toy_boards.shape import clique_of
from evaluation import EvaluationError
from evaluation.exact import best_response, exploitability, theorems
from evaluation.exact import graph_kernels as g
from evaluation.exact.phases import Stepper
from evaluation.exact.punisher_search import PunisherSearch
from tests.agents.test_toy_boards import shape_of
from tests.evaluation.conftest import call
from tests.evaluation.test_exact import Exhaustive, Restless, rules
from tests.playing import play_parallel
from welfare_env import Rules
from welfare_env.engine import State, layout_of

A, B = "PLAYERA", "PLAYERB"


def network_in(folder, map_name: str, seed: int = 0, sees_points: bool = True, greedy: bool = True) -> str:
    """The spec of an untrained network with opinions."""
    board = welfare_env.load_board(map_name)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = BoardNetwork(board, Size(8, 1))
    with torch.no_grad():
        network.score.weight *= 30
    if not sees_points:
        network.forget_points()
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    words = checkpoint.vocabulary(board)
    checkpoint.save(folder, Checkpoint(weights, Size(8, 1), map_name, rules(2), words, {}, greedy=greedy))
    return f"rl:{folder}"


def check(map_name, years, shares, power=A):
    """`exploitability` of a mix against a search that leaves nothing out and remembers whole games."""
    board = welfare_env.load_board(map_name)
    others = [who for who in board.powers if who != power]
    draws = []
    made = {spec: agents.make(spec) for spec in shares}
    for drawn in itertools.product(shares.items(), repeat=len(others)):
        chance = float(np.prod([share for _, share in drawn]))
        draws.append((chance, {who: made[spec] for who, (spec, _) in zip(others, drawn, strict=True)}))
    wanted = Exhaustive(map_name, rules(years), power, draws).value()
    mix = "mix:" + ",".join(f"({spec})={share}" for spec, share in shares.items())
    found = exploitability(map_name, mix, years, powers=[power]).responses[power]
    assert found.value == pytest.approx(wanted, abs=1e-9)
    assert found.gain >= 0


RESTLESS = "import:tests.evaluation.test_exact.Restless"


@pytest.mark.parametrize(
    ("shares", "power"),
    [
        pytest.param({"prosocial": 0.5, "hold": 0.5}, A, marks=pytest.mark.slow),
        ({"hold": 0.25, RESTLESS: 0.75}, B),
        pytest.param({"prosocial": 0.2, "hold": 0.3, RESTLESS: 0.5}, A, marks=pytest.mark.slow),
    ],
)
def test_against_a_mix_drawn_once_a_game_a_search_of_everything_finds_the_same(shares, power):
    check("clique:2", 2, shares, power)


def test_so_it_does_with_more_powers():
    check("clique:3", 1, {"prosocial": 0.25, "hold": 0.25, RESTLESS: 0.5})
    check("shared-clique:2", 1, {"prosocial": 0.25, RESTLESS: 0.75})


@pytest.mark.parametrize(("sees_points", "years"), [pytest.param(True, 2, marks=pytest.mark.slow), (False, 1)])
def test_and_against_networks(tmp_path, sees_points, years):
    specs = [network_in(tmp_path / str(seed), "clique:2", seed, sees_points) for seed in range(3)]
    check("clique:2", years, {specs[0]: 1.0})
    check("clique:2", 1, {specs[0]: 0.5, specs[1]: 0.25, specs[2]: 0.25}, B)
    check("clique:2", 1, {specs[1]: 0.5, "hold": 0.5})


def test_a_profile_gives_each_seat_its_own_player():
    profile = {"PLAYERA": "hold", "PLAYERB": "prosocial", "PLAYERC": Restless()}
    found = exploitability("clique:3", profile, 2)
    assert found.points["PLAYERB"] > found.points["PLAYERA"] == 0
    for power, response in found.responses.items():
        assert response.value == best_response("clique:3", profile, power, 2).value
    assert found.gap == max(response.gain for response in found.responses.values()) / 2
    assert found.welfare == pytest.approx(sum(found.points.values()) / 6)


# What the sequence of units means to a network.


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 6), marks=pytest.mark.slow)])
def test_a_network_is_asked_with_its_units_in_the_sequence_of_the_game(tmp_path, seeds):
    """The points of a profile of networks are those of a game, in which units come in any sequence."""
    for seed in seeds:
        spec = network_in(tmp_path / str(seed), "clique:3", seed)
        found = exploitability("clique:3", spec, 4, powers=[])
        players = {power: agents.make(spec) for power in found.points}
        assert play_parallel(welfare_env.parallel_env("clique:3", rules(4)), players).game.welfare == found.points


# What is refused.


def test_there_is_no_gap_if_no_power_deviates():
    found = exploitability("clique:2", "dove", 1, powers=[])
    assert found.points
    with pytest.raises(EvaluationError, match="no power deviated"):
        _ = found.gap


def test_a_network_that_draws_is_refused(tmp_path):
    spec = network_in(tmp_path / "net", "clique:2", greedy=False)
    for profile in (spec, f"mix:({spec})=1/2,hold=1/2"):
        with pytest.raises(EvaluationError, match=r"most probable.* evaluation\.exploitability"):
            exploitability("clique:2", profile, 1)


def test_canonical_positions_keep_what_networks_read():
    board = welfare_env.load_board("clique:3")
    games = welfare_env.vector_env(1, "clique:3", rules(5))
    games.reset(5)
    for _ in range(12):
        games.step(games.sample())
        rows = games.state(0).row[None].copy()
        Stepper(board, rules(5), True, (0, 1, 2)).make_canonical(rows)
        before, after = games.state(0), State(layout_of(board), rows[0])
        for name in ("units", "dislodged", "owners", "welfare", "phase", "year"):
            assert np.array_equal(getattr(before, name), getattr(after, name)), name


@pytest.mark.parametrize(
    "profile",
    [
        "3*(punisher:t=1,remembers=yes) + 1*prosocial",
        "2*(punisher:t=1,remembers=yes) + 2*(punisher:t=1,deviator=PLAYERA)",
        "3*(punisher:t=1,remembers=yes) + 1*(punisher:t=2,remembers=yes)",
        "mix:(punisher:t=1,remembers=yes)=1/2,prosocial=1/2",
    ],
)
def test_punishers_who_remember_are_refused_among_others(profile):
    with pytest.raises(EvaluationError, match=r"remember|reads view\.history"):
        exploitability("clique:4", profile, 3)


def test_punishers_who_remember_may_name_the_default_of_shared():
    profile = "1*(punisher:t=1,remembers=yes) + 3*(punisher:t=1,shared=PLAYERA,remembers=yes)"
    assert exploitability("shared-clique:3", profile, 3, powers=["PLAYERB"]).responses["PLAYERB"].gain == 1


YEARS = 4


@pytest.mark.parametrize(
    ("map_name", "profile", "gain"),
    [
        ("clique:3", "prosocial", 6),
        pytest.param("clique:4", "prosocial", 7, marks=pytest.mark.slow),
        pytest.param("clique:3", f"punisher:t=1,deviator={A}", 3, marks=pytest.mark.slow),
        pytest.param("clique:4", f"punisher:t=1,deviator={A}", 4, marks=pytest.mark.slow),
    ],
)
def test_sampled_exploitability_never_exceeds_the_exact_value(map_name, profile, gain):
    sampled = evaluation.exploitability(
        profile,
        2,
        map_name=map_name,
        rules=Rules(press=None, years=YEARS),
        deviator="portfolio",
        coalitions=[[A]],
        seed=0,
    )
    exact = best_response(map_name, profile, A, YEARS)
    assert exact.gain == gain
    assert 0 <= sampled.value.value * YEARS <= gain
    if profile == "prosocial":
        assert sampled.value.value > 0


# The command `exact`


def test_gains_of_each_power_and_the_best_line_of_play(tmp_path: Path) -> None:
    board = ["--map", "shared-clique:3", "--years", "3"]  # there the powers' gains differ
    found = json.loads(call("exact", "prosocial", *board, "--json", "--csv", str(tmp_path / "gains.csv")))
    for each in found["coalitions"]:
        (power,) = each["coalition"]
        meant = best_response("shared-clique:3", "prosocial", power, 3)
        assert (each["value"], each["profile_value"], each["gain"]) == (meant.value, meant.profile_value, meant.gain)
        assert (each["gain_per_year"], each["positions"]) == (each["gain"] / 3, meant.positions)
        assert [(phase, tuple(orders)) for phase, orders in each["line"]] == list(meant.orders)
    best = max(found["coalitions"], key=lambda each: each["gain"])
    assert found["best"] == best["coalition"]
    rows = list(csv.DictReader((tmp_path / "gains.csv").open()))
    assert [(row["coalition"], float(row["gain"])) for row in rows] == [
        (each["coalition"][0], each["gain"]) for each in found["coalitions"]
    ]
    text = call("exact", "prosocial", *board, "--coalitions", *best["coalition"])
    assert f"{best['coalition'][0]} gains most: {best['gain']:g} in the whole game" in text
    assert all(order in text for _, orders in best["line"] for order in orders)


def test_mixes_and_coalitions() -> None:
    mix, board = "mix:prosocial=1/2,hold=1/2", ("--map", "clique:3", "--years", "2", "--json")
    (alone,) = json.loads(call("exact", mix, *board, "--coalitions", "PLAYERB"))["coalitions"]
    meant = exploitability("clique:3", mix, 2, powers=["PLAYERB"]).responses["PLAYERB"]
    assert (alone["value"], alone["profile_value"], alone["line"]) == (meant.value, meant.profile_value, None)
    (both,) = json.loads(call("exact", "prosocial", *board, "--coalitions", "PLAYERC+PLAYERA"))["coalitions"]
    joint = best_response("clique:3", "prosocial", ("PLAYERA", "PLAYERC"), 2)
    assert (both["coalition"], both["gain"]) == (["PLAYERA", "PLAYERC"], joint.gain)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("program:FairBot --map clique:3", "modal tournament"),
        ("lm:scripted/stub --map clique:3", "lm:scripted/stub asks a language model"),
        ("2*hold --map clique:3", "seats for 2: give 3"),
        ("hold --years 101", "--years 101"),
    ],
)
def test_what_has_no_exact_value_is_refused_by_name(arguments: str, fault: str) -> None:
    assert fault in " ".join(call("exact", *arguments.split(), code=2).split())


# The gains from leaving the paper's punishing profiles, against published values and other searches

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


class Line(HoldPolicy):
    """Gives the orders of a line of play."""

    def __init__(self, line):
        self.line = dict(line)

    def act(self, observation, info):
        return info["view"].encode_orders(self.line[info["view"].phase])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("map_name", "t", "years", "gains"),
    [
        ("clique:3", 1, 3, [1, 1, 1]),
        ("clique:4", 4, 5, [0, 0, 0, 0]),
        ("shared-clique:3,shared=PLAYERD", 1, 3, [1, 1, 1, 2]),
    ],
)
def test_punishers_who_remember_find_out_who_it_was(map_name, t, years, gains):
    """Best responses gain what they gain from players who know (docs/theorems.md), also in games with the players."""
    map_name, *options = map_name.split(",")
    spec = ",".join([f"punisher:t={t},remembers=yes", *options])
    found = exploitability(map_name, spec, years)
    assert [response.gain for response in found.responses.values()] == gains
    for power, response in found.responses.items():
        players = {who: agents.make(spec) for who in found.responses}
        players[power] = Line(best_response(map_name, spec, power, years).orders)
        game = play_parallel(welfare_env.parallel_env(map_name, rules(years)), players).game
        assert game.welfare[power] == response.value
