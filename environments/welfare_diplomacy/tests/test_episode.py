"""An episode of seven seats, against the package's stub server: every trace is paid the welfare of its power."""

from __future__ import annotations

import asyncio

import pytest
import verifiers.v1 as vf

import evaluation
from agents.lm.stub import StubServer
from welfare_env import Rules

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


def episode_of(monkeypatch, **options):
    """The episode of one game, and how many requests the server got."""
    monkeypatch.setenv("WELFARE_STUB_KEY", "none")

    async def play(url):
        taskset = {"id": "welfare_diplomacy", "games": 1}
        from welfare_diplomacy import WelfareEnvConfig

        config = WelfareEnvConfig(taskset=taskset, years=1, **options)
        env = vf.load_environment(config)
        client = vf.EvalClientConfig(base_url=url, api_key_var="WELFARE_STUB_KEY")
        context = vf.ModelContext(model="any", client=client, sampling=vf.SamplingConfig(max_tokens=2000))
        (task,) = list(env.taskset)
        async with env.serving():
            return await env.run_episode(task, context)

    with StubServer() as stub:
        episode = asyncio.run(play(f"{stub.url}/v1"))
        assert [error.message for error in episode.errors] == []
        return episode, len(stub.requests)


def test_rewards_are_the_welfare_of_seven_seats(monkeypatch) -> None:
    episode, requests = episode_of(monkeypatch)
    assert episode.ok
    assert len(episode.traces) == requests == 7 * 3  # a question a power in Spring, Fall and Winter
    rules = Rules(years=1, message_rounds=1)
    with StubServer() as stub:
        spec = f"lm:openai/any,base_url={stub.url}/v1,summariser=none,temperature=none,top_p=none"
        result = evaluation.self_play(spec, 1, rules=rules, simultaneous=True)
    (game,) = result.measures
    for trace in episode.traces:
        assert trace.rewards["welfare"].score == game.welfare_per_year[trace.info["power"]]
        assert trace.metrics["root_nash_welfare"] == game.root_nash_welfare
        assert trace.agent.name == trace.info["power"].lower()
    assert {trace.info["power"] for trace in episode.traces} == set(POWERS)


def test_scripted_seats_ask_nothing(monkeypatch) -> None:
    episode, requests = episode_of(monkeypatch, policy="FRANCE*(lm:agent,summariser=none) + 6*dove")
    assert episode.ok
    assert {trace.info["power"] for trace in episode.traces} == {"FRANCE"}
    assert requests == len(episode.traces) == 3


@pytest.mark.parametrize("policy", ["dve", "2*lm:agent"])
def test_a_wrong_policy_fails_the_episode_with_its_error(monkeypatch, policy) -> None:
    with pytest.raises(AssertionError, match=r"dove|seats"):
        episode_of(monkeypatch, policy=policy)
