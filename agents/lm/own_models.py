"""Your own language models, from any library: their interface, and the adapter for our cache and budget.

The shortest working example:

    class Parrot:
        name = "parrot-1"

        async def complete(self, request):
            return await my_server(request.prompt, request.schema, request.max_tokens)

    evaluation.self_play("lm:parrot", models={"parrot": Parrot()})
"""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from collections.abc import Awaitable
from dataclasses import asdict, replace
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from agents.lm.errors import ConfigError, LMError, ModelError
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel
from agents.lm.models.limits import MODELS, Halt
from agents.lm.models.prices import Counts, Price
from agents.lm.models.protocol import Model, Reply, Request
from agents.lm.models.providers.remote_model import most_tokens
from agents.lm.models.scripted import ReplayModel, ScriptedModel
from welfare_env.checks import quoted

_REPLY = TypeAdapter(Reply)


@runtime_checkable
class OwnModel(Protocol):
    """The interface of your own model. Optional attributes:

    - ``settings``: a mapping of plain JSON, what its replies depend on besides its name and the request. Replies and
      games are stored under its class, name and settings, so change one of them when its replies change.
    - ``price``: an `agents.lm.models.prices.Price`, needed for a budget in dollars.

    Attributes:
        name: the model's name in records.
    """

    name: str

    def complete(self, request: Request) -> str | Reply | Awaitable[str | Reply]:
        """Answers a request. Retries, time limits and limits on concurrent calls are up to the model.

        Write ``async def complete``, so that many games can wait at the same time. A plain ``def`` blocks all players
        while it runs: right for a model in this process.

        Returns:
            A text, for which every byte counts as a token (too many); or a `Reply`, with the usage. Its dollars are
            computed from the price if they are None.

        Raises:
            ModelError: there is no reply to this request. The game goes on without it, unless its kind is one of
                `agents.lm.errors.PASSING_KINDS`: then it stops, and the same command resumes it.
            AccessError: no other request would get a reply, either; the run ends, as with any other error.
        """


class AdaptedModel:
    """A model of your own as an `agents.lm.models.Model`, under the budget of a run.

    Args:
        model: the model.
        budget: the budget, shared with other models.
        halt: stops the calls of all models that share it when one of them cannot go on.

    Raises:
        ConfigError: it is not an `OwnModel`, its settings are not JSON, or a budget in dollars without a price.
    """

    def __init__(self, model: OwnModel, budget: Budget | None = None, halt: Halt | None = None) -> None:
        self.model, self.budget, self.halt = model, budget or Budget(), halt or Halt()
        self.name: str = _checked_name(model)
        self.settings = _checked_settings(model)
        self.price: Price | None = getattr(model, "price", None)
        if self.price is not None and not isinstance(self.price, Price):
            raise ConfigError(f"model {self.name!r}: its price is a {type(self.price).__name__}: give a Price, or None")
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"model {self.name!r}: no price is known for a budget in dollars; give it a `price`")
        self.faults: Counter[str] = Counter()

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return MODELS.run(self.acomplete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Asks the model.

        Raises:
            ModelError: the model has no reply.
            BudgetError: the budget does not allow the call.
            ConfigError: the result is neither a text nor a `Reply`, or a `Reply` with values of the wrong kind.
            StoppedError: another call cannot go on; or that call's error.
        """
        since = self.halt.begin()
        try:
            return await self._asked(request)
        except ModelError as error:
            self.faults.update(error.faults)
            if error.is_passing and self.halt.stops == since:
                self.halt.stop(error)
            raise
        except LMError as error:
            if self.halt.stops == since:  # not the error of another call
                self.halt.stop(error)
            raise

    async def _asked(self, request: Request) -> Reply:
        prompt = most_tokens(request)
        dollars = None if self.price is None else self.price.most(prompt, request.max_tokens)
        async with self.budget.hold(prompt + request.max_tokens, dollars) as hold:
            try:
                said = self.model.complete(request)
                reply = self._reply(await said if inspect.isawaitable(said) else said, prompt)
            except ModelError as error:
                if error.usage is not None:
                    hold.spend(error.usage)
                raise
            hold.spend(reply.usage)
        return reply

    def _reply(self, said: Any, prompt: int) -> Reply:
        if isinstance(said, str):
            said = Reply(said, Counts(prompt, 0, 0, len(said.encode())).usage(self.price), model=self.name)
        if not isinstance(said, Reply):
            raise ConfigError(f"model {self.name!r}: complete returned a {type(said).__name__}: give a text or a Reply")
        try:
            said = _REPLY.validate_python(asdict(said))
        except ValidationError as error:
            first = error.errors()[0]
            where = f"{'.'.join(map(str, first['loc']))} {first['input']!r:.80}: {first['msg']}"
            raise ConfigError(f"model {self.name!r}: complete returned a Reply with {where}") from None
        usage = said.usage
        if usage.cached_tokens > usage.input_tokens or not math.isfinite(usage.dollars or 0.0):
            raise ConfigError(f"model {self.name!r}: complete returned an impossible {usage}")
        if usage.dollars is None and self.price is not None:
            plain = usage.input_tokens - usage.cached_tokens
            counts = Counts(plain, usage.cached_tokens, 0, usage.output_tokens, usage.reasoning_tokens)
            usage = counts.usage(self.price)
        return replace(said, usage=usage, model=said.model or self.name)


def as_model(model: Any, budget: Budget | None = None, halt: Halt | None = None) -> Model:
    """Your own model as an `agents.lm.models.Model`; an object that is one already is returned unchanged.

    Raises:
        ConfigError: as `AdaptedModel`; or the budget is limited, and an `agents.lm.models.Model` was made without it.
    """
    if not isinstance(model, Model):
        return AdaptedModel(model, budget, halt)
    if budget is not None and not _is_under(model, budget):
        raise ConfigError(
            f"model {model.name!r}: it was made without this budget, and would spend past it: make it with "
            "budget=BUDGET, or give a model of your own with just a `name` and `complete(request)`"
        )
    return model


def _is_under(model: Model, budget: Budget) -> bool:
    """Whether a model respects a budget: it was made with it, costs nothing, or the budget has no limit."""
    inner: Any = model
    while isinstance(inner, CachedModel):
        inner = inner.model
    is_free = isinstance(inner, ScriptedModel | ReplayModel) or budget.max_tokens is budget.max_dollars is None
    return is_free or getattr(inner, "budget", None) is budget


def _checked_name(model: Any) -> str:
    name = getattr(model, "name", None)
    if isinstance(model, type) or not (isinstance(name, str) and name and callable(getattr(model, "complete", None))):
        raise ConfigError(
            f"model {quoted(model)}: give an object with a `name`, a text, and a method "
            "`complete(request)`; see agents.lm.own_models.OwnModel"
        )
    return name


def _checked_settings(model: Any) -> dict[str, Any]:
    """The model's settings and its class: what its replies depend on."""
    given = getattr(model, "settings", {})
    try:
        settings: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"model {model.name!r}: its settings are not a mapping of plain JSON: {error}") from error
    kind = type(model)
    return settings | {"class": f"{kind.__module__}.{kind.__qualname__}"}
