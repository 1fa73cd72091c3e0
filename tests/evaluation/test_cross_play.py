"""Cross-play: which mixes are played, who sits where, and payoffs against the records themselves."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
import evaluation
from agents import DovePolicy
from evaluation import CrossPlayResult, GameStore, Setting
from evaluation.experiments.cross_play import _games, all_mixes
from evaluation.tables.cross_play_tables import invasion_table, player_table
from evaluation.tables.game_tables import cell
from tests.evaluation.conftest import call
from welfare_env import Rules
from welfare_env.board.toy_boards import toy_map

QUICK = Rules(years=1, press=None)
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[CrossPlayResult, Path]:
    path = tmp_path_factory.mktemp("cross") / "games.sqlite"
    with GameStore(path) as store:
        common: dict[str, Any] = {"rules": QUICK, "map_name": "pure", "store": store, "seed": 3}
        return evaluation.cross_play(["random", "hold"], 7, background=["prosocial"], focal_seats=[2], **common), path


def test_mixes_are_all_of_up_to_so_many_policies() -> None:
    assert len(all_mixes(3, 7, 4)) == len(set(all_mixes(3, 7, 4))) == comb(9, 2)
    assert set(all_mixes(6, 7, 7)) == set(all_mixes(6, 7, 6))
    assert len(all_mixes(6, 7, 6)) == comb(12, 5)
    assert all_mixes(5, 7, 1) == [tuple(7 * (place == own) for place in range(5)) for own in range(5)]
    for mix in all_mixes(6, 7, 4):
        assert sum(mix) == 7
        assert np.count_nonzero(mix) <= 4
    assert max(len([1 for count in mix if count]) for mix in all_mixes(6, 3, 4)) == 3  # of three seats


def test_every_policy_sits_in_every_seat_equally_often(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    assert len(result.mixes) == 8
    for counts, mix in result.mixes.items():
        for power in POWERS:
            found = Counter(seats[power] for seats in mix.seats)
            assert found == {name: count for name, count in zip(result.policies, counts, strict=True) if count}
        assert all(Counter(seats.values()) == mix.counts for seats in mix.seats)


def test_payoffs_are_those_of_the_records(
    stored: tuple[CrossPlayResult, Path], rows_of: Callable[[Path], list[Any]]
) -> None:
    """From the store's rows alone: who sat where, and what the last phase says each has."""
    result, path = stored
    by_mix: dict[tuple[tuple[str, int], ...], dict[str, list[float]]] = {}
    for row in rows_of(path):
        seats, last = row.specification["players"], row.record["phases"][-1]["state"]["welfare"]
        mix = tuple(sorted(Counter(seats.values()).items()))
        for policy in set(seats.values()):
            mine = [last[power] for power, who in seats.items() if who == policy]
            by_mix.setdefault(mix, {}).setdefault(policy, []).append(sum(mine) / len(mine))
    games = [*result.mixes.values(), *(scenario.games for scenario in result.scenarios)]
    assert len(by_mix) == len(games) == 10
    for mixed in games:
        theirs = by_mix[tuple(sorted(mixed.counts.items()))]
        for policy, estimate in mixed.payoffs.items():
            assert sorted(estimate.per_game) == pytest.approx(sorted(theirs[policy]))
            assert estimate.value == pytest.approx(np.mean(theirs[policy]))
            assert estimate.is_alike or estimate.low <= estimate.value <= estimate.high


def test_payoffs_are_points_a_year() -> None:
    options: dict[str, Any] = {"rules": Rules(years=2, press=None), "map_name": "clique:2"}
    alone = evaluation.cross_play(["prosocial", "hold"], 2, **options).mixes[2, 0].payoffs["prosocial"]
    assert alone.value == evaluation.self_play("prosocial", 1, **options).welfare_per_year["PLAYERA"].value > 0


@pytest.mark.slow
def test_samples_are_whole_rotations_of_the_seats_from_five_on(stored: tuple[CrossPlayResult, Path]) -> None:
    few, _ = stored
    assert (few.games_a_sample, len(few.empirical_game.tables)) == (1, 7)
    rules = Rules(years=2, message_rounds=0)
    policies = ["prosocial", "dove", "hold"]
    many = evaluation.cross_play(policies, 15, rules=rules, map_name="clique:3")
    assert (many.games_a_sample, len(many.empirical_game.tables)) == (3, 5)
    paid = many.mixes[1, 2, 0].payoffs["prosocial"].per_game
    column = many.empirical_game.others.tolist().index([0, 2, 0])
    means = np.array(paid).reshape(5, 3).mean(axis=1)
    np.testing.assert_allclose(many.empirical_game.tables[:, column, 0], means)
    drawn = evaluation.cross_play(policies, 15, rules=rules, map_name="clique:3", seats="drawn")
    assert drawn.games_a_sample == 1


def test_the_empirical_game_has_the_payoffs_and_its_equilibria_have_no_gains(
    stored: tuple[CrossPlayResult, Path],
) -> None:
    result, _ = stored
    game = result.empirical_game
    assert not result.empirical_game.fitted.any()
    for row, others in enumerate(game.others.tolist()):
        for own, policy in enumerate(result.policies):
            counts = tuple(count + (place == own) for place, count in enumerate(others))
            assert game.table[row, own] == pytest.approx(result.mixes[counts].payoffs[policy].value)
    assert result.equilibria
    for equilibrium, gains in zip(result.equilibria, result.gains, strict=True):
        paid = game.payoffs(np.array(list(equilibrium.mix.values())))
        for policy, gain in zip(result.policies, paid - equilibrium.payoff, strict=True):
            assert gains[policy].value == pytest.approx(gain, abs=1e-9)
            assert gains[policy].value <= 1e-9
            assert gains[policy].n == 7


