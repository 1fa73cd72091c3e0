"""Episodes of seven seats, with the package's stub server: the reward of every trace is its power's welfare."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import verifiers.v1 as vf
from welfare_diplomacy import RETRIES, WelfareEnvConfig

import evaluation
from agents.lm.stub import StubServer
from agents.lm.stub.replies import stub_reply
from welfare_env import Rules

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")
RULES = Rules(years=1, message_rounds=1)
SEEDED = "FRANCE*(lm:agent,summariser=none) + 6*random"


@pytest.fixture(autouse=True)
def _key(monkeypatch) -> None:
    monkeypatch.setenv("WELFARE_STUB_KEY", "none")


def episodes_of(stub, games=1, **options):
    """The episodes of an evaluation, in order; they may have errors."""

    async def play():
        config = WelfareEnvConfig(taskset={"id": "welfare_diplomacy", "games": games}, years=1, **options)
        env = vf.load_environment(config)
        client = vf.EvalClientConfig(base_url=f"{stub.url}/v1", api_key_var="WELFARE_STUB_KEY")
        context = vf.ModelContext(model="any", client=client, sampling=vf.SamplingConfig(max_tokens=2000))
        async with env.serving():
            return [await env.run_episode(task, context) for task in env.taskset]

    return asyncio.run(play())


def episode_of(stub, **options):
    """One episode without errors."""
    (episode,) = episodes_of(stub, **options)
    assert [error.message for error in episode.errors] == []
    assert episode.ok
    return episode


def failing(fails):
    """Replies of a server that refuses the requests of some numbers."""
    number = itertools.count()

    def answer(asked):
        if fails(next(number)):
            raise ValueError("refused")
        return stub_reply(asked.prompt, asked.schema)

    return answer


def rewards(episode):
    return [(trace.info["power"], trace.rewards["welfare"].score) for trace in episode.traces]


def test_rewards_are_the_welfare_of_seven_seats() -> None:
    with StubServer() as stub:
        episode = episode_of(stub)
        assert len(episode.traces) == len(stub.requests) == 7 * 3  # a question a power in Spring, Fall and Winter
    with StubServer() as stub:
        spec = f"lm:openai/any,base_url={stub.url}/v1,summariser=none,temperature=none,top_p=none"
        (game,) = evaluation.self_play(spec, 1, rules=RULES, simultaneous=True).measures
    assert len(set(game.welfare_per_year.values())) > 1, "otherwise any power's reward would do"
    for trace in episode.traces:
        assert trace.rewards["welfare"].score == game.welfare_per_year[trace.info["power"]]
        assert trace.metrics["root_nash_welfare"] == game.root_nash_welfare
        assert trace.agent.name == trace.info["power"].lower()
    assert {trace.info["power"] for trace in episode.traces} == set(POWERS)


def test_scripted_seats_ask_nothing() -> None:
    with StubServer() as stub:
        episode = episode_of(stub, policy="FRANCE*(lm:agent,summariser=none) + 6*dove")
        assert {trace.info["power"] for trace in episode.traces} == {"FRANCE"}
        assert len(stub.requests) == len(episode.traces) == 3


def test_games_are_those_of_the_seed_and_the_number() -> None:
    """The games are those of `evaluation.self_play`, also with random policies in the other seats."""
    with StubServer() as stub:
        first, second = (rewards(each) for each in episodes_of(stub, games=2, policy=SEEDED, seed=3))
        again = [rewards(each) for each in episodes_of(stub, games=2, policy=SEEDED, seed=3)]
        other = [rewards(each) for each in episodes_of(stub, games=2, policy=SEEDED, seed=4)]
        prompts = [request.body["messages"][-1]["content"] for request in stub.requests]
    assert again == [first, second]
    asked = [prompts[start : start + 6] for start in (0, 6, 12)]  # two games of three questions
    assert asked[0] == asked[1] != asked[2]
    assert prompts[1] != prompts[4], "the second game goes as the first"
    assert len(other) == 2


@pytest.mark.parametrize("reply", ["I resign.", '{"orders": ["A PAR - MOS", 5], "messages": {"NOBODY": "x"}}'])
def test_bad_replies_hold_and_are_paid_all_the_same(reply) -> None:
    """France gives no valid reply; the others play on."""

    def answer(asked):
        return reply if "You are FRANCE" in asked.prompt else stub_reply(asked.prompt, asked.schema)

    with StubServer(reply=answer) as stub:
        episode = episode_of(stub)
    paid = dict(rewards(episode))
    assert set(paid) == set(POWERS)
    assert paid["FRANCE"] == 0, "units that hold are not disbanded"
    assert max(paid.values()) > 0


def test_a_server_that_fails_stops_the_game_and_nothing_is_rewarded() -> None:
    with StubServer(reply=failing(lambda number: True)) as stub:
        (episode,) = episodes_of(stub, policy="FRANCE*(lm:agent,summariser=none) + 6*dove")
    assert not episode.ok
    assert Counter(trace.ok for trace in episode.traces) == {False: 1 + RETRIES}
    assert not any(trace.rewards for trace in episode.traces)


def test_a_run_that_fails_is_repeated_and_not_rewarded() -> None:
    with StubServer(reply=failing(lambda number: number in (0, 2))) as stub:
        (episode,) = episodes_of(stub, policy="FRANCE*(lm:agent,summariser=none) + 6*dove")
    assert [bool(trace.rewards) for trace in episode.traces] == [trace.ok for trace in episode.traces]
    assert Counter(trace.ok for trace in episode.traces) == {True: 3, False: 2}


@pytest.mark.parametrize("policy", ["dve", "2*lm:agent"])
def test_a_wrong_policy_fails_the_episode_with_its_error(policy) -> None:
    with StubServer() as stub:
        (episode,) = episodes_of(stub, policy=policy)
        assert not episode.ok
        assert any("dove" in error.message or "seats" in error.message for error in episode.errors)
        assert not stub.requests


def test_the_evaluation_of_the_command_line(tmp_path) -> None:
    """The README's command: the complete rollout, and the traces written."""
    with StubServer() as stub:
        client = ["--client.base-url", f"{stub.url}/v1", "--client.api-key-var", "WELFARE_STUB_KEY"]
        command = [Path(sys.executable).with_name("vf-eval"), "welfare_diplomacy", "--model", "any", *client]
        game = ["--sampling.max-tokens", "2000", "--env.years", "1", "--env.policy", SEEDED, "--no-push"]
        done = subprocess.run(
            [*command, *game], cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert {request.body["max_tokens"] for request in stub.requests} == {2000}
        expected = rewards(episode_of(stub, policy=SEEDED))
    (file,) = tmp_path.rglob("traces.jsonl")
    (episode,) = [json.loads(line) for line in file.read_text().splitlines()]
    traces = [(trace["info"]["power"], trace["rewards"]["welfare"]["score"]) for trace in episode["traces"]]
    assert traces == expected
    assert len(traces) == 3
