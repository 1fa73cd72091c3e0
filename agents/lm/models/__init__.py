"""Language models: behind a provider's SDK, made-up ones, and cached replies.

`make_model` makes one from its name. `protocol` is the interface of every model; `openai` and `anthropic` talk to the
providers, and share `remote` (requests), `retries` (the tries of one call), `answers` (responses) and `limits`
(waiting). `scripted` has models that need no server. `settings` checks user input; `prices` and `budget` are about
money; `cache` keeps replies on disk, and `shared_models` gives out one model per name and settings.
"""

from agents.lm.models.anthropic import AnthropicModel
from agents.lm.models.make import make_model
from agents.lm.models.openai import OpenAIModel
from agents.lm.models.protocol import NO_USAGE, Block, Finish, Model, Reply, Request, Usage
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