def test_scenarios_tell_focal_seats_apart(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    assert [(each.focal, each.background) for each in result.scenarios] == [(p, "prosocial") for p in result.policies]
    for scenario in result.scenarios:
        assert scenario.games.counts == {scenario.focal: 2, "prosocial": 5}


def test_another_policy_plays_only_the_mixes_that_are_new(tmp_path: Path, played: list[Any]) -> None:
    """On a board of two players, where three policies have six mixes and at most two policies meet."""
    path = tmp_path / "toy.map"
    path.write_text(toy_map("clique:2"))
    with GameStore(tmp_path / "games.sqlite") as store:
        common: dict[str, Any] = {"rules": Rules(years=2, press=None), "map_name": str(path), "store": store}
        two = evaluation.cross_play(["hold", "random"], 2, **common)
        assert len(played) == 3 * 2
        three = evaluation.cross_play(["hold", "random", "prosocial"], 2, **common)
        assert len(played) == 6 * 2
    assert not three.empirical_game.fitted.any()
    assert all(three.mixes[*counts, 0].payoffs == mix.payoffs for counts, mix in two.mixes.items())
    assert three.empirical_game.players == 2


def test_standard_games_pay_scores() -> None:
    rules = Rules(variant="standard", years=2, press=None)
    result = evaluation.cross_play(["dumbbot", "hold"], 3, rules=rules, map_name="clique:3")
    mix = result.mixes[(1, 2)]
    paid = [
        np.mean([game.scores[power] for power in seats if seats[power] == "hold"])
        for game, seats in zip(mix.measures, mix.seats, strict=True)
    ]
    assert list(mix.payoffs["hold"].per_game) == pytest.approx(paid)
    json.dumps(result.to_dict(), allow_nan=False)


def test_objects_without_a_name_are_numbered_where_they_look_alike() -> None:
    one, other, third = DovePolicy(), DovePolicy(), DovePolicy()
    result = evaluation.cross_play([one, other], types=1, rules=QUICK, background=[third])
    (scenario, _) = result.scenarios
    assert len({*result.policies, scenario.background}) == 3
    assert list(scenario.games.counts.values()) == [1, 6]
    assert result.mixes[(7, 0)].counts.keys() != result.mixes[(0, 7)].counts.keys()


@pytest.mark.parametrize(("options", "games"), [({}, 3), ({"games": 2, "seats": "drawn"}, 2)])
def test_the_number_of_games_balances_seats_that_rotate(options: dict[str, Any], games: int) -> None:
    result = evaluation.cross_play(["hold", "prosocial"], map_name="clique:3", rules=QUICK, **options)
    assert {len(mix.seats) for mix in result.mixes.values()} == {result.games} == {games}


def test_the_command(tmp_path: Path) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "3"]
    players = ["cross-play", "dove", "hold", "--background", "random", "--store", tmp_path / "games.sqlite"]
    rows_file = tmp_path / "new" / "table.csv"
    shown = call(*players, *options, "--csv", rows_file)
    with rows_file.open(newline="") as file:
        rows = list(csv.DictReader(file))
    mixes = ["3*dove", "3*hold", "2*dove + 1*hold", "1*dove + 2*hold", "1*dove + 2*random", "1*hold + 2*random"]
    assert list(dict.fromkeys(row["profile"] for row in rows)) == mixes
    assert len(rows) == 6 * 3 * 3
    assert "│ 3 0 " not in shown
    shown = call(*players, *options, "--mixes")
    assert shown.index("Scenarios") < shown.index("Mixes") < shown.index("│ 3 0 ")
    alone = json.loads(call(*players, *options, "--types", "1", "--json"))
    assert alone["scenarios"][0]["background"] == "random"
    assert alone["mixed_payoffs"]["hold"]["value"] is None  # with each other they did not play


def test_the_table_of_policies_has_each_number_under_its_name(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    columns = {str(column.header): list(map(str, column.cells)) for column in player_table(result).columns}
    numbers = {"root Nash welfare alone": result.self_play_welfare, "points among others": result.mixed_payoffs}
    assert columns["policy"] == list(result.policies)
    for name, found in numbers.items():
        assert columns[name] == [cell(found[policy]) for policy in result.policies]


def test_neighbors_are_drawn_anew_in_each_rotation():
    setting = Setting(rules=Rules(press=None))
    mix = [(4, agents.specs.read("dove")), (3, agents.specs.read("hold"))]
    games = [tuple(policy.text for _, policy in game.players) for game in _games(setting, mix, 14)]
    assert set(games[:7]) != set(games[7:])


def test_a_mediator_has_no_part_in_a_mix():
    rules = Rules(years=1, press="tokens", message_rounds=1, mediator=True)
    found = evaluation.cross_play(["prosocial", "hold"], 3, types=1, map_name="clique:3", rules=rules)
    assert all("MEDIATOR" not in seats for mix in found.mixes.values() for seats in mix.seats)


def test_nobody_invades_itself(stored: tuple[CrossPlayResult, Path]) -> None:
    result, _ = stored
    columns = [[str(each) for each in column.cells] for column in invasion_table(result).columns]
    assert columns[0] == list(result.policies)
    assert [column.index("") for column in columns[1:]] == [0, 1]
