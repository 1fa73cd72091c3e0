"""Language models: remote ones through a provider's SDK, scripted ones, and cached replies.

`make_model` makes one from its name. `protocol` is the interface of every model; `providers` has the remote models,
whose waiting is in `limits`. `scripted` has models that need no server. `settings` checks user input; `prices` and
`budget` are about money; `cache` stores replies on disk, and `shared_models` makes one model per name and settings.
"""

from agents.lm.models.make import make_model
from agents.lm.models.protocol import NO_USAGE, Block, Finish, Model, Reply, Request, Usage
from agents.lm.models.providers.anthropic import AnthropicModel
from agents.lm.models.providers.openai import OpenAIModel
from agents.lm.models.scripted import ReplayModel, ScriptedModel

__all__ = [
    "NO_USAGE",
    "AnthropicModel",
    "Block",
    "Finish",
    "Model",
    "OpenAIModel",
    "ReplayModel",
    "Reply",
    "Request",
    "ScriptedModel",
    "Usage",
    "make_model",
]
