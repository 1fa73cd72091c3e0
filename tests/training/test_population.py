"""Populations: the table, the mix, what is measured, and going on after any interruption."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import agents
import evaluation
import training
from agents.rl.network import BoardNetwork
from evaluation.exact import exploitability
from evaluation.measures.symmetric_game import SymmetricGame
from training import PopulationConfig, TrainConfig, TrainingError, train
from training.board.seats import Lineup
from training.cli.commands import app
from training.cli.psro import step_table
from training.population.meta import PARTS, rounded, solve
from training.population.portfolio import attacked
from training.population.psro import Step, train_population
from training.population.table import payoffs, play_seatings, seatings_of
from welfare_env import Rules, UnknownAgentError, UnknownMapError, load_board

RULES = Rules(press=None, years=3)
SMALL = PopulationConfig(
    map_name="clique:3", years=2, steps=2, iterations=3, games=8, width=8, layers=1, begin="hold + prosocial"
)


# Mixes of policies.


def test_a_mix_draws_one_policy_a_game_with_its_chance():
    policy = agents.make("mix:hold=1/4,prosocial=3/4")
    drawn = []
    for seed in range(200):
        policy.reset("PLAYERA", seed)
        drawn.append(policy._drawn)
    assert abs(np.mean(drawn) - 0.75) < 0.15
    policy.reset("PLAYERA", 0)
    assert policy._drawn == drawn[0]


@pytest.mark.parametrize(
    "text", ["mix:hold=1/2", "mix:hold=1/2,dove", "mix:hold=0,dove=1", "mix:hold=x", "mix:", "mix:hold=-1,dove=2",
             "mix:hold=1/2,FairBot=1/2", "mix:(hold=1/2,dove=1/2", "mix:hold=1/2,nobody=1/2"]
)  # fmt: skip
def test_other_mixes_are_refused(text):
    with pytest.raises(UnknownAgentError):
        agents.make(text)


def test_each_seat_draws_its_own_policy_of_a_mix():
    lineup = Lineup(((0,), (1,), (2,)), ("mix:hold=1/4,prosocial=3/4", "dove"), (0.5, 0.5))
    assert lineup.players == ("hold", "prosocial", "dove")
    seats, coalition, drawn = lineup.seats(np.random.default_rng(0), 4000, ("A", "B", "C"))
    assert (seats[np.arange(4000), coalition] == -1).all()
    others = np.sort(seats, axis=1)[:, 1:]
    assert (others[drawn == 1] == 2).all()
    mixed = others[drawn == 0]
    assert abs((mixed == 0).mean() - 0.25) < 0.03
    assert abs((mixed[:, 0] != mixed[:, 1]).mean() - 2 * 0.25 * 0.75) < 0.04  # one seat tells nothing of the other


# Networks that see the position only.


def test_a_network_that_sees_the_position_only_does_not_read_points(tmp_path):
    config = TrainConfig(
        map_name="clique:3", years=3, games=4, iterations=1, horizon=3, width=4, layers=1, out=tmp_path / "blind",
        sees="position",
    )  # fmt: skip
    path = train(config)
    network: BoardNetwork = agents.make(f"rl:{path}").network_for(load_board("clique:3"), RULES)
    assert not network.reads_points
    seeing = train(replace(config, out=tmp_path / "seeing", sees="all"))
    assert agents.make(f"rl:{seeing}").network_for(load_board("clique:3"), RULES).reads_points
    again = train(replace(config, out=tmp_path / "started", start=seeing))
    assert not agents.make(f"rl:{again}").network_for(load_board("clique:3"), RULES).reads_points
    with pytest.raises(TrainingError, match="sees"):
        train(replace(config, sees="all"))
    with pytest.raises(TrainingError, match="sees"):
        TrainConfig(sees="nothing")


# The table and the mix.


def test_the_table_has_what_games_pay():
    config = replace(SMALL, years=3)
    policies = ("hold", "prosocial")
    seatings = list(seatings_of(2, 3))
    points = dict(zip(seatings, play_seatings(config, policies, seatings).tolist(), strict=True))
    assert len(points) == 8
    for seating, paid in points.items():
        profile = {
            power: policies[policy] for power, policy in zip(load_board("clique:3").powers, seating, strict=True)
        }
        wanted = exploitability("clique:3", profile, 3, powers=[]).points
        assert np.allclose(paid, np.array(list(wanted.values())) / 3)
    table = payoffs(points, 2)
    assert table[3, 0][0] == 0
    assert table[0, 3][1] == 2
    assert np.isnan(table[0, 3][0])


def test_payoffs_are_means_over_seats_and_seatings():
    points = {(0, 0, 1): (1, 2, 6), (0, 1, 0): (3, 8, 4), (1, 0, 0): (1, 5, 9), (1, 1, 1): (1, 2, 6)}
    table = payoffs(points, 2)
    assert table[2, 1] == [4, 5]
    assert np.isnan(table[0, 3][0])
    assert table[0, 3][1] == 3


def test_seatings_of_many_powers_are_rotations():
    seatings = list(seatings_of(2, 7))
    assert len(seatings) == len(set(seatings)) == 2 + 6 * 7
    assert {sum(seating) for seating in seatings} == set(range(8))


@pytest.mark.slow
def test_nash_is_the_smallest_equilibrium_that_pays_most():
    coordination = SymmetricGame.of(("a", "b"), {(2, 0): (1, np.nan), (1, 1): (0, 0), (0, 2): (np.nan, 2)})
    assert solve(coordination, "nash").tolist() == [0, 1]
    hawk_dove = SymmetricGame.of(("dove", "hawk"), {(2, 0): (2, np.nan), (1, 1): (1, 3), (0, 2): (np.nan, 0)})
    assert solve(hawk_dove, "nash").tolist() == [0.5, 0.5]
    assert solve(hawk_dove, "uniform").tolist() == [0.5, 0.5]
    assert solve(hawk_dove, "pure").tolist() == [1, 0]  # a hawk gains 1 among doves, and a dove 1 among hawks
    cycle = {}
    for own in range(5):  # five strategies, each beats the two after it: none of four is an equilibrium
        for other in range(own, 5):
            counts = np.zeros(5, int)
            counts[own] += 1
            counts[other] += 1
            paid = np.full(5, np.nan)
            paid[own], paid[other] = (0, 0) if own == other else (1, -1) if (other - own) % 5 <= 2 else (-1, 1)
            cycle[tuple(counts.tolist())] = paid
    found = solve(SymmetricGame.of(tuple("abcde"), cycle), "nash")
    assert np.abs(found - 0.2).max() < 0.05


@pytest.mark.parametrize(
    ("paid", "chosen"),
    [  # what row gets against column, for the strategies a, b and c
        ([[5, 0, 0], [6, 3, 0], [9, 9, 1]], 2),  # all gain by leaving a (4) and b (6), but not by leaving c
        ([[5, 9, 9], [7, 1, 9], [0, 0, 8]], 2),  # leaving c gains 1, a 2, b 8: the least counts, not the best payoff
        ([[3, 0, 0], [0, 5, 0], [0, 0, 4]], 1),  # nobody gains by leaving any: the one that pays most
        ([[3, 0, 0], [0, 5, 0], [0, 0, 5]], 2),  # of these the latest
        ([[5, 0, 0], [0, 5, 0], [7, 0, 4]], 1),  # c gains 2 where all play a; staying is no loss with b or c
    ],
)
def test_pure_is_the_strategy_that_is_least_worth_leaving(paid, chosen):
    table = {}
    for own in range(3):
        for other in range(own, 3):
            counts, worth = [0, 0, 0], [np.nan] * 3
            for one, two in ((own, other), (other, own)):
                worth[one] = paid[one][two]
            counts[own] += 1
            counts[other] += 1
            table[tuple(counts)] = worth
    assert solve(SymmetricGame.of(("a", "b", "c"), table), "pure").tolist() == np.eye(3)[chosen].tolist()


@pytest.mark.parametrize("count", [1, 3, 7])
def test_shares_sum_to_one(count):
    found = rounded(np.random.default_rng(count).random(count)) * PARTS
    assert np.allclose(found, np.round(found))
    assert round(found.sum()) == PARTS


# The loop.


def weights_in(folder: Path):
    return {
        str(path.relative_to(folder)): load_file(path)
        for path in sorted(folder.glob("response-*/best/weights.safetensors"))
    }


def same(one, other):
    assert one.keys() == other.keys() != set()
    for path, weights in one.items():
        assert all(np.array_equal(weights[name], other[path][name]) for name in weights)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A finished population in a folder "p", the name that tells the policies of all."""
    folder = tmp_path_factory.mktemp("whole") / "p"
    return folder, train_population(replace(SMALL, out=folder))


