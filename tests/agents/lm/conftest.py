"""What the tests of language models share: a stub, models that ask it, a clock that does not wait."""

import asyncio
import importlib
import os
import ssl
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

from agents.lm import AnthropicModel, Block, OpenAIModel, Request
from agents.lm.models import limits
from agents.lm.models.remote import RemoteModel
from tests.agents.lm.transport import InProcess

Connect = Callable[..., RemoteModel]


class Clock:
    """Time that passes only by sleeping, at once.

    Attributes:
        slept: every pause, in seconds.
    """

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


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
        if name.startswith(("OPENAI_", "ANTHROPIC_", "AWS_", "AZURE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(limits, "now", lambda: found.time)
    monkeypatch.setattr(limits, "sleep", found.sleep)
    return found


@pytest.fixture
def stub() -> InProcess:
    return InProcess()


@pytest.fixture
def connect(stub: InProcess, clock: Clock) -> Connect:
    """connect("openai" | "anthropic", model="any", **settings): a model that asks the stub."""

    def make(provider: str = "openai", model: str = "any", **settings: Any) -> RemoteModel:
        maker: Any = {"openai": OpenAIModel, "anthropic": AnthropicModel}[provider]
        own = {"base_url": stub.address(provider), "http_client": stub.client(importlib.import_module(provider))}
        return maker(model, **own | settings)

    return make


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
