"""Language models that all players of a run share: one per name and settings, with one budget and one cache."""

from __future__ import annotations

import functools
import json
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any

from agents.lm.errors import LMError
from agents.lm.models.anthropic import AnthropicModel
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel, ResponseCache
from agents.lm.models.limits import Halt
from agents.lm.models.make import make_model
from agents.lm.models.openai import OpenAIModel
from agents.lm.models.protocol import Model
from agents.lm.models.remote import RemoteModel

REMOTE: dict[str, type[RemoteModel]] = {"openai": OpenAIModel, "anthropic": AnthropicModel}
"""Providers whose replies cost money."""

_log = logging.getLogger(__name__)


class SharedModels:
    """Makes each language model once, so that its limits hold for all players together. Thread-safe.

    Args:
        cache: cache of replies, or None.
        budget: budget of all remote models together; None for no limit.

    Example:
        models = SharedModels(ResponseCache("runs/replies.sqlite"), Budget(max_dollars=5))
        policies = [agents.make("lm:openai/gpt-6-luna", models) for _ in range(7)]
    """

    def __init__(self, cache: ResponseCache | None = None, budget: Budget | None = None) -> None:
        self.cache, self.budget, self.halt = cache, budget, Halt()
        self._models: dict[tuple[str, str, str], Model] = {}
        self._lock = Lock()

    def get(self, name: str, **settings: Any) -> Model:
        """The model of this name and these settings; see `agents.lm.models.make_model`.

        If the settings name no server, the current one of the environment is part of the lookup.

        Raises:
            ConfigError: no such model, invalid settings, or a budget in dollars without a known price.
            CacheError: a file of cached replies cannot be read.
        """
        key = (name, json.dumps(settings, sort_keys=True), _server(name, settings))
        with self._lock:
            if key not in self._models:
                self._models[key] = self._made(name, settings)
            return self._models[key]

    @contextmanager
    def threads(self, count: int) -> Iterator[ThreadPoolExecutor]:
        """Threads that play a run. If the block raises, they ask no more questions, and it waits for them.

        An error of one call already ends the others; this is for interruptions (Ctrl-C) and other errors. A question
        that has been sent is still waited for, since it is paid for; only its retries are given up.

        Raises:
            LMError: the calling thread belongs to a run that was stopped.
        """
        since = self.halt.begin()
        with ThreadPoolExecutor(count, initializer=self.halt.join, initargs=(since,)) as pool:
            try:
                yield pool
            except BaseException as error:
                self.halt.stop(error if isinstance(error, LMError) else None)
                if isinstance(error, KeyboardInterrupt):
                    _log.warning("interrupted: nothing more is asked; answers that are on their way are waited for")
                raise

    def forget_passing(self) -> None:
        """Call this at the end of a run: see `ResponseCache.forget_passing`.

        Raises:
            CacheError: the cache file cannot be written.
        """
        if self.cache is not None:
            self.cache.forget_passing()

    def _made(self, name: str, settings: dict[str, Any]) -> Model:
        common = {"budget": self.budget, "halt": self.halt} if name.partition("/")[0] in REMOTE else {}
        model = make_model(name, **settings, **common)
        return model if self.cache is None else CachedModel(model, self.cache)


def _server(name: str, settings: dict[str, Any]) -> str:
    """The address given by the environment, or ""."""
    maker = REMOTE.get(name.partition("/")[0])
    return "" if maker is None or settings.get("base_url") else os.environ.get(maker.URL_VARIABLE, "")


@functools.cache
def default_models() -> SharedModels:
    """The models of players made without `SharedModels`: no cache, no budget."""
    return SharedModels()