@pytest.mark.slow
def test_a_step_tells_what_its_mix_is_worth(undisturbed):
    folder, steps = undisturbed
    assert [step.step for step in steps] == [0, 1, 2]
    assert [len(step.policies) for step in steps] == [2, 3, 4]
    for step in steps:
        assert sum(step.mix.values()) == pytest.approx(1)
        assert step.regret <= 1e-6
        found = exploitability("clique:3", step.text, 2)
        assert (step.gap, step.welfare) == (found.gap, found.welfare)
        assert step.payoff == pytest.approx(step.welfare)
        assert step.gap >= step.mean_gap >= 0
        assert (folder / f"payoffs-{step.step}.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_population_that_is_interrupted_goes_on_to_the_same_weights(tmp_path, undisturbed, at, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, steps = undisturbed
    done = 0

    def stop(step, progress):
        nonlocal done
        done += 1
        if done == at:
            raise KeyboardInterrupt

    config = replace(SMALL, out=tmp_path / "p")
    with pytest.raises(KeyboardInterrupt):
        train_population(config, on_progress=stop)
    resumed = train_population(config)
    same(weights_in(folder), weights_in(tmp_path / "p"))
    assert [(step.gap, list(step.mix.values())) for step in resumed] == [
        (step.gap, list(step.mix.values())) for step in steps
    ]


@pytest.mark.slow
def test_files_that_are_lost_or_damaged_are_made_again(tmp_path, undisturbed):
    folder, steps = undisturbed
    (tmp_path / "p").parent.mkdir(exist_ok=True)
    shutil.copytree(folder, tmp_path / "p")
    config = replace(SMALL, out=tmp_path / "p")
    (tmp_path / "p" / "table.json").write_text("[[1")
    (tmp_path / "p" / "steps.jsonl").unlink()
    again = train_population(config)
    assert [step.gap for step in again] == [step.gap for step in steps]
    (tmp_path / "p" / "steps.jsonl").write_text("{}\n")
    with pytest.raises(TrainingError, match="steps"):
        train_population(config)


@pytest.mark.slow
def test_a_population_can_be_extended_but_not_changed(tmp_path, undisturbed):
    folder, _ = undisturbed
    config = replace(SMALL, out=tmp_path / "p", steps=1)
    assert len(train_population(config)) == 2
    assert len(training.resume(config.folder, iterations=2)) == 3
    same(weights_in(folder), weights_in(tmp_path / "p"))
    for changes in ({"years": 3}, {"begin": "hold"}, {"solver": "uniform"}, {"seed": 1}):
        with pytest.raises(TrainingError, match=next(iter(changes))):
            train_population(replace(config, **changes))


@pytest.mark.slow
def test_an_exact_oracle_begins_with_the_exact_best_response(tmp_path):
    config = replace(SMALL, out=tmp_path / "p", oracle="exact", begin="hold", steps=1, years=3, iterations=1)
    steps = train_population(config)
    for power, told in steps[0].seats.items():
        others = dict.fromkeys(load_board("clique:3").powers, "hold")
        begin = config.response_folder(1) / "begin"
        found = exploitability("clique:3", others | {power: f"rl:({begin})"}, 3, powers=[])
        assert found.points[power] == told["best"] > told["points"]
    shutil.rmtree(config.response_folder(1))
    train_population(config)
    assert begin.exists()  # imitated again, where it is lost


@pytest.mark.slow
def test_an_exact_oracle_begins_on_toy_boards_only(tmp_path):
    with pytest.raises(TrainingError, match="can be convoyed on standard"):
        train_population(replace(SMALL, map_name="standard", oracle="exact", out=tmp_path / "q"))


@pytest.mark.slow
def test_a_population_that_is_killed_goes_on_to_the_same_weights(tmp_path, undisturbed):
    folder, _ = undisturbed
    command = [sys.executable, "-m", "training", "psro", "--map", "clique:3", "--years", "2", "--steps", "2",
               "--iterations", "3", "--games", "8", "--width", "8", "--layers", "1", "--begin", "hold + prosocial",
               "--out", str(tmp_path / "p"), "--json"]  # fmt: skip
    for seconds in (12, 20, 28):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        running.send_signal(signal.SIGKILL)
        running.wait()
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=os.environ)
    assert len(json.loads(done.stdout)) == 3, done.stderr
    same(weights_in(folder), weights_in(tmp_path / "p"))


