"""Language models, by name: "openai/gpt-6-luna", "anthropic/claude-haiku-5-5", "scripted/stub", "replay/PATH".

>>> from agents.lm.models import Block, Request, make_model
>>> model = make_model("scripted/stub")
>>> model.complete(Request(system=(), user=(Block("What has been said?"),))).finish
'stop'

Other distributions add providers by entry points of the group "welfare_env.models": ``mine = "package.module:MyModel"``
makes "mine/NAME" `MyModel(NAME, **settings)`, an `agents.lm.own_models.OwnModel`. Built-in names take precedence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.protocol import Model
from agents.lm.models.providers.anthropic import AnthropicModel, BedrockModel, VertexModel
from agents.lm.models.providers.openai import AzureModel, OpenAIModel
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.models.scripted import ReplayModel, ScriptedModel
from agents.lm.own_models import OwnModel, as_model
from welfare_env.errors import did_you_mean

GROUP = "welfare_env.models"


def make_model(name: str, **settings: Any) -> Model:
    """Makes a new model.

    Separate models of one name do not share their limits: use one for all players of a game.

    Args:
        name: "openai/NAME", "azure/NAME", "anthropic/NAME", "bedrock/NAME" or "vertex/NAME", NAME being the model's
            name on the server; "scripted/stub", which invents replies that look legal, or another of
            `agents.lm.stub.characters`; "replay/PATH", the replies in a cache file.
        **settings: those of `OpenAIModel`, `AnthropicModel`, `ScriptedModel` and `ReplayModel`.

    Raises:
        ConfigError: no such model, or unknown or invalid settings.
    """
    return as_model(new_model(name, **settings))


def new_model(name: str, **settings: Any) -> Model | OwnModel:
    """As `make_model`, but a model of another distribution is not adapted, and not under a budget."""
    provider, _, rest = name.partition("/")
    maker = PROVIDERS.get(provider) or _installed(provider)
    if maker is None or not rest:
        others = sorted({point.name for point in entry_points(group=GROUP)} - PROVIDERS.keys())
        choices = ", ".join(f"{known}/NAME" for known in (*PROVIDERS, *others))
        raise ConfigError(
            f"model {name!r}: give one of {choices} (PROVIDER/MODEL); in Python your own, too: models={{NAME: MODEL}}"
            f"{did_you_mean(name, ('self', 'none'))}"  # as a summariser
        )
    known = _settings(maker)
    unknown = sorted(settings.keys() - known)
    if unknown:
        raise ConfigError(f"model {name!r} has no setting {unknown[0]!r}: it has {', '.join(known) or 'none'}")
    return maker(rest, **settings)


def _stub(name: str, latency: float = 0.0) -> ScriptedModel:
    from agents.lm.stub.characters import CHARACTERS, answered  # which imports numpy's generators and the server

    if name not in CHARACTERS:
        raise ConfigError(f"model 'scripted/{name}': there are {', '.join(f'scripted/{each}' for each in CHARACTERS)}")
    return ScriptedModel(lambda request: answered(name, request), latency, name)


PROVIDERS: dict[str, Callable[..., Model]] = {
    "openai": OpenAIModel,
    "azure": AzureModel,
    "anthropic": AnthropicModel,
    "bedrock": BedrockModel,
    "vertex": VertexModel,
    "scripted": _stub,
    "replay": ReplayModel,
}
"""Built-in provider -> the class or function that makes its models."""


def remote_provider(provider: str) -> type[RemoteModel] | None:
    """The class of a built-in provider whose replies cost money; None for every other provider."""
    maker = PROVIDERS.get(provider)
    return maker if isinstance(maker, type) and issubclass(maker, RemoteModel) else None


def distribution_of(provider: str) -> str:
    """Name and version of the distribution that adds a provider; "" for built-in and unknown providers."""
    points = () if provider in PROVIDERS else entry_points(group=GROUP, name=provider)
    return ", ".join(f"{point.dist.name} {point.dist.version}" for point in points if point.dist)


def _installed(provider: str) -> Callable[..., Model | OwnModel] | None:
    """The class or function that makes the models of another distribution's provider; None for an unknown provider.

    Raises:
        ConfigError: several distributions define the provider, or it cannot be loaded.
    """
    points = list(entry_points(group=GROUP, name=provider))
    if len(points) > 1:
        raise ConfigError(f"model provider {provider!r}: {len(points)} distributions have it: uninstall all but one")
    if not points:
        return None
    try:
        maker: Callable[..., Model | OwnModel] = points[0].load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"model provider {provider!r}: {points[0].value} cannot be loaded: {error}") from error
    return maker


def _settings(maker: Callable[..., Model | OwnModel]) -> list[str]:
    """The names of a maker's settings: its parameters except the first, the model's name."""
    own = list(inspect.signature(maker).parameters)[1:]
    return [name for name in own if name != "options"] + (_settings(RemoteModel) if "options" in own else [])
