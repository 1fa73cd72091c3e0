# ruff: noqa: E402  the imports need the extra rl
"""Learned players in games with tokens: what they hear, what they say, and which checkpoints fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import welfare_env
from agents.rl import checkpoint
from agents.rl.checkpoint import CheckpointError
from agents.rl.inputs import InputEncoder, Inputs
from agents.rl.network import WORDS, BoardNetwork, Size
from agents.rl.token_press import Said, as_words, speakers, to_send
from tests.agents.rl.conftest import checkpoint_of, network, play_aec, play_parallel
from welfare_env import Game, Rules, load_board
from welfare_env.engine.fast import FastEngine
from welfare_env.game import press
from welfare_env.game.position import Position

TOKENS = Rules(years=1, press="tokens", message_rounds=2)
NONE, TEXT = replace(TOKENS, press=None), replace(TOKENS, press="text")
BOARD = load_board("clique:3")
STANDARD = load_board()


def made(rules: Rules, seed: int = 0) -> BoardNetwork:
    return network(BOARD, Size(16, 1), rules.message_rounds if rules.has_tokens else 0, seed)


def stored(folder: Path, rules: Rules, **changes: Any) -> str:
    """A checkpoint of a network that has learned nothing."""
    checkpoint.save(folder, checkpoint_of(BOARD, rules, Size(16, 1), **changes))
    return str(folder)


def some_words(rng: np.random.Generator, board: welfare_env.Board, rules: Rules, games: int) -> Said:
    """Everybody has said something or nothing to everybody."""
    said, powers = Said(board, rules, games), len(board.powers)
    which, who = (grid.ravel() for grid in np.meshgrid(np.arange(games), np.arange(powers), indexing="ij"))
    for message_round in range(1, 1 + rules.message_rounds):
        said.say(message_round, which, who, rng.integers(WORDS, size=(len(which), powers)))
    return said


def mixed(reader: InputEncoder, rng: np.random.Generator) -> Inputs:
    """Decisions of words and of orders in one batch, in random positions."""
    env = welfare_env.vector_env(8, reader.board.name, replace(reader.rules, press=None))
    env.reset(seed=3)
    for _ in range(3):
        env.step(env.sample())
    games, powers = np.nonzero(speakers(reader.board, env.rows))
    said = some_words(rng, reader.board, reader.rules, 8)
    rounds = np.arange(len(games)) % (1 + reader.message_rounds)
    return reader.read(reader.pack(env.rows[games], powers, said.heard(games, powers), rounds))


def told(game: Game) -> list[tuple[Any, ...]]:
    """What happened in a game, without the sequence in which messages were sent in a round."""
    return [
        (record.phase, record.orders, record.void, sorted(record.messages, key=lambda sent: (sent.round, repr(sent))))
        for record in game.history
    ]


class TestHearing:
    @settings(max_examples=30)
    @given(words=st.lists(st.integers(0, WORDS - 1), min_size=7, max_size=7), power=st.integers(0, 6))
    def test_words_are_sent_to_whom_they_were_meant_for(self, words: list[int], power: int) -> None:
        sent = dict(to_send(STANDARD, power, np.array(words)))
        assert as_words(STANDARD, power, sent).tolist() == words
        others = [STANDARD.powers[(power + seat) % 7] for seat in range(1, 7)]
        for recipient, word in zip([*others, "GLOBAL"], words, strict=True):
            assert sent.get(recipient) == ("", *press.TOKENS)[word] or (word == 0 and recipient not in sent)

    @pytest.mark.parametrize("map_name", ["clique:3", "standard"])
    def test_those_speak_who_do_in_the_environments(self, map_name: str) -> None:
        """Also where powers are eliminated, and in retreats."""
        env = welfare_env.vector_env(20, map_name, Rules(press=None, years=4))
        env.reset(seed=1)
        engine = FastEngine(env.board, TOKENS)
        for _ in range(12):
            for game, found in enumerate(speakers(env.board, env.rows)):
                position = Position(engine, env.state(game))
                asked = press.speakers(position) if position.state.phase_type != "R" else []
                assert [power for power, speaks in zip(env.board.powers, found, strict=True) if speaks] == asked
            env.step(env.sample())

    @pytest.mark.parametrize("word", ["peace?", 3, None, ["accept"], np.array([1, 2])])
    def test_what_is_no_word_is_silence(self, word: Any) -> None:
        assert not as_words(BOARD, 0, {"GLOBAL": word}).any()


class TestNetwork:
    def test_a_phase_without_words_is_a_board_without_press(self) -> None:
        env = welfare_env.vector_env(4, "clique:3", NONE)
        env.reset()
        games, powers = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
        chances = np.random.default_rng(0).random(12)
        answers = [
            made(rules).answer(reader.read(reader.pack(env.rows[games], powers)), chances)
            for rules, reader in ((NONE, InputEncoder(BOARD, NONE)), (TOKENS, InputEncoder(BOARD, TOKENS)))
        ]
        for without, silent in zip(*answers, strict=True):
            np.testing.assert_array_equal(without, silent)

    def test_learning_reads_the_probabilities_that_playing_drew_from(self) -> None:
        network, inputs = made(TOKENS), mixed(InputEncoder(BOARD, TOKENS), np.random.default_rng(5))
        assert 0 < len(inputs.provinces) < inputs.num_rows
        answers, logps, values = network.answer(inputs, np.random.default_rng(1).random(inputs.num_rows))
        judged = network.judge(inputs, answers)
        np.testing.assert_allclose(judged.logp.detach(), logps, atol=1e-5)
        np.testing.assert_allclose(judged.values.detach(), values, atol=1e-5)
        np.testing.assert_allclose(network.values(inputs).detach(), values, atol=1e-5)

    @pytest.mark.parametrize("of_words", [False, True])
    def test_what_was_heard_is_learned_from(self, of_words: bool) -> None:
        """Orders and words both send gradients to what hears; only words to what speaks."""
        network, inputs = made(TOKENS), mixed(InputEncoder(BOARD, TOKENS), np.random.default_rng(5))
        count = len(inputs.provinces)
        logp = network.judge(inputs, np.zeros(inputs.num_rows, np.int64)).logp
        (logp[count:] if of_words else logp[:count]).sum().backward()
        moved = {name for name, value in network.named_parameters() if value.grad is not None and value.grad.any()}
        assert {"talk.voice.weight", "talk.told.weight", "read.weight"} <= moved
        assert ("talk.word.weight" in moved) == of_words

    def test_a_silent_network_is_silent_where_words_are_asked_for(self) -> None:
        network, inputs = made(NONE), mixed(InputEncoder(BOARD, TOKENS), np.random.default_rng(5))
        answers, logps, _ = network.answer(inputs, np.random.default_rng(1).random(inputs.num_rows))
        assert not answers[len(inputs.provinces) :].any()
        assert not logps[len(inputs.provinces) :].any()


class TestPlaying:
    def test_one_game_in_both_environments(self, tmp_path: Path) -> None:
        """Speaking one after the other changes nothing: what was said in a round is heard in the next."""
        path = stored(tmp_path, TOKENS)
        games = [play(f"rl:{path}", 4, map_name="clique:3", rules=TOKENS) for play in (play_aec, play_parallel)]
        assert told(games[0]) == told(games[1])
        assert len([message for record in games[0].history for message in record.messages]) > 10

    @pytest.mark.parametrize(("learned", "rules"), [(TOKENS, TEXT), (TOKENS, NONE), (NONE, TOKENS)])
    def test_it_is_silent_without_tokens_in_the_game_or_in_its_training(self, tmp_path, learned, rules):
        game = play_parallel(f"rl:{stored(tmp_path, learned)}", map_name="clique:3", rules=rules)
        assert game.is_done
        assert not any(record.messages for record in game.history)

    def test_beside_a_mediator(self, tmp_path: Path) -> None:
        rules = replace(TOKENS, mediator=True)
        assert play_aec(f"rl:{stored(tmp_path, TOKENS)}", map_name="clique:3", rules=rules).is_done


class TestCheckpoints:
    def test_other_message_rounds_are_refused(self, tmp_path: Path) -> None:
        found = checkpoint.load(stored(tmp_path, TOKENS))
        with pytest.raises(CheckpointError, match=r"message_rounds=2.*message_rounds=3"):
            found.network_for(BOARD, replace(TOKENS, message_rounds=3))
        found.network_for(BOARD, replace(TEXT, message_rounds=3))

    def test_other_words_are_refused(self, tmp_path: Path) -> None:
        found = checkpoint.load(stored(tmp_path, TOKENS, words=press.VOCABULARY_VERSION + 1))
        with pytest.raises(CheckpointError, match="version 2"):
            found.network_for(BOARD, TOKENS)
        found.network_for(BOARD, NONE)
        about = json.loads((tmp_path / "checkpoint.json").read_text())
        del about["words"]
        (tmp_path / "checkpoint.json").write_text(json.dumps(about))
        with pytest.raises(CheckpointError, match="words"):
            checkpoint.load(tmp_path)

    @pytest.mark.parametrize(("taught", "learning"), [(NONE, TOKENS), (TOKENS, NONE), (TOKENS, TOKENS)])
    def test_a_warm_start_takes_over_what_both_have(self, tmp_path: Path, taught: Rules, learning: Rules) -> None:
        given = checkpoint.load(stored(tmp_path, taught))
        network, before = made(learning, seed=1), made(learning, seed=1).state_dict()
        given.warm_start(network, BOARD, learning)
        for name, value in network.state_dict().items():
            assert np.array_equal(value, given.weights.get(name, before[name])), name

    def test_a_warm_start_of_another_size_is_refused(self, tmp_path: Path) -> None:
        given = checkpoint.load(stored(tmp_path, NONE))
        with pytest.raises(CheckpointError):
            given.warm_start(BoardNetwork(BOARD, Size(8, 1), 2), BOARD, TOKENS)