@pytest.mark.parametrize(
    "changes", [{"begin": ""}, {"begin": "hold+hold"}, {"solver": "best"}, {"steps": -1},
                {"years": 0}, {"lr": float("nan")}, {"begin": "mix:hold=1"}]
)  # fmt: skip
def test_configs_that_make_no_sense_are_refused(changes):
    with pytest.raises(TrainingError):
        PopulationConfig(**changes)


def test_the_command_prints_a_table_and_refuses_in_one_line(tmp_path):
    given = ["psro", "--map", "clique:2", "--years", "1", "--steps", "0", "--out", str(tmp_path / "p")]
    told = CliRunner().invoke(app, given)
    assert told.exit_code == 0
    assert "exact gap" in told.output.replace("\n", " ") or "gap" in told.output
    other = CliRunner().invoke(app, [*given[:-3], "0", "--seed", "3", "--out", str(tmp_path / "p")])
    assert other.exit_code != 0


def test_what_is_refused_leaves_no_folder_and_no_other_training_is_touched(tmp_path):
    with pytest.raises(UnknownMapError):
        train_population(replace(SMALL, map_name="nomap", out=tmp_path / "p"))
    assert not (tmp_path / "p").exists()
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "config.json").write_text(json.dumps({"kind": "board"} | TrainConfig().to_dict()))
    with pytest.raises(TrainingError, match="another kind"):
        train_population(replace(SMALL, out=tmp_path / "q"))
    (tmp_path / "q" / "config.json").write_text(json.dumps({"kind": "population"} | replace(SMALL, seed=9).to_dict()))
    with pytest.raises(TrainingError, match=f"it has seed=9, this one {SMALL.seed}. Give the same options"):
        train_population(replace(SMALL, out=tmp_path / "q"))


