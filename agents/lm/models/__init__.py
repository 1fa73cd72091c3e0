"""Language models: remote ones through a provider's SDK, scripted ones, and cached replies.

`shared_models` makes them by name. `protocol` is the interface of every model. `remote` has the tries of a question,
`openai` and `anthropic` what is sent and read, `faults` what can go wrong, `limits` how calls wait and stop; `budget`
and `prices` are about money; `cache` stores replies on disk, and `scripted` has models that need no server.
"""

from agents.lm.models.anthropic import AnthropicModel
from agents.lm.models.openai import OpenAIModel
from agents.lm.models.protocol import NO_USAGE, Block, Finish, Model, Reply, Request, Usage
from agents.lm.models.scripted import ScriptedModel
from agents.lm.models.shared_models import make_model

__all__ = [
    "NO_USAGE",
    "AnthropicModel",
    "Block",
    "Finish",
    "Model",
    "OpenAIModel",
    "Reply",
    "Request",
    "ScriptedModel",
    "Usage",
    "make_model",
]
