"""Keys: where they are read, to whom they go, and that they get nowhere else."""

import json
import logging
import pickle
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.lm.errors import AccessError, ConfigError, ModelError
from agents.lm.models import AnthropicModel, Model, OpenAIModel, Reply, Request
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.settings import checked_variable, hide_secrets, redacted
from tests.agents.lm.transport import InProcess

Connect = Callable[..., RemoteModel]
Ask = Callable[[Model, Request], Reply]

KEY = "sk-veryverysecret-0123456789"
VARIABLES = {"chat": "OPENAI_API_KEY", "responses": "OPENAI_API_KEY", "messages": "ANTHROPIC_API_KEY"}


def sent_keys(stub: InProcess) -> list[str | None]:
    return [request.headers.get("authorization", request.headers.get("x-api-key")) for request in stub.requests]


class TestWhereTheyGo:
    def test_to_the_provider(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLES[api], KEY + "\n")  # as `export KEY="$(cat file)"` might leave it
        kind = AnthropicModel if api == "messages" else OpenAIModel
        monkeypatch.setattr(kind, "URL", stub.url if api == "messages" else f"{stub.url}/v1")
        ask(connect(api, base_url=None), question)
        assert sent_keys(stub) == [f"Bearer {KEY}"]

    def test_to_no_other_server(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLES[api], KEY)
        ask(connect(api), question)
        assert sent_keys(stub) == ["Bearer none"]
        assert KEY not in str(stub.requests[0].headers)

    def test_but_to_one_that_is_named(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLES[api], "another")
        monkeypatch.setenv("ROUTER_KEY", KEY)
        ask(connect(api, key_variable="ROUTER_KEY"), question)
        assert sent_keys(stub) == [f"Bearer {KEY}"]

    def test_and_to_the_one_in_the_environment(
        self, api: str, connect: Connect, ask: Ask, question: Request, stub: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = stub.url if api == "messages" else f"{stub.url}/v1"
        monkeypatch.setenv(VARIABLES[api], KEY)
        monkeypatch.setenv(VARIABLES[api].replace("API_KEY", "BASE_URL"), url)
        model = connect(api, base_url=None)
        ask(model, question)
        assert sent_keys(stub) == [f"Bearer {KEY}"]
        assert model.settings["base_url"] == url


class TestWhatIsNoKey:
    def test_none(self, api: str, connect: Connect, ask: Ask, question: Request) -> None:
        with pytest.raises(ConfigError, match=f"environment variable {VARIABLES[api]} holds no key"):
            ask(connect(api, base_url=None), question)

    @pytest.mark.parametrize("wrong", ["sk-1\r\nX-Evil: 1", "sk-\u00fc", "two words"])
    def test_what_no_header_can_hold(
        self, wrong: str, api: str, connect: Connect, question: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ROUTER_KEY", wrong)
        with pytest.raises(ConfigError, match="ROUTER_KEY does not hold a valid key") as caught:
            connect(api, key_variable="ROUTER_KEY").complete(question)
        assert wrong not in str(caught.value)

    @pytest.mark.parametrize(
        "url", ["https://me:" + KEY + "@host/v1", "https://host/v1?key=" + KEY, "https://" + KEY + "@host"]
    )
    def test_an_address_holds_none(self, url: str) -> None:
        with pytest.raises(ConfigError, match="give the key by key_variable") as caught:
            OpenAIModel("any", base_url=url)
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize(
        "url", ["host:80/v1", "ftp://host", "https://", "http://[", "nonsense", f"me:{KEY}@host/v1", f"http://[{KEY}@h"]
    )
    def test_what_is_no_address(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ConfigError, match=r"^base_url: give an address such as http:") as caught:
            OpenAIModel("any", base_url=url)
        assert url == "https://" or url not in str(caught.value)
        assert KEY not in "".join(traceback.format_exception(caught.value))
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        with pytest.raises(ConfigError, match=r"^OPENAI_BASE_URL: give an address"):
            OpenAIModel("any")

    @pytest.mark.parametrize("extra", [{"api_key": "hunter2"}, {"a": [{"X-Token": "hunter2"}]}, {"user": KEY}])
    def test_further_fields_hold_none(self, extra: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            OpenAIModel("any", extra=extra)
        assert "hunter2" not in str(caught.value)
        assert KEY not in str(caught.value)
        assert OpenAIModel("any", extra={"thinking_token_budget": 5, "stop_token": 7}).extra

    def test_an_empty_address_is_the_providers_own(self) -> None:
        assert OpenAIModel("any", base_url="").base_url == OpenAIModel.URL

    @pytest.mark.parametrize(
        "name", ["KEY", "my_key2", "A" * 59 + "_KEY", "OPENROUTER_API_KEY_OF_THE_LAB_2026", "HF_TOKEN", "APIKEY"]
    )
    def test_a_variable_has_a_name(self, name: str) -> None:
        assert checked_variable(name) == OpenAIModel("any", key_variable=name).key_variable == name

    @pytest.mark.parametrize("name", ["_", "A" * 64, "PATH", "HOME", "DB_PASSWORD", "MONKEY", "TOKENIZERS_PARALLELISM"])
    def test_other_variables_are_sent_nowhere(self, name: str) -> None:
        with pytest.raises(ConfigError, match="KEY or TOKEN as one of its words") as caught:
            OpenAIModel("any", key_variable=name)
        assert name not in str(caught.value).split() or name in ("KEY", "TOKEN")

    def test_the_screen_says_who_gets_it(self, caplog: pytest.LogCaptureFixture) -> None:
        OpenAIModel("any", base_url="http://127.0.0.1:1/v1", key_variable="ROUTER_KEY")
        OpenAIModel("gpt-6-luna", key_variable="MY_KEY")  # the provider's own server
        told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert told == ["openai/any: the value of ROUTER_KEY is sent to http://127.0.0.1:1/v1 as the key"]

    @pytest.mark.parametrize("name", [KEY, "", "2KEY", "A" * 65, "A B", "gsk_" + "1aB2" * 12, "\u00fcber", 7])
    def test_and_a_key_is_none(self, name: Any) -> None:
        with pytest.raises(ConfigError, match="and never the key itself") as caught:
            OpenAIModel("any", key_variable=name)
        assert not name or str(name) not in str(caught.value).replace("at most 64", "")


class TestQuoting:
    @pytest.mark.parametrize(
        ("spec", "shown"),
        [
            (
                "lm:openai/x,base_url=http://me:pw@host/v1,retries=1",
                "lm:openai/x,base_url=[hidden]@host/v1,retries=1",
            ),
            ("lm:openai/x,base_url=me:pw@host", "lm:openai/x,base_url=[hidden]@host"),
            ("lm:openai/x,base_url=http://me:p,w@host", "lm:openai/x,base_url=[hidden]@host"),
            ("lm:openai/x,base_url=http://h/v1?k=pw,retries=1", "lm:openai/x,base_url=http://h/v1?[hidden],retries=1"),
            (
                "exploiter:nice=(lm:a/b,key_variable=sk-pw),attack=dove",
                "exploiter:nice=(lm:a/b,key_variable=[hidden]),attack=dove",
            ),
            ("lm:openai/x,key_variable= MY_KEY,retries=1", "lm:openai/x,key_variable= MY_KEY,retries=1"),
            ('lm:x/y,extra=({"api_key": "pw", "k": 2})', 'lm:x/y,extra=({"api_key": "[hidden]", "k": 2})'),
            ("lm:openai/@cf/llama,base_url=http://h:1/v1", "lm:openai/@cf/llama,base_url=http://h:1/v1"),
        ],
    )
    def test_specs(self, spec: str, shown: str) -> None:
        assert hide_secrets(spec) == shown

    @pytest.mark.parametrize(
        ("said", "shown"),
        [
            (f"Incorrect API key provided: {KEY}.", "Incorrect API key provided: [key]."),
            ("Incorrect API key provided: sk-proj-**************6789. See", "Incorrect API key provided: [key] See"),
            ("key sk-very...6789 is wrong", "key [key] is wrong"),
            ("key 'sk-another-secret' is wrong", "key '[key]' is wrong"),
            ("see https://me:pw@proxy/ for the x-api-key header", "see https://[key]@proxy/ for the x-api-key header"),
            ("The model `gpt-99` does not exist", "The model `gpt-99` does not exist"),
        ],
    )
    def test_servers_words(self, said: str, shown: str) -> None:
        assert redacted(said, KEY) == shown
        assert redacted("tiny", "t") == "[key]iny"

    @pytest.mark.parametrize(
        "said", ["[" * 100_000, "a*" * 50_000, "//" * 50_000, "sk-" * 30_000, "base_url=" * 10_000]
    )
    def test_long_texts_take_no_longer_than_their_length_needs(self, said: str) -> None:
        """Of 100,000 characters a search that begins anew at every one takes minutes."""
        begun = time.process_time()
        assert len(redacted(said, KEY)) <= len(said)
        assert hide_secrets(said) == said
        assert time.process_time() - begun < 10


class TestNowhereElse:
    # The stub server puts the key that it was sent in the texts of its errors.
    @pytest.mark.parametrize("fault", ["400", "401", "404", "500", "quota", "malformed", "cut"])
    def test_in_no_error_and_no_log(
        self,
        fault: str,
        api: str,
        connect: Connect,
        ask: Ask,
        question: Request,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("ROUTER_KEY", KEY)
        caplog.set_level(logging.DEBUG)
        model = connect(api, f"fail-{fault}", key_variable="ROUTER_KEY", retries=1)
        with pytest.raises((ModelError, AccessError)) as caught:
            ask(model, question)
        error = caught.value
        assert (error.__cause__, error.__context__) == (None, None)  # the SDK's error would hold request and headers
        told = [str(error), repr(error), "".join(traceback.format_exception(error)), str(pickle.dumps(error))]
        logged = [record.getMessage() + str(vars(record)) for record in caplog.records]
        assert logged
        assert [text for text in told + logged if KEY in text] == []
        assert pickle.loads(pickle.dumps(error)).__dict__ == error.__dict__  # noqa: S301 (our own bytes)

    def test_in_no_settings_and_no_kept_reply(
        self, api: str, connect: Connect, ask: Ask, question: Request, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("ROUTER_KEY", KEY)
        model = connect(api, key_variable="ROUTER_KEY")
        with ResponseCache(tmp_path / "replies.sqlite") as cache:
            reply = ask(CachedModel(model, cache), question)
        told = [repr(model), str(model), repr(reply), json.dumps(model.settings), str(pickle.dumps(model.settings))]
        kept = [file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()]
        assert kept
        assert [text for text in told + kept if KEY in text] == []

    def test_not_where_the_answer_repeats_it(
        self, api: str, connect: Connect, stub: InProcess, question: Request, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stub, "_reply", lambda asked: f"Your key is {KEY}, a *** secret.")
        monkeypatch.setenv("ROUTER_KEY", KEY)
        reply = connect(api, key_variable="ROUTER_KEY").complete(question)
        assert reply.text == "Your key is [key], a *** secret."
        monkeypatch.setenv("ROUTER_KEY", "secret")  # a short one may be a word
        assert "secret" in connect(api, key_variable="ROUTER_KEY").complete(question).text

    def test_the_advice_when_a_key_is_refused(self, api: str, connect: Connect, question: Request, **_: Any) -> None:
        with pytest.raises(AccessError, match="was sent no key: name the variable that holds it with key_variable"):
            connect(api, "fail-401").complete(question)
