"""Learning to choose programs: what is learnt, that a training can be stopped anywhere, and what is refused."""

import doctest
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from typer.testing import CliRunner

import agents
import modal_env
import training
from agents.runtime.results import LONGEST
from modal_env.envs.rounds import Contest
from tests.training.small import stop_after
from training.cli.commands import app
from training.errors import TrainingError
from training.modal import ModalConfig, ModalProgress, ModalResult, train_modal
from training.modal.games import ProgramOpponent, play, programs_of
from training.modal.mixes import MixMetrics, rounded, spec_of
from training.modal.networks import make_network

ONE = Fraction(1)
SMALL = ModalConfig("program:FairBot", iterations=5, games=8, save_every=2)
TOKENS = ModalConfig("mix:FairBot=1/2,DefectBot=1/2", "tokens", iterations=5, games=8, save_every=2, budget=5)


# How games are played.


@pytest.mark.parametrize(
    ("actions", "against"), [("library", "mix:FairBot=1/2,PrudentBot=1/4,DefectBot=1/4"), ("tokens", "self")]
)
def test_games_are_those_of_the_environment(actions: str, against: str) -> None:
    """What was written, written again in `modal_env.make`, is paid the same; and every action was open."""
    setting = ModalConfig(against, actions).setting()
    opponent = None if against == "self" else ProgramOpponent(against, setting)
    network = make_network(setting)
    contests = [Contest(setting) for _ in range(20)]
    played = play(network, contests, opponent, np.random.default_rng(5))
    env = modal_env.make("1/10", actions=actions, strict=True)
    learning = 1 if opponent else 2
    assert len(played.programs) == len(played.payoffs) == 20 * learning
    assert played.masks[np.arange(len(played.actions)), played.actions].all()
    for game, contest in enumerate(contests):
        env.reset(seed=0)
        for program in contest.history[0].programs:
            for action in setting.mode().actions(program):
                env.step(action)
        paid = [env.rewards[name] for name in ("player_0", "player_1")[:learning]]
        assert played.payoffs[game * learning : (game + 1) * learning] == pytest.approx(paid)
    assert (played.returns == played.payoffs[played.turns]).all()


def test_actions_are_drawn_from_the_policy() -> None:
    setting = ModalConfig().setting()
    network = make_network(setting)
    contests = [Contest(setting) for _ in range(1500)]
    played = play(network, contests, ProgramOpponent("program:FairBot", setting), np.random.default_rng(0))
    chances = network.logits.detach().softmax(-1).numpy()
    assert np.bincount(played.actions, minlength=4) / 1500 == pytest.approx(chances, abs=0.05)
    assert np.exp(played.logps) == pytest.approx(chances[played.actions])


def test_opponents_are_drawn_from_the_mix() -> None:
    setting = ModalConfig().setting()
    opponent = ProgramOpponent("mix:FairBot=3/4,DefectBot=1/4,PrudentBot=0", setting)
    drawn = [opponent.turn(seed).program for seed in range(1000)]
    assert drawn.count(modal_env.FairBot) / 1000 == pytest.approx(0.75, abs=0.04)
    assert set(drawn) == {modal_env.FairBot, modal_env.DefectBot}
    reply = ProgramOpponent("best-reply:to=(program:PrudentBot)", setting)
    assert reply.shares == ((modal_env.FairBot, ONE),)


def test_a_new_writer_keeps_within_the_budget() -> None:
    setting = TOKENS.setting()
    torch.manual_seed(0)
    written = programs_of(make_network(setting), setting, 200, np.random.default_rng(0))
    assert max(agent.size for agent in written) <= 5
    assert len(set(written)) > 20


# How mixes are judged and written.


def test_exact_figures_are_those_of_the_game() -> None:
    setting = ModalConfig(epsilon="1/7").setting()
    game = modal_env.ProgramGame(modal_env.POST, "1/7")
    mix = np.array([0.1, 0.2, 0.3, 0.4])
    told = MixMetrics(setting, None)._exact(mix)
    exact = game.mix(["1/10", "2/10", "3/10", "4/10"])
    assert told["exact/payoff"] == pytest.approx(float(game.utility(exact, exact)))
    assert told["exact/gap"] == pytest.approx(float(max(game.replies(exact)) - game.utility(exact, exact)))
    met = MixMetrics(setting, ((modal_env.FairBot, ONE),))._exact(mix)
    assert met["exact/payoff"] == pytest.approx(float(game.utility(exact, modal_env.FairBot)))


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=9))
def test_rounded_shares_add_up(weights: list[float]) -> None:
    shares = np.array(weights) / sum(weights)
    programs = list(modal_env.LIBRARY.values())[: len(weights)]
    mix = rounded(programs, shares)
    assert sum(share for _, share in mix) == 1
    exact = dict(zip(programs, shares, strict=True))
    assert all(share > 0 and abs(float(share) - exact[agent]) < 0.001 for agent, share in mix)
    policy = agents.make(spec_of(mix))
    assert tuple(policy.shares) == mix


