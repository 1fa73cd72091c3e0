"""Keys: where they are read, to whom they go, and that they get nowhere else."""

import json
import logging
import pickle
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lm import OpenAIModel
from agents.lm.errors import AccessError, ConfigError, ModelError
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.remote import REMOTE
from agents.lm.models.secrets import hide_secrets, redacted
from tests.agents.lm.transport import InProcess

KEY = "sk-veryverysecret-0123456789"
VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def sent_keys(stub: InProcess) -> list[str | None]:
    return [request.headers.get("authorization", request.headers.get("x-api-key")) for request in stub.requests]


def test_who_gets_which_key(provider, connect, question, stub, monkeypatch):
    """No other server gets the provider's, but the one that is named with a variable, and that of the environment."""
    monkeypatch.setenv(VARIABLES[provider], KEY + "\n")  # as `export KEY="$(cat file)"` might leave it
    monkeypatch.setenv("ROUTER_KEY", "another")
    connect(provider).complete(question)
    connect(provider, key_variable="ROUTER_KEY").complete(question)
    with monkeypatch.context() as patch:
        patch.setitem(REMOTE, provider, REMOTE[provider]._replace(url=stub.address(provider)))
        connect(provider, base_url=None).complete(question)
    monkeypatch.setenv(VARIABLES[provider].replace("API_KEY", "BASE_URL"), stub.address(provider))
    model = connect(provider, base_url=None)
    model.complete(question)
    monkeypatch.setenv(VARIABLES[provider], "new")  # looked up before every question
    model.complete(question)
    assert sent_keys(stub) == [f"Bearer {key}" for key in ("none", "another", KEY, KEY, "new")]
    assert model.settings["base_url"] == stub.address(provider)


@pytest.mark.parametrize(
    "url", [f"https://me:{KEY}@host/v1", f"https://host/v1?key={KEY}", f"http://[{KEY}@h", "host:80"]
)
def test_an_address_holds_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"^base_url") as caught:
        OpenAIModel("any", base_url=url)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ConfigError, match=r"^OPENAI_BASE_URL"):
        OpenAIModel("any")


@pytest.mark.parametrize(
    "extra", [{"api_key": "hunter2"}, {"a": [{"X-Token": "hunter2"}]}, {"user": KEY}, f'{{"{KEY}"']
)
def test_further_fields_hold_none(extra: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("any", extra=extra)
    assert "hunter2" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert OpenAIModel("any", extra={"thinking_token_budget": 5, "stop_token": 7}).extra


@pytest.mark.parametrize("name", ["_", "MONKEY", KEY, "", "2KEY", "gsk_" + "1aB2" * 12, 7])
def test_other_variables_are_sent_nowhere(name: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("any", key_variable=name)
    assert len(str(name)) < 9 or str(name) not in str(caught.value)


def test_the_screen_says_who_gets_it(caplog: pytest.LogCaptureFixture) -> None:
    OpenAIModel("any", base_url="http://127.0.0.1:1/v1", key_variable="ROUTER_KEY")
    OpenAIModel("gpt-6-luna", key_variable="MY_KEY")  # the provider's own server
    assert caplog.messages == ["openai/any: the value of ROUTER_KEY is sent to http://127.0.0.1:1/v1 as the key"]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("lm:openai/x,base_url=http://me:p,w@host/v1,retries=1", "lm:openai/x,base_url=[hidden]@host/v1,retries=1"),
        ("lm:openai/x,base_url=http://h/v1?k=pw,retries=1", "lm:openai/x,base_url=http://h/v1?[hidden],retries=1"),
        ("best:of=(lm:a/b,key_variable=sk-pw),to=dove", "best:of=(lm:a/b,key_variable=[hidden]),to=dove"),
        ("lm:openai/x,key_variable= MY_KEY,retries=1", "lm:openai/x,key_variable= MY_KEY,retries=1"),
        ('lm:x/y,extra=({"api_key": "pw", "k": 2})', 'lm:x/y,extra=({"api_key": "[hidden]", "k": 2})'),
        ("lm:openai/@cf/llama,base_url=http://h:1/v1", "lm:openai/@cf/llama,base_url=http://h:1/v1"),
    ],
)
def test_specs_that_are_quoted(spec: str, shown: str) -> None:
    assert hide_secrets(spec) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"Incorrect API key provided: {KEY}.", "Incorrect API key provided: [key]."),
        ("Incorrect API key provided: sk-proj-**************6789. See", "Incorrect API key provided: [key] See"),
        ("key 'sk-another-secret' is wrong", "key '[key]' is wrong"),
        ("see https://me:pw@proxy/ for the x-api-key header", "see https://[key]@proxy/ for the x-api-key header"),
        ("The model `gpt-99` does not exist", "The model `gpt-99` does not exist"),
    ],
)
def test_servers_words(said: str, shown: str) -> None:
    assert redacted(said, KEY) == shown


@given(st.sampled_from(["[", "a*", "//", "sk-", "base_url="]).map(lambda unit: unit * (100_000 // len(unit))))
def test_long_texts_take_no_longer_than_their_length_needs(said: str) -> None:
    """Of 100,000 characters a search that begins anew at every one takes minutes."""
    assert len(redacted(said, KEY)) <= len(said)
    assert hide_secrets(said) == said


# The stub puts the key that it was sent in the texts of its errors.
@pytest.mark.parametrize("fault", ["400", "401", "malformed", "cut"])
def test_in_no_error_and_no_log(fault, provider, connect, question, monkeypatch, caplog):
    monkeypatch.setenv("ROUTER_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with pytest.raises((ModelError, AccessError)) as caught:
        connect(provider, f"fail-{fault}", key_variable="ROUTER_KEY", retries=1).complete(question)
    error = caught.value
    assert (error.__cause__, error.__context__) == (None, None)  # the SDK's error would hold request and headers
    told = [str(error), repr(error), "".join(traceback.format_exception(error)), str(pickle.dumps(error))]
    logged = [record.getMessage() + str(vars(record)) for record in caplog.records]
    assert logged
    assert [text for text in told + logged if KEY in text] == []


def test_in_no_settings_and_no_kept_reply(provider, connect, stub, question, monkeypatch, tmp_path):
    """Even where the answer repeats it."""
    stub.reply = lambda asked: f"Your key is {KEY}, a *** secret."
    monkeypatch.setenv("ROUTER_KEY", KEY)
    model = connect(provider, key_variable="ROUTER_KEY")
    with ResponseCache(tmp_path / "replies.sqlite") as cache:
        reply = CachedModel(model, cache).complete(question)
    assert reply.text == "Your key is [key], a *** secret."
    told = [repr(model), repr(reply), json.dumps(model.settings)]
    kept = [file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()]
    assert [text for text in told + kept if KEY in text] == []
