"""Learning to talk: the runner's message rounds, opponents that hear and speak, and words that are worth something."""

from collections import defaultdict, deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns

import agents
import welfare_env
from agents import ScriptedPolicy
from agents.rl.inputs import InputEncoder
from agents.rl.network import WORDS, BoardNetwork, Size
from agents.rl.token_press import to_send
from tests.playing import play_parallel
from tests.training.small import local_runner
from training.board.imitation import imitate, watch
from training.board.learner import means_by_kind
from training.board.modules import rows
from training.board.runner import BatchedEnvRunner, Play
from training.board.seats import LEARNER, Lineup
from training.board.tape import Tape
from training.errors import TrainingError
from welfare_env import Rules, load_board
from welfare_env.engine import State, layout_of
from welfare_env.game.press import TOKENS, observe_messages

RULES = Rules(years=1, press="tokens", message_rounds=2)
SMALL = Size(16, 1)
BOARD = load_board("clique:3")
EVERYBODY = Lineup(((),), ("learner",), (1.0,))


class Parrot(ScriptedPolicy):
    """Says things, some of which are no words, and notes what it hears."""

    heard: dict[tuple[str, str, int], list[tuple[str, str, str, int]]]

    def act(self, observation: Any, info: Any) -> Any:
        view = info["view"]
        told = [(message.sender, message.recipient, message.text, message.round) for message in view.messages]
        self.heard[self.agent, view.phase, view.message_round] = told
        return super().act(observation, info)

    def messages(self, view: welfare_env.View) -> list[tuple[str, str]]:
        number = view.powers.index(view.power)
        following = view.powers[(number + 1) % len(view.powers)]
        said = [(following, TOKENS[(number + view.message_round) % 5]), ("NOBODY", "accept")]
        return [*said, ("GLOBAL", "Let us be friends." if number else "accept")]

    def orders(self, view: welfare_env.View) -> list[str]:
        return []


@pytest.fixture(autouse=True)
def parrots(monkeypatch: pytest.MonkeyPatch) -> None:
    make = agents.make
    monkeypatch.setattr(agents, "make", lambda spec: Parrot() if spec == "parrot" else make(spec))


def a_play(lineup: Lineup = EVERYBODY, map_name: str = "clique:3", rules: Rules = RULES, **others: Any) -> Play:
    return Play(map_name, rules, lineup, SMALL, num_games=4, **others)


def noted(runner: BatchedEnvRunner, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, int], deque]:
    """A sample's decisions: (game, power) -> (packed observation, action) in their sequence."""
    found: dict[tuple[int, int], deque] = defaultdict(deque)
    decide = Tape.decide

    def note(tape: Tape, games: np.ndarray, powers: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        noted = columns["observations"], columns["actions"]
        for game, power, seen, action in zip(games.tolist(), powers.tolist(), *noted, strict=True):
            found[game, power].append((seen, action))
        decide(tape, games, powers, columns)

    monkeypatch.setattr(Tape, "decide", note)
    runner.sample()
    return found


class TestRunner:
    @pytest.mark.parametrize(("map_name", "years"), [("clique:3", 2), ("standard", 1)])
    def test_its_games_are_those_of_the_parallel_environment(self, monkeypatch, map_name: str, years: int) -> None:
        """The same words and orders give the same boards, and everybody hears what it hears there, neither more nor
        less, whenever it is asked."""
        runner = local_runner(a_play(map_name=map_name, rules=replace(RULES, years=years)))
        asked = noted(runner, monkeypatch)
        for game in range(4):
            self.check_game(runner.reader, {power: asked[game, power] for power in range(len(runner.board.powers))})

    def check_game(self, reader: InputEncoder, asked: dict[int, deque]) -> None:
        board, size, spoken = reader.board, layout_of(reader.board).size, 0
        env = welfare_env.parallel_env(board.name, rules=reader.rules)
        observations, infos = env.reset()
        slots = env.action_space(board.powers[0])["orders"].shape[0]
        while env.agents:
            actions = {}
            for power, agent in enumerate(board.powers):
                view = infos[agent]["view"]
                packed, action = asked[power][0] if asked[power] else (np.full(size + 2, -1), None)
                now = State(layout_of(board), packed[:size].astype(np.int32)).same_as(view.state)
                if not now or packed[-2] != view.message_round:
                    assert view.asked == "orders" or not env.game.position.is_alive(agent)
                    assert view.asked == "messages" or not view.legal_orders
                    continue
                asked[power].popleft()
                np.testing.assert_array_equal(packed[size:-2], observations[agent]["messages"].ravel())
                if view.asked == "messages":
                    words = to_send(board, power, action[: len(board.powers)])
                    actions[agent], spoken = view.encode_messages(words), spoken + len(words)
                else:
                    actions[agent] = {"orders": action[:slots], "messages": {}}
            observations, _, _, _, infos = env.step(actions)
        assert not any(asked.values())
        assert spoken > 10

    def test_the_league_talks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runner = local_runner(a_play(Lineup(((0,),), ("league",), (1.0,))))
        size = layout_of(runner.board).size
        seen = np.array([packed for decisions in noted(runner, monkeypatch).values() for packed, _ in decisions])
        heard = seen[:, size:-2].reshape(len(seen), 3, -1)
        assert heard[:, 1:, :2].any()  # of the first round, from others
        assert not heard[seen[:, -2] == 1].any()  # nothing was said before the first round

    @pytest.mark.parametrize("rules", [replace(RULES, mediator=True), replace(RULES, press="text")])
    def test_other_press_is_refused(self, rules: Rules) -> None:
        with pytest.raises(TrainingError, match=r"mediator|press='text'"):
            local_runner(a_play(rules=rules))


class TestOpponents:
    def test_policies_hear_and_say_what_they_do_in_the_parallel_environment(self, monkeypatch) -> None:
        """Words count; free text and unknown recipients are silence, as in lenient games."""
        inside: dict = {}
        monkeypatch.setattr(Parrot, "heard", inside, raising=False)
        local_runner(a_play(Lineup(((),), ("parrot",), (1.0,)))).sample()
        outside: dict = {}
        monkeypatch.setattr(Parrot, "heard", outside, raising=False)
        play_parallel(welfare_env.parallel_env("clique:3", rules=RULES), {power: Parrot() for power in BOARD.powers})
        assert {key: told for key, told in outside.items() if key in inside} == inside
        assert sum(map(len, inside.values())) > 20
        assert all(key in inside for key, told in outside.items() if key[2])  # all message rounds

    def test_a_planner_plays_without_knowing_the_others(self) -> None:
        quiet = Play("clique:2", Rules(press=None, years=1), Lineup(((0,),), ("plan:budget=1",), (1.0,)), SMALL)
        assert local_runner(quiet).sample()

    def test_a_policy_that_answers_nonsense_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Parrot, "act", lambda self, observation, info: 7)
        with pytest.raises(TrainingError, match=r"'parrot'.*7"):
            local_runner(a_play(Lineup(((),), ("parrot",), (1.0,)))).sample()


