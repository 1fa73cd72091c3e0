# ruff: noqa: E402  the imports need the extra rl
"""Whether words change what happens, measured: what players hear in place of what was said, and the effects."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("ray")

import welfare_env
from agents.rl import checkpoint
from agents.rl.earlier_network import EarlierNetwork
from agents.rl.network import Size
from agents.rl.token_press import Said, word_rounds
from evaluation.checks import EvaluationError
from training import TrainConfig, train
from training import word_effects as words
from training.board.ppo import make_config, play_of
from training.board.runner import BatchedEnvRunner
from training.cli.commands import app
from training.errors import TrainingError
from training.word_effects import Replaced, _orders, with_words_of_others, word_effects
from welfare_env import Rules, load_board
from welfare_env.engine import YEAR, layout_of

BOARD = load_board("clique:3")
RULES = Rules(years=2, press="tokens", message_rounds=2)
GAMES = 6


def spoken(said: Said) -> Said:
    """Everybody says something else to everybody, in both rounds; the last game is silent."""
    rng = np.random.default_rng(0)
    said.clear()
    games, powers = (part.ravel() for part in np.indices((GAMES - 1, 3)))
    for message_round in (1, 2):
        said.say(message_round, games, powers, rng.integers(1, 6, size=(len(games), 3)))
    return said


def replaced(is_shuffled: bool) -> Replaced:
    env = welfare_env.vector_env(GAMES, "clique:3", replace(RULES, press=None))
    env.reset()
    return Replaced(env, RULES, is_shuffled, np.random.default_rng(1))


def all_heard(said: Said) -> np.ndarray:
    games, powers = (part.ravel() for part in np.indices((GAMES, 3)))
    return said.heard(games, powers)


@pytest.mark.parametrize("is_shuffled", [True, False])
def test_only_the_words_of_others_change(is_shuffled):
    """The observer's own row, and the column of what it says to each."""
    as_said, told = (all_heard(spoken(said)) for said in (Said(BOARD, RULES, GAMES), replaced(is_shuffled)))
    np.testing.assert_array_equal(told[:, 0], as_said[:, 0])
    np.testing.assert_array_equal(told[:, :, 2::3], as_said[:, :, 2::3])
    assert (told[:, 1:, :2] != as_said[:, 1:, :2]).any()
    assert told[:, 1:, :2].any() == is_shuffled


def test_shuffled_words_are_those_of_one_other_game_and_as_frequent():
    as_said, told = (
        all_heard(spoken(said)).reshape(GAMES, 3, 3, -1) for said in (Said(BOARD, RULES, GAMES), replaced(True))
    )
    sources = np.zeros((3, GAMES), int)
    for power in range(3):
        for other in (1, 2):  # a sender's words in both rounds, to the power and to all, are of one game
            columns = [0, 1, 3, 4]
            for game in range(GAMES):
                same = (as_said[:, power, other][:, columns] == told[game, power, other][columns]).all(axis=1)
                assert same.sum() == 1
                sources[(power + other) % 3, game] = same.argmax()
    for source in sources:
        assert sorted(source) == list(range(GAMES))
    assert (sources != np.arange(GAMES)).any()


def test_words_are_shuffled_among_games_in_the_same_phase():
    said = replaced(True)
    rows = said._env.rows.copy()
    rows[:2, YEAR] = 1
    said._env = SimpleNamespace(rows=rows)
    for _ in range(20):
        said.clear()
        assert (np.sort(said._source[:, :2], axis=1) == [0, 1]).all()


def test_scripted_players_hear_what_is_replaced():
    assert spoken(Said(BOARD, RULES, GAMES)).messages(0, "S1901M")
    assert spoken(replaced(False)).messages(0, "S1901M") == []


def test_mixed_words_keep_what_a_power_said():
    heard, other = np.ones((1, 3, 6), np.int8), np.full((1, 3, 6), 2, np.int8)
    mixed = with_words_of_others(heard, other)
    assert mixed[0].tolist() == [[1] * 6, [2, 2, 1, 2, 2, 1], [2, 2, 1, 2, 2, 1]]
    assert (heard == 1).all()


# The effects.

