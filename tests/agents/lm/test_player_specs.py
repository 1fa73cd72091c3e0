"""Language models from specs, and what the players of a run share."""

import pytest

import agents
from agents.lm.player.policy import LMPolicy
from agents.lm.player.settings import Style
from agents.lm.prompts import Flavour
from agents.lm.prompts.parts import Ablation, Addition
from welfare_env import UnknownAgentError

FULL = (
    "lm:openai/some-model,temperature=0.7,top_p=none,max_tokens=500,flavour=sd,ablate=no_reasoning+no_examples,"
    "add=journal+threats,summariser=anthropic/other,schema=form,base_url=http://127.0.0.1:8123/v1,effort=low,timeout=30.0,"
    "retries=2,max_concurrent=4"
)


def test_options_reach_the_player():
    policy = agents.make(FULL)
    assert isinstance(policy, LMPolicy)
    ablation = Ablation.NO_REASONING | Ablation.NO_EXAMPLES
    assert policy.style == Style(
        Flavour.SD, ablation, 0.7, None, 500, "form", addition=Addition.JOURNAL | Addition.THREATS
    )
    model = policy.model
    assert (model.name, model.base_url) == ("openai/some-model", "http://127.0.0.1:8123/v1")
    assert (model.effort, model.timeout, model.retries) == ("low", 30.0, 2)
    assert policy.summariser.name == "anthropic/other"


def test_a_grammar_reaches_the_model():
    server = "base_url=http://127.0.0.1:8123/v1"
    policy = agents.make(f"lm:openai/x,schema=all,{server},grammar=llama.cpp")
    assert (policy.model.grammar, policy.style.schema) == ("llama.cpp", "all")
    with pytest.raises(UnknownAgentError, match=r"vllm, llama\.cpp"):
        agents.make(f"lm:openai/x,{server},grammar=ebnf")
    with pytest.raises(UnknownAgentError, match="no setting 'grammar'"):
        agents.make("lm:anthropic/x,grammar=vllm")


def test_defaults_are_the_papers():
    policy = agents.make("lm:scripted/stub")
    assert (policy.style.temperature, policy.style.top_p) == (1.0, 0.9)
    assert policy.style.ablation == Ablation(0)
    assert policy.summariser is policy.model


def test_summarisers():
    assert agents.make("lm:scripted/stub,summariser=none").summariser is None
    base_url = "base_url=http://127.0.0.1:1/v1"
    policy = agents.make(f"lm:openai/large,summariser=openai/small,{base_url}")
    assert (policy.summariser.name, policy.summariser.base_url) == ("openai/small", "http://127.0.0.1:1/v1")
    assert "127.0.0.1" not in agents.make(f"lm:openai/a,summariser=anthropic/b,{base_url}").summariser.base_url


def test_canonical_specs():
    assert agents.canonical(FULL) == FULL
    spec = "(lm:openai/x,ablate=no_examples+no_tradeoff)"
    assert agents.canonical(spec) == "lm:openai/x,ablate=no_tradeoff+no_examples"
