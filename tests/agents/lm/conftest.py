"""What the tests of language models share: a stub, models that ask it, a clock that does not wait."""

import asyncio
import importlib
import os
import ssl
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

from agents.lm.models import AnthropicModel, Block, Model, OpenAIModel, Reply, Request
from agents.lm.models.limits import Clock
from agents.lm.models.providers.remote_model import RemoteModel
from tests.agents.lm.transport import InProcess


class FakeClock:
    """Time that passes only by sleeping, at once.

    Attributes:
        slept: every pause, in seconds.
    """

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(seconds)
            self.time += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.time, self.sleep)


@pytest.fixture(autouse=True, scope="session")
def _certificates_once() -> Iterator[None]:
    """Every client of the SDKs reads all certificates anew, which takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", lru_cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's own environment."""
    for name in os.environ:
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(params=["chat", "responses", "messages"])
def api(request: pytest.FixtureRequest) -> str:
    """One of OpenAI's two interfaces, or Anthropic's."""
    return request.param


@pytest.fixture(params=["chat", "messages"])
def sdk(request: pytest.FixtureRequest) -> str:
    """An interface of each SDK, where it does not matter which."""
    return request.param


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stub() -> InProcess:
    return InProcess()


@pytest.fixture
def connect(stub: InProcess, fake_clock: FakeClock) -> Callable[..., RemoteModel]:
    """connect("chat" | "responses" | "messages", model="any", **settings): a model that asks the stub."""

    def make(api: str, model: str = "any", **settings: Any) -> RemoteModel:
        own: dict[str, Any] = (
            {"base_url": stub.url} if api == "messages" else {"base_url": f"{stub.url}/v1", "api": api}
        )
        maker: Any = AnthropicModel if api == "messages" else OpenAIModel
        client = stub.client(importlib.import_module(maker.SDK))
        return maker(model, **own | {"clock": fake_clock.clock, "http_client": client} | settings)

    return make


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Callable[[Model, Request], Reply]:
    """Asks a model: of `chat` in a thread, of the other interfaces in an event loop. The first does the second."""
    if {"chat"} >= {request.getfixturevalue(name) for name in ("api", "sdk") if name in request.fixturenames}:
        return lambda model, asked: model.complete(asked)
    return lambda model, asked: asyncio.run(model.acomplete(asked))


@pytest.fixture(scope="session")
def question() -> Request:
    return Request(
        system=(Block("You play FRANCE. Be kind.", cache=True),),
        user=(Block("Spring 1901. ", cache=True), Block("A PAR may move.")),
        schema={
            "type": "object",
            "properties": {"reasoning": {"type": "string"}, "order": {"enum": ["A PAR H", "A PAR - BUR"]}},
            "required": ["reasoning", "order"],
            "additionalProperties": False,
        },
        max_tokens=500,
    )
