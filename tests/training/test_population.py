"""Populations: the payoffs of the empirical game, its equilibrium, what a mix is worth, and resuming; and curves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import training
from evaluation.exact import exploitability
from evaluation.measures.symmetric_game import SymmetricGame
from training import PopulationConfig, TrainingError
from training.cli.commands import app
from training.population import psro
from training.population.psro import as_policy, equilibrium, payoffs, seatings_of

SMALL = PopulationConfig(map_name="clique:3", begin="hold+prosocial", steps=1, years=2, iterations=2, games=8)


def test_payoffs_are_means_over_seats_and_seatings() -> None:
    points = {(0, 0, 1): (1, 2, 6), (0, 1, 0): (3, 8, 4), (1, 0, 0): (1, 5, 9), (1, 1, 1): (1, 2, 6)}
    table = payoffs(points, 2)
    assert table[2, 1] == [4, 5]
    assert np.isnan(table[0, 3][0])
    assert table[0, 3][1] == 3


def test_on_a_larger_board_every_combination_is_played_in_its_rotations() -> None:
    assert len(set(seatings_of(3, 4))) == 3**4
    found = list(seatings_of(2, 7))
    assert len(set(found)) == len(found) == 2 + 6 * 7
    assert (1, 0, 0, 0, 0, 0, 0) in found
    assert (0, 1, 0, 1, 0, 0, 0) not in found


def test_of_several_equilibria_the_smallest_that_pays_most() -> None:
    nan = np.nan
    coordination = SymmetricGame.of(("a", "b"), [{(2, 0): (1, nan), (1, 1): (0, 0), (0, 2): (nan, 2)}])
    assert equilibrium(coordination).tolist() == [0, 1]
    hawk_dove = SymmetricGame.of(("dove", "hawk"), [{(2, 0): (2, nan), (1, 1): (1, 3), (0, 2): (nan, 0)}])
    assert equilibrium(hawk_dove).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("begin", ["", "hold+hold", "mix:hold=0.5,dove=0.5"])
def test_initial_policies_are_distinct_and_no_mixes(begin: str) -> None:
    with pytest.raises(TrainingError):
        replace(SMALL, begin=begin)


@pytest.mark.slow
def test_a_population_is_measured_exactly_and_goes_on_where_it_was(tmp_path: Path, monkeypatch) -> None:
    config = replace(SMALL, out=tmp_path / "p")
    found = training.train(config)
    assert [step.step for step in found] == [0, 1]
    for step in found:
        exact = exploitability("clique:3", as_policy(step.mix), 2)
        assert (step.gap, step.welfare) == (exact.gap, exact.welfare)
    monkeypatch.setattr(psro, "_step", lambda *_: pytest.fail("measured again"))
    assert training.resume(tmp_path / "p") == found
    monkeypatch.undo()
    assert len(training.resume(tmp_path / "p", iterations=2)) == 3
    with pytest.raises(TrainingError, match="years=2"):
        training.train(replace(config, years=3))
    (tmp_path / "p" / "steps.json").write_text("[{}")
    with pytest.raises(TrainingError, match="steps"):
        training.train(config)


@pytest.mark.slow
def test_a_mix_whose_gap_is_unknown_is_attacked(tmp_path: Path) -> None:
    out, table = tmp_path / "p", tmp_path / "p.csv"
    options = ["--begin", "prosocial", "--steps", "0", "--years", "5", "--map", "clique:3", "--max-positions", "1"]
    options += ["--portfolio-games", "2", "--out", str(out), "--csv", str(table)]
    done = CliRunner().invoke(app, ["psro", *options])
    assert (done.exit_code, "prosocial" in done.stdout) == (0, True)
    (step,) = training.resume(out)
    assert step.gap is None
    assert step.gain > 0
    assert step.deviator in table.read_text()


@pytest.mark.slow
def test_curves_are_drawn_and_written_as_a_table(tmp_path: Path) -> None:
    config = training.TrainConfig(map_name="clique:3", years=1, games=2, iterations=2, width=4, layers=1)
    folders = [str(training.train(replace(config, out=tmp_path / str(seed), seed=seed)).parent) for seed in (0, 1)]
    picture, table = tmp_path / "c.png", tmp_path / "c.csv"
    done = CliRunner().invoke(app, ["curves", *folders, "--out", str(picture), "--csv", str(table), "--level", "1"])
    assert (done.exit_code, len(table.read_text().splitlines())) == (0, 5)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(app, ["curves", *folders, "--metric", "nothing", "--out", str(picture)]).exit_code == 2