class TestImitation:
    def test_silence_is_not_taught(self) -> None:
        assert not watch(a_play(), "dumbbot", 2).observations[:, -2].any()

    @pytest.mark.slow
    def test_words_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Parrot, "heard", {}, raising=False)
        lesson, reader = watch(a_play(), "parrot", 4), InputEncoder(BOARD, RULES)
        assert set(lesson.observations[:, -2].tolist()) == {0, 1, 2}
        network = BoardNetwork(BOARD, SMALL, 2)
        assert imitate(network, reader, lesson, seed=0, lr=0.02) < 0.3
        inputs = reader.read(lesson.observations)
        answers, _, _ = network.answer(inputs, np.full(inputs.num_rows, -1.0))
        decision, slot = rows(inputs)
        assert (answers == lesson.actions[decision, slot]).mean() > 0.9


class TestLearning:
    def test_words_and_orders_count_alike(self) -> None:
        words = torch.tensor([False, True, True, True])
        assert means_by_kind(torch.tensor([5.0, 1.0, 2.0, 3.0]), words).tolist() == [5, 2]
        assert means_by_kind(torch.tensor([4.0, 2.0]), torch.tensor([False, False])).tolist() == [3, 0]
        assert means_by_kind(torch.tensor([4.0, 2.0]), None).tolist() == [3]

    def test_the_module_draws_what_it_learns_from(self) -> None:
        """RLlib's own runners ask the module for actions."""
        runner = local_runner(a_play())
        module, reader = runner.module[LEARNER].unwrapped(), runner.reader
        state = welfare_env.Game("clique:3", RULES).position.state.row
        heard = np.stack([observe_messages(BOARD, RULES, power, []) for power in BOARD.powers] * 2)
        packed = reader.pack(np.stack([state] * 6), np.arange(6) % 3, heard, np.array([1, 0, 2, 0, 1, 0]))
        drawn = module.forward_exploration({Columns.OBS: torch.from_numpy(packed)})
        assert runner.get_spaces()[LEARNER][0].contains(packed[0])
        assert runner.get_spaces()[LEARNER][1].contains(drawn[Columns.ACTIONS][0].numpy())
        told = module.forward_train({Columns.OBS: torch.from_numpy(packed), Columns.ACTIONS: drawn[Columns.ACTIONS]})
        decision, slot = told["row_decision"], told["row_slot"]
        torch.testing.assert_close(told[Columns.ACTION_LOGP], drawn[Columns.ACTION_LOGP][decision, slot])
        assert told["row_word"].sum() == 3 * len(BOARD.powers)
        assert drawn[Columns.ACTIONS][0].max() < WORDS