def test_the_average_is_that_of_the_last_iterations() -> None:
    names = ["DefectBot", "FairBot", "PrudentBot", "FairBot", "FairBot"]
    logged = [{f"share/{agent.name}": float(agent.name == name) for agent in modal_env.POST} for name in names]
    history = tuple(ModalProgress(i + 1, "", line) for i, line in enumerate(logged))
    result = ModalResult(ModalConfig(), history, ((modal_env.FairBot, ONE),), None)
    assert spec_of(result.average(4)) == "mix:FairBot=3/4,PrudentBot=1/4"


# Resuming.


@pytest.fixture(scope="module", params=[SMALL, pytest.param(TOKENS, marks=pytest.mark.slow)], ids=["library", "tokens"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModalResult:
    """A finished training, in `config.folder`; only to be read."""
    return train_modal(replace(request.param, seed=5, out=tmp_path_factory.mktemp("whole")))


def test_its_rows_are_those_of_the_log(whole: ModalResult) -> None:
    assert whole.rows() == training.log_rows([whole.config.folder])
    assert repr(whole) == str(whole)
    assert "Learned against" in str(whole)
    assert len(str(whole)) <= LONGEST


@pytest.mark.slow
@pytest.mark.parametrize(("error", "again"), [(RuntimeError, [3, 4, 5]), (KeyboardInterrupt, [4, 5])])
def test_an_interrupted_training_ends_like_an_undisturbed_one(tmp_path: Path, whole: ModalResult, error, again) -> None:
    """As if killed, an iteration after the last save; and after Ctrl-C, which saves."""
    config = replace(whole.config, out=tmp_path)
    with pytest.raises(error):
        train_modal(config, stop_after(3, error))
    seen: list[int] = []
    parts = train_modal(config, lambda progress: seen.append(progress.iteration))
    assert seen == again
    assert (parts.history, parts.shares) == (whole.history, whole.shares)
    before, after = state(whole.config.folder), state(tmp_path)
    assert before.keys() == after.keys()
    assert any("adam/" in name for name in before)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert (whole.config.folder / "log.jsonl").read_text() == (tmp_path / "log.jsonl").read_text()


@pytest.mark.slow
def test_a_finished_training_is_read_and_a_longer_one_goes_on(whole: ModalResult, tmp_path: Path) -> None:
    copied = replace(whole.config, out=shutil.copytree(whole.config.folder, tmp_path / "copy"))
    again = train_modal(copied, stop_after(5, RuntimeError))  # nothing is played again
    assert (again.history, again.shares) == (whole.history, whole.shares)
    told = CliRunner().invoke(app, ["resume", str(copied.folder), "--iterations", "6"])
    assert told.stdout.startswith("policy: ")
    longer = training.resume(copied.folder, iterations=7)
    assert longer.history[:5] == whole.history
    assert len(longer.history) == 7
    with pytest.raises(TrainingError, match="7 iterations"):
        train_modal(copied)


def state(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "state.safetensors")


@pytest.mark.slow
def test_seeds_matter_and_global_chance_does_not(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        torch.manual_seed(ord(name))
        drawn = torch.rand(1)
        torch.manual_seed(ord(name))
        train_modal(ModalConfig("program:FairBot", iterations=1, games=8, seed=seed, out=tmp_path / name))
        assert torch.equal(torch.rand(1), drawn)  # torch's own generator is left alone
    a, b, c = (state(tmp_path / name)["network/learner/logits"] for name in "abc")
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


# What is refused.


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"against": "prosocial"}, modal_env.GameError, "program:"),
        ({"against": "program:JustBot"}, modal_env.ProgramActionError, "not among the programs"),
        ({"against": "program:PrudentBot", "actions": "tokens", "budget": 3}, modal_env.FormulaError, "7 tokens"),
        ({"actions": "formula"}, TrainingError, "tokens"),
        ({"budget": 4}, modal_env.GameError, "budget"),
        ({"iterations": 0}, TrainingError, "iterations=0"),
    ],
)
def test_bad_options_are_told_before_anything_is_written(tmp_path, options, error, told) -> None:
    with pytest.raises(error, match=told):
        train_modal(ModalConfig(out=tmp_path / "new", **options))
    assert not (tmp_path / "new").exists()


def test_averages_of_formulas_are_refused() -> None:
    with pytest.raises(TrainingError, match="library"):
        ModalResult(TOKENS, (), (), None).average(2)


@pytest.mark.slow
def test_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "training-modal.md"
    monkeypatch.chdir(tmp_path)  # trainings go into runs/
    assert doctest.testfile(str(page), module_relative=False).failed == 0


# On the command line.


TRAIN = ["modal", "--against", "program:FairBot", "--iterations", "3", "--games", "4"]


def test_the_command_trains_and_tells(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, [*TRAIN, "--out", str(tmp_path), "--json"])
    assert told.exit_code == 0, told.output
    result = json.loads(told.stdout)
    assert result["best_reply"] == "CooperateBot"
    assert sum(result["shares"].values()) == pytest.approx(1)
    assert json.loads((tmp_path / "policy.json").read_text())["spec"] == result["spec"]
    assert list((tmp_path / "tensorboard").iterdir())
    table = CliRunner().invoke(app, [*TRAIN, "--out", str(tmp_path)])
    assert f"policy: {result['spec']}" in table.stdout
