"""Language models that all players of a run share: one per name and settings, with one budget and one cache."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import re
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from agents.lm.errors import ConfigError, LMError
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.limits import GAMES, Halt
from agents.lm.models.make import PROVIDERS, new_model, remote_provider
from agents.lm.models.protocol import Model
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.own_models import as_model

OWN_NAME = re.compile(r"\w+(?:/\S+)?", re.ASCII)
"""The names that a model of your own may have in specs."""

PLAYERS = 8  # of one game that may ask at the same time: seven powers and a mediator

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class Tasks:
    """Tasks of one run, at most `count` at a time. Made by `SharedModels.tasks`."""

    def __init__(self, count: int, halt: Halt, since: int) -> None:
        self._halt, self._since = halt, since
        self._places = asyncio.Semaphore(count)
        self._futures: list[Future[Any]] = []

    def submit(self, coroutine: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        """Starts a coroutine on the event loop of games, once fewer than `count` are running."""
        future = GAMES.submit(self._in_place(coroutine))
        self._futures.append(future)
        return future

    async def _in_place(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        self._halt.join(self._since)
        async with self._places:
            return await coroutine

    def wait(self) -> None:
        """Waits for all tasks."""
        wait(self._futures)


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
        self._remote: list[RemoteModel] = []
        self._questions = PLAYERS
        self._lock = Lock()
        self.own = {
            _own_name(name): self._cached(as_model(each, budget, self.halt)) for name, each in (own or {}).items()
        }

    def get(self, name: str, **settings: Any) -> Model:
        """The model of this name and these settings; see `agents.lm.models.make_model`.

        If the settings name no server, the current one of the environment is part of the lookup.

        Raises:
            ConfigError: no such model, invalid settings, or a budget in dollars without a known price.
            CacheError: a file of cached replies cannot be read.
        """
        if name in self.own:
            if settings:
                raise ConfigError(f"model {name!r} is your own: leave out {sorted(settings)[0]!r}")
            return self.own[name]
        key = (name, json.dumps(settings, sort_keys=True), _server(name, settings))
        with self._lock:
            if key not in self._models:
                self._models[key] = self._made(name, settings)
            return self._models[key]

    @contextmanager
    def tasks(self, count: int) -> Iterator[Tasks]:
        """Tasks of a run. If the block raises, they ask no more questions; leaving it waits for them.

        An error of one call already ends the others; this is for interruptions (Ctrl-C) and other errors. A question
        that has been sent is still waited for, since it is paid for; only its retries are given up.

        Raises:
            LMError: the caller belongs to a run that was stopped.
        """
        tasks = Tasks(count, self.halt, self.halt.begin())
        self._expect(count * PLAYERS)
        try:
            yield tasks
        except BaseException as error:
            self.halt.stop(error if isinstance(error, LMError) else None)
            if isinstance(error, KeyboardInterrupt):
                _log.warning("interrupted: nothing more is asked; answers that are on their way are waited for")
            raise
        finally:
            tasks.wait()

    def _expect(self, questions: int) -> None:
        """Makes room for the questions of games that play at the same time."""
        with self._lock:
            self._questions = max(questions, self._questions)
            for remote in self._remote:
                remote.expect(self._questions)

    def _made(self, name: str, settings: dict[str, Any]) -> Model:
        common = {"budget": self.budget, "halt": self.halt} if remote_provider(name.partition("/")[0]) else {}
        made = new_model(name, **settings, **common)
        if isinstance(made, RemoteModel):
            made.expect(self._questions)
            self._remote.append(made)
        return self._cached(as_model(made, self.budget, self.halt))

    def _cached(self, model: Model) -> Model:
        return model if self.cache is None else CachedModel(model, self.cache)


def _own_name(name: str) -> str:
    """Checks the name of a user's model in specs."""
    if not isinstance(name, str) or not OWN_NAME.fullmatch(name) or name.partition("/")[0] in PROVIDERS:
        raise ConfigError(
            f"models: {name!r:.80}: give a name of letters, digits and _, or PROVIDER/NAME with a provider that is not "
            f"one of {', '.join(PROVIDERS)}"
        )
    return name


def _server(name: str, settings: dict[str, Any]) -> str:
    """The address given by the environment, or ""."""
    maker = remote_provider(name.partition("/")[0])
    return "" if maker is None or settings.get("base_url") else os.environ.get(maker.URL_VARIABLE, "")


@functools.cache
def default_models() -> SharedModels:
    """The models of players made without `SharedModels`: no cache, no budget."""
    return SharedModels()
