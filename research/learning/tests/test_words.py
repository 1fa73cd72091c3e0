# ruff: noqa: E402  the imports need the extra rl
"""Whether words change what happens, measured: what players hear in place of what was said, and the effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ray")

import welfare_env
from agents.rl import checkpoint
from agents.rl.token_press import Said
from research.learning import word_effects as words
from research.learning.word_effects import Replaced, word_effects
from training import TrainConfig, train
from welfare_env import Rules, load_board
from welfare_env.engine import layout_of

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
def test_only_the_words_of_others_change(is_shuffled: bool) -> None:
    """The observer's own row, and the column of what it says to each."""
    as_said, told = (all_heard(spoken(said)) for said in (Said(BOARD, RULES, GAMES), replaced(is_shuffled)))
    np.testing.assert_array_equal(told[:, 0], as_said[:, 0])
    np.testing.assert_array_equal(told[:, :, 2::3], as_said[:, :, 2::3])
    assert (told[:, 1:, :2] != as_said[:, 1:, :2]).any()
    assert told[:, 1:, :2].any() == is_shuffled


def test_shuffled_words_are_those_of_one_other_game_and_as_frequent() -> None:
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


# The effects.

SMALL = TrainConfig(
    map_name="clique:2", years=1, press="tokens", games=8, iterations=1, horizon=1, epochs=1, width=8, layers=1,
    held_out_every=1, held_out_games=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(replace(SMALL, out=tmp_path_factory.mktemp("trained"))).parent


def rewritten(trained: Path, folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> Path:
    """A copy of the training, with other weights."""
    folder.mkdir()
    (folder / "config.json").write_text((trained / "config.json").read_text())
    given = checkpoint.load(trained / "checkpoint")
    weights = {name: np.array(value) for name, value in given.weights.items()}
    change(weights)
    checkpoint.save(folder / "checkpoint", replace(given, weights=weights))
    return folder


def deafen(weights: dict[str, np.ndarray]) -> None:
    weights["talk.voice.weight"][:] = 0


def sharpen(weights: dict[str, np.ndarray]) -> None:
    for name in ("talk.voice.weight", "score.weight"):
        weights[name] *= 100


@pytest.mark.slow
def test_words_do_nothing_to_the_deaf(trained: Path, tmp_path: Path) -> None:
    found = word_effects(rewritten(trained, tmp_path / "deaf", deafen), games=20)
    assert found["bits"]["value"] == pytest.approx(0, abs=1e-5)
    assert len({tuple(each["per_game"]) for each in found["returns"].values()}) == 1
    assert [each["value"] for each in found["lost"].values()] == [0, 0]


@pytest.mark.slow
def test_words_move_the_orders_of_those_who_listen(trained: Path, tmp_path: Path) -> None:
    louder = rewritten(trained, tmp_path / "loud", sharpen)
    plain, loud = (word_effects(folder, games=100)["bits"] for folder in (trained, louder))
    assert abs(plain["value"]) < 0.02 < loud["low"]
    assert loud["value"] <= np.log2(33)


def test_bits_of_known_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
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
