"""The example of a language model on this machine: llama.cpp serves random weights, which play a legal game."""

from pathlib import Path

import pytest

from agents.lm import OpenAIModel
from agents.lm.models.protocol import Block, Request
from agents.lm.reading.schemas import obeys, object_schema
from tests.examples import example

pytestmark = pytest.mark.tools


@pytest.fixture(scope="module")
def local():
    return example("local_model")


@pytest.fixture(scope="module")
def gguf_file(local, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "random.gguf"
    local.write_gguf(path, seed=1)
    return path


@pytest.fixture(scope="module")
def url(local, gguf_file):
    with local.served(gguf_file) as address:
        yield address


def test_a_legal_game_of_full_press(local, url) -> None:
    """Every reply is of its grammar, every order legal, and the scripted players play with it."""
    found = local.summary(local.play(url, years=1, rounds=1, seed=0))
    assert found["failed"] == found["refused_orders"] == 0
    assert found["asked"] == found["parsed"] == found["with_schema"] == found["obeyed"] > 0
    assert found["answered_by"] == {"local": found["calls"]}
    assert found["losses"] == {}
    assert len(found["orders"]["S1901M"]) == 3


def test_without_its_grammar_it_writes_none(url) -> None:
    """So it is the grammar, and not the weights, that makes replies legal."""
    schema = object_schema({"word": {"type": "string", "enum": ["quagga"]}})
    request = Request((), (Block("Which word?"),), schema, max_tokens=50)
    told = {
        grammar: OpenAIModel("local", base_url=url, grammar=grammar, retries=0).complete(request).text
        for grammar in ("llama.cpp", None)
    }
    assert {grammar: obeys(text, schema) for grammar, text in told.items()} == {"llama.cpp": True, None: False}