SMALL = TrainConfig(
    map_name="clique:2", years=1, press="tokens", games=8, iterations=1, horizon=1, epochs=1, width=8, layers=1,
    held_out_every=1, held_out_games=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(replace(SMALL, folder=tmp_path_factory.mktemp("trained"))).parent


def rewritten(trained: Path, folder: Path, change) -> Path:
    """A copy of the training, with other weights."""
    folder.mkdir()
    (folder / "config.json").write_text((trained / "config.json").read_text())
    given = checkpoint.load(trained / "checkpoint")
    weights = {name: np.array(value) for name, value in given.weights.items()}
    change(weights)
    checkpoint.save(folder / "checkpoint", replace(given, weights=weights))
    return folder


def deafen(weights):
    weights["talk.voice.weight"][:] = 0


def sharpen(weights):
    for name in ("talk.voice.weight", "score.weight"):
        weights[name] *= 100


def test_words_do_nothing_to_the_deaf(trained, tmp_path):
    found = word_effects(rewritten(trained, tmp_path / "deaf", deafen), games=20)
    assert found.bits.value == pytest.approx(0, abs=1e-5)
    assert len({value.per_game for value in found.returns.values()}) == 1
    assert [value.value for value in found.lost.values()] == [0, 0]


@pytest.mark.slow
def test_words_move_the_orders_of_those_who_listen(trained, tmp_path):
    plain, loud = (word_effects(folder, games=100) for folder in (trained, rewritten(trained, tmp_path / "l", sharpen)))
    assert abs(plain.bits.value) < 0.02 < loud.bits.low
    assert loud.bits.value <= np.log2(33)


def test_bits_of_known_probabilities(monkeypatch):
    """Words that make an order certain which is never given otherwise, half as often, and as often."""
    size = layout_of(BOARD).size
    packed, game = np.zeros((4, size + 9 + 2), np.int32), np.array([0, 0, 1, 3])
    otherwise = np.array([-1000, np.log(0.5), 0, np.log(0.5)])
    monkeypatch.setattr(words, "_orders", lambda episodes, results: (packed, game))
    monkeypatch.setattr(words, "_drawn", lambda runner, asked, rng: (None, np.zeros(len(asked))))
    monkeypatch.setattr(words, "_judged", lambda runner, asked, answers: otherwise)
    found = words._bits(SimpleNamespace(board=BOARD), [], [None] * 4, 0)
    half = np.log2(33 / 17)
    assert found == pytest.approx([(np.log2(33) + half) / 2, 0, 0, half])


def test_every_decision_is_counted_in_its_own_game():
    """Where seats that learn differ from game to game."""
    play = replace(play_of(replace(SMALL, against=("learner", "hold"))), num_games=12)
    runner = BatchedEnvRunner(config=make_config(play, SMALL), worker_index=0)
    packed, games = _orders(runner.sample(), results := runner.take_results())
    assert {len(result.learners) for result in results} == {1, 2}
    found = {(game, power) for game, power in zip(games.tolist(), packed[:, -1].tolist(), strict=True)}
    assert found == {(game, power) for game, result in enumerate(results) for power in result.learners}
    assert not packed[:, -2].any()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_effects(trained):
    one, same, other = (word_effects(trained, games=20, seed=seed).to_dict() for seed in (0, 0, 1))
    assert one == same != other


@pytest.mark.slow
def test_greedy_play_and_the_best_iterate(trained):
    assert word_effects(trained, games=10).way == "drawn"  # self-play, as in training
    assert word_effects(trained, games=10, way="greedy", best=True).way == "greedy"


@pytest.mark.slow
def test_words_alone_can_be_drawn(trained, tmp_path):
    """Then nothing but words differs from game to game."""
    folder = rewritten(trained, tmp_path / "loud", sharpen)
    found = word_effects(folder, games=30, way="greedy orders").returns
    assert len(set(found["as said"].per_game)) > 1
    assert len(set(word_effects(folder, games=30, way="greedy").returns["as said"].per_game)) == 1
    deaf = word_effects(rewritten(trained, tmp_path / "deaf", deafen), games=30, way="greedy orders").returns
    assert len(set(deaf["as said"].per_game)) == 1


def test_words_of_an_earlier_network(trained, monkeypatch):
    torch.manual_seed(0)
    made = lambda board, rules: EarlierNetwork(board, Size(8, 1), word_rounds(rules))  # noqa: E731
    given = SimpleNamespace(greedy=False, network_for=made)
    monkeypatch.setattr(checkpoint, "load", lambda path: given)
    assert word_effects(trained, games=10).returns["as said"].n == 10


def test_what_cannot_be_measured_is_refused(trained, tmp_path):
    with pytest.raises(EvaluationError, match="10"):
        word_effects(trained, games=9)
    with pytest.raises(EvaluationError, match="seed"):
        word_effects(trained, seed=-1)
    with pytest.raises(EvaluationError, match="'greedy orders'"):
        word_effects(trained, way="greddy")
    with pytest.raises(TrainingError):
        word_effects(tmp_path)
    silent = train(replace(SMALL, press="none", folder=tmp_path / "silent")).parent
    with pytest.raises(EvaluationError, match="--press tokens"):
        word_effects(silent)


def test_the_command(trained):
    told = CliRunner().invoke(app, ["words", str(trained), "--games", "10", "--json"])
    assert told.exit_code == 0, told.output
    assert list(json.loads(told.stdout)["returns"]) == ["as said", "shuffled", "removed"]
    table = CliRunner().invoke(app, ["words", str(trained), "--games", "10", "--way", "greedy"])
    assert "removed" in table.stdout
    assert "(greedy)" in table.stdout
    assert CliRunner().invoke(app, ["words", str(trained / "nothing")]).exit_code == 2


@pytest.mark.parametrize(("goers", "points"), [(("LEFT",), 2), (("LEFT", "RIGHT"), 1), ((), 1)])
def test_one_can_go_through_the_pass_in_a_year(goers, points):
    """The board of docs/learning.md, Words."""
    game = welfare_env.Game(str(Path(__file__).parents[2] / "examples" / "pass.map"), Rules(years=1, press=None))
    for target in ("PAS", "COX"):
        for power in goers:
            orders = [f"{unit} - {target}" for unit in game.units[power]]
            game.submit(power, orders, strict=False)  # whoever was stood off is still at home
        game.advance()
    for power in ("LEFT", "RIGHT"):
        game.submit(power, [f"{unit} D" for unit in game.units[power]])
    game.advance()
    assert game.welfare["LEFT"] == points
