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
from collections.abc import Awaitable
from dataclasses import asdict, replace
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from agents.lm.errors import ConfigError, ModelError
from agents.lm.models.budget import Budget
from agents.lm.models.cache import CachedModel
from agents.lm.models.limits import Halt
from agents.lm.models.prices import Counts, Price
from agents.lm.models.protocol import Model, Reply, Request
from agents.lm.models.scripted import ScriptedModel
from welfare_env.checks import quoted

_REPLY = TypeAdapter(Reply)


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


class AdaptedModel(Model):
    """A model of your own as an `agents.lm.models.Model`, under the budget of a run.

    Args:
        model: the model.
        budget: the budget, shared with other models.
        halt: stops the calls of all models that share it when one of them cannot go on.

    Raises:
        ConfigError: it is not an `OwnModel`, its settings are not JSON, or a budget in dollars without a price.
    """

    def __init__(self, model: OwnModel, budget: Budget | None = None, halt: Halt | None = None) -> None:
        name = getattr(model, "name", None)
        is_one = isinstance(name, str) and name and callable(getattr(model, "complete", None))
        if isinstance(model, type) or not is_one:
            raise ConfigError(
                f"model {quoted(model)}: give an object with a `name`, a text, and a method "
                "`complete(request)`; see agents.lm.own_models.OwnModel"
            )
        self.model, self.budget, self.halt = model, budget or Budget(), halt or Halt()
        self.name, self.settings = model.name, _checked_settings(model)
        self.price: Price | None = getattr(model, "price", None)
        if self.price is not None and not isinstance(self.price, Price):
            raise ConfigError(f"model {name!r}: its price is a {type(self.price).__name__}: give a Price, or None")
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"model {name!r}: no price is known for a budget in dollars; give it a `price`")

    async def acomplete(self, request: Request) -> Reply:
        """Asks the model; see `Model.acomplete`.

        Raises:
            ConfigError: the result is neither a text nor a `Reply`, or a `Reply` with values of the wrong kind.
        """
        prompt = request.max_prompt_tokens
        dollars = None if self.price is None else self.price.most(prompt, request.max_tokens)
        with self.halt.call():
            async with self.budget.hold(prompt + request.max_tokens, dollars) as hold:
                try:
                    said = self.model.complete(request)
                    reply = self._reply(await said if inspect.isawaitable(said) else said, prompt)
                except ModelError as error:
                    hold.usage = error.usage or hold.usage
                    raise
                hold.usage = reply.usage
        return reply

    def _reply(self, said: Any, prompt: int) -> Reply:
        if isinstance(said, str):
            said = Reply(said, Counts(prompt, 0, 0, len(said.encode())).usage(self.price))
        if not isinstance(said, Reply):
            raise ConfigError(f"model {self.name!r}: complete returned a {type(said).__name__}: give a text or a Reply")
        try:
            found = _REPLY.validate_python(asdict(said))
        except ValidationError as error:
            first = error.errors()[0]
            where = f"{'.'.join(map(str, first['loc']))} {first['input']!r:.80}: {first['msg']}"
            raise ConfigError(f"model {self.name!r}: complete returned a Reply with {where}") from None
        usage = found.usage
        if usage.cached_tokens > usage.input_tokens or not math.isfinite(usage.dollars or 0.0):
            raise ConfigError(f"model {self.name!r}: complete returned an impossible {usage}")
        if usage.dollars is None and self.price is not None:
            plain = usage.input_tokens - usage.cached_tokens
            counts = Counts(plain, usage.cached_tokens, 0, usage.output_tokens, usage.reasoning_tokens)
            usage = counts.usage(self.price)
        return replace(found, usage=usage, model=found.model or self.name)


def as_model(model: Any, budget: Budget | None = None, halt: Halt | None = None) -> Model:
    """Your own model as an `agents.lm.models.Model`; an object that is one already is returned unchanged.

    Raises:
        ConfigError: as `AdaptedModel`; or the budget is limited, and an `agents.lm.models.Model` was made without it.
    """
    if not isinstance(model, Model):
        return AdaptedModel(model, budget, halt)
    inner = model.model if isinstance(model, CachedModel) else model
    is_limited = budget is not None and (budget.max_tokens, budget.max_dollars) != (None, None)
    if is_limited and not isinstance(inner, ScriptedModel) and getattr(inner, "budget", None) is not budget:
        raise ConfigError(
            f"model {model.name!r}: it was made without this budget, and would spend past it: make it with "
            "budget=BUDGET, or give a model of your own with just a `name` and `complete(request)`"
        )
    return model


def _checked_settings(model: Any) -> dict[str, Any]:
    """The model's settings and its class: what its replies depend on."""
    try:
        settings: dict[str, Any] = json.loads(json.dumps(dict(getattr(model, "settings", {})), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"model {model.name!r}: its settings are not a mapping of plain JSON: {error}") from error
    return settings | {"class": f"{type(model).__module__}.{type(model).__qualname__}"}
