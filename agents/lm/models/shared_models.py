"""Language models by name, and those that all players of a run share: with one budget and one cache.

>>> from agents.lm import Block, Request, make_model
>>> model = make_model("scripted/stub")
>>> model.complete(Request(system=(), user=(Block("What has been said?"),))).finish
'stop'
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import os
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any

from agents.lm.errors import ConfigError, LMError
from agents.lm.models.anthropic import AnthropicModel
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.limits import GAMES, Halt
from agents.lm.models.openai import OpenAIModel
from agents.lm.models.protocol import Model
from agents.lm.models.remote import REMOTE, RemoteModel
from agents.lm.models.scripted import ScriptedModel
from agents.lm.own_models import as_model
from welfare_env.errors import did_you_mean

_OWN_NAME = re.compile(r"\w+(?:/\S+)?", re.ASCII)  # of a model of your own in specs
_log = logging.getLogger(__name__)


def _stub(name: str, latency: float = 0.0) -> ScriptedModel:
    from agents.lm.stub.replies import CHARACTERS, answered  # which imports numpy

    if name not in CHARACTERS:
        raise ConfigError(f"model 'scripted/{name}': there are {', '.join(f'scripted/{each}' for each in CHARACTERS)}")
    return ScriptedModel(lambda request: answered(name, request), latency, name)


_CLASSES: dict[str, Callable[..., Model]] = {"openai": OpenAIModel, "anthropic": AnthropicModel}
PROVIDERS: dict[str, Callable[..., Model]] = {
    **{name: functools.partial(_CLASSES[known.sdk], provider=name) for name, known in REMOTE.items()},
    "scripted": _stub,
}
"""Provider -> what makes its models."""


def make_model(name: str, **settings: Any) -> Model:
    """Makes a new model.

    Separate models of one name do not share their limits: use one for all players of a game.

    Args:
        name: "openai/NAME", "azure/NAME", "anthropic/NAME", "bedrock/NAME" or "vertex/NAME", NAME being the model's
            name on the server; "scripted/stub", which invents replies that look legal, or another of
            `agents.lm.stub.replies`.
        **settings: those of `OpenAIModel`, `AnthropicModel` and `ScriptedModel`.

    Raises:
        ConfigError: no such model, or unknown or invalid settings.
    """
    provider, _, rest = name.partition("/")
    if provider not in PROVIDERS or not rest:
        choices = ", ".join(f"{known}/NAME" for known in PROVIDERS)
        raise ConfigError(
            f"model {name!r}: give one of {choices} (PROVIDER/MODEL); in Python your own, too: models={{NAME: MODEL}}"
            f"{did_you_mean(name, ('self', 'none'))}"  # as a summariser
        )
    maker = PROVIDERS[provider]
    known = [*inspect.signature(maker).parameters][1:]
    if "options" in known:
        known += inspect.signature(RemoteModel).parameters
    known = [each for each in known if each not in ("provider", "model", "options")]
    if unknown := sorted(settings.keys() - known):
        raise ConfigError(f"model {name!r} has no setting {unknown[0]!r}: it has {', '.join(known) or 'none'}")
    return maker(rest, **settings)


class SharedModels:
    """Makes each language model once, so that its limits hold for all players together. Thread-safe.

    Args:
        cache: cache of replies, or None.
        budget: budget of all remote models, and of your own, together; None for no limit.
        own: your own models (`agents.lm.own_models.OwnModel`, or any `agents.lm.models.Model`, made with this budget if
            it has a limit), by their names in specs: ``{"mine": model}`` for "lm:mine".
        halt: stops the run that they belong to, if it includes other calls, too; by default a new one.

    Raises:
        ConfigError: an object in `own` is not a model, has the name of a built-in provider, or would not respect the
            budget.

    Example:
        models = SharedModels(ResponseCache("runs/replies.sqlite"), Budget(max_dollars=5))
        policies = [agents.make("lm:openai/gpt-6-luna", models) for _ in range(7)]
    """

    def __init__(
        self,
        cache: ResponseCache | None = None,
        budget: Budget | None = None,
        own: Mapping[str, Any] | None = None,
        halt: Halt | None = None,
    ) -> None:
        self.cache, self.budget, self.halt = cache, budget, halt or Halt()
        self._models: dict[tuple[str, str, str], Model] = {}
        self._lock = Lock()
        self.own = {_own_name(name): self._cached(each) for name, each in (own or {}).items()}

    def get(self, name: str, **settings: Any) -> Model:
        """The model of this name and these settings; see `make_model`.

        If the settings name no server, the current one of the environment is part of the lookup.

        Raises:
            ConfigError: no such model, invalid settings, or a budget in dollars without a known price.
            CacheError: a file of cached replies cannot be read.
        """
        if name in self.own:
            if settings:
                raise ConfigError(f"model {name!r} is your own: leave out {sorted(settings)[0]!r}")
            return self.own[name]
        remote = REMOTE.get(name.partition("/")[0])
        server = os.environ.get(remote.url_variable, "") if remote and not settings.get("base_url") else ""
        key = (name, json.dumps(settings, sort_keys=True), server)
        with self._lock:
            if key not in self._models:
                common = {"budget": self.budget, "halt": self.halt} if remote else {}
                self._models[key] = self._cached(make_model(name, **settings, **common))
            return self._models[key]

    @contextmanager
    def tasks(self, count: int) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Future[Any]]]:
        """A function that starts tasks of a run on the event loop of games, at most `count` at a time.

        If the block raises, they ask no more questions; leaving it waits for them. An error of one call already ends
        the others; this is for interruptions (Ctrl-C) and other errors. A question that has been sent is still waited
        for, since it is paid for; only its retries are given up.

        Raises:
            LMError: the caller belongs to a run that was stopped.
        """
        since, places, futures = self.halt.begin(), asyncio.Semaphore(count), list[Future[Any]]()

        async def in_place(coroutine: Coroutine[Any, Any, Any]) -> Any:
            self.halt.join(since)
            async with places:
                return await coroutine

        def submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
            futures.append(GAMES.submit(in_place(coroutine)))
            return futures[-1]

        try:
            yield submit
        except BaseException as error:
            self.halt.stop(error if isinstance(error, LMError) else None)
            if isinstance(error, KeyboardInterrupt):
                _log.warning("interrupted: nothing more is asked; answers that are on their way are waited for")
            raise
        finally:
            wait(futures)

    def _cached(self, made: Any) -> Model:
        model = as_model(made, self.budget, self.halt)
        return model if self.cache is None else CachedModel(model, self.cache)


def _own_name(name: str) -> str:
    """Checks the name of a user's model in specs."""
    if not isinstance(name, str) or not _OWN_NAME.fullmatch(name) or name.partition("/")[0] in PROVIDERS:
        raise ConfigError(
            f"models: {name!r:.80}: give a name of letters, digits and _, or PROVIDER/NAME with a provider that is not "
            f"one of {', '.join(PROVIDERS)}"
        )
    return name


@functools.cache
def default_models() -> SharedModels:
    """The models of players made without `SharedModels`: no cache, no budget."""
    return SharedModels()