def as_text(step):
    """All of a step as a text, in which the missing bounds of games that are all alike, nan, are equal."""
    return json.dumps(asdict(step), sort_keys=True)


@pytest.mark.slow
def test_a_gap_that_is_too_large_to_compute_is_told_and_the_mix_is_attacked(tmp_path):
    config = replace(SMALL, out=tmp_path / "p", begin="hold", steps=0, max_positions=1)
    steps = train_population(config)
    assert steps[0].gap is None
    assert "more than 1 positions" in steps[0].why
    assert steps[0].attack == attacked(config, {"hold": 1.0}).to_dict()
    assert step_table(steps).columns[-1].header == "the portfolio gains"
    again = train_population(replace(config, portfolio_games=3))
    assert list(map(as_text, again)) == list(map(as_text, steps))  # what is measured stays


def test_shares_need_not_be_round():
    config = replace(SMALL, portfolio_games=2)
    assert attacked(config, dict.fromkeys(("hold", "prosocial", "punisher:t=1"), 1 / 3)).games == 2
    with pytest.raises(UnknownAgentError, match="shares"):
        attacked(config, {"hold": 0.5, "prosocial": 0.25})


@pytest.mark.slow
def test_an_attack_is_a_lower_bound():
    config = replace(SMALL, years=3, portfolio_games=5)  # an interval needs five games
    for mix in ({"hold": 1.0}, {"prosocial": 1.0}, {"prosocial": 0.5, "hold": 0.5}):
        found = attacked(config, mix)
        step = Step(0, tuple(mix), mix, 0, 0)
        exact = exploitability("clique:3", step.text, 3)
        assert found.gain <= exact.gap + (1 if len(mix) > 1 else 0)  # a mix is drawn: points of five games
        assert found.games == 5
        if len(mix) > 1:
            assert found.low <= found.gain <= found.high
        else:
            assert math.isnan(found.low)  # all games are alike
            assert math.isnan(found.high)
        assert found == attacked(config, mix)
    prosocial = attacked(config, {"prosocial": 1.0})
    assert prosocial.welfare == exploitability("clique:3", "prosocial", 3).welfare
    assert prosocial.gain > 0


@pytest.mark.slow
def test_the_portfolio_gains_what_it_gains_in_single_games():
    config, rules = PopulationConfig(map_name="standard", years=2, portfolio_games=2), Rules(press=None, years=2)
    for profile in ("hold", "prosocial"):
        found = attacked(config, {profile: 1.0})
        single = evaluation.exploitability(profile, deviator="portfolio", coalitions="singles", games=2, rules=rules)
        assert agents.make(found.deviator).__class__ is agents.make(single.best_gain.deviator).__class__
        assert found.gain == pytest.approx(single.value.value, abs=0.5)  # deviators draw
