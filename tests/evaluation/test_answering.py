"""What decides the answers of a language model is part of a game's key."""

import json

import pytest

import evaluation
import welfare_env
from agents.lm.errors import ConfigError
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubServer
from evaluation.play.game_spec import GameSpec
from evaluation.play.store import specification_key

POWERS = welfare_env.load_board("standard").powers


@pytest.fixture(autouse=True)
def _no_servers_named(monkeypatch):
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def told(policy, **others):
    seats = dict.fromkeys(POWERS, policy) | others
    return GameSpec(tuple(seats.items()), 0, welfare_env.Rules(years=1), "standard", "fast").to_dict()


def key(policy, **others):
    return specification_key(told(policy, **others))


def test_the_server_that_the_environment_names(monkeypatch):
    own = key("lm:openai/x")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "https://api.openai.com/v1"}]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one:8000/v1/")
    one = key("lm:openai/x")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "http://one:8000/v1"}]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://two:8000/v1")
    assert len({own, one, key("lm:openai/x")}) == 3


def test_the_environment_does_not_count_where_the_spec_names_the_server(monkeypatch):
    spec = "exploiter:nice=(lm:openai/x,base_url=http://here/v1,summariser=anthropic/y),attack=dumbbot"
    before = told(spec)
    assert before["language_models"] == [
        {"model": "anthropic/y", "server": "https://api.anthropic.com"},
        {"model": "openai/x", "server": "http://here/v1"},
    ]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert told(spec) == before
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere")
    assert told(spec) != before


@pytest.mark.parametrize("address", ["http://user:hunter2@host/v1", "http://host/v1?key=hunter2", "hunter2"])
def test_a_secret_in_the_environment_is_in_no_key_and_no_error(address, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL") as caught:
        told("lm:openai/x")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in json.dumps(told("lm:anthropic/x"))


def test_games_without_language_models_say_nothing_of_them(monkeypatch):
    before = told("dove")
    assert "language_models" not in before
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert told("dove") == before
    assert told("lm:scripted/stub")["language_models"] == [{"model": "scripted/stub"}]


def test_another_server_is_another_game(tmp_path, monkeypatch):
    """A game of one server is not taken for one of the other, and models that are shared ask the one named now."""
    rules, models = welfare_env.Rules(years=1, press=None), SharedModels()
    with StubServer() as one, StubServer() as two, evaluation.GameStore(tmp_path / "games.sqlite") as store:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for server, other in ((one, two), (two, one)):
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            before = other.stats["requests"]
            evaluation.self_play("FRANCE*lm:openai/any + 6*hold", 1, rules=rules, store=store, models=models)
            assert server.stats["requests"] > 0
            assert other.stats["requests"] == before
        assert store.count() == 2
