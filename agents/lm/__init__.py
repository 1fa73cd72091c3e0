"""Language models as players: clients, prompts, and the parsing of replies.

`agents.asking` drives a player's turns, `own_models` adapts your own models, and `checking` tests a server before a
run. Subpackages:

    player/   the policy, its account of calls, and their transcript
    models/   the models: providers' SDKs, scripted models, cached replies; retries, limits, prices, budgets
    prompts/  the prompts
    reading/  the parsing of replies
    stub/     a local server for trying all this without a key: python -m agents.lm.stub

The SDKs are the extra `lm` (in the clone, ``pip install -c constraints.txt -e '.[lm]'``) and are imported when the
first question is asked.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    **dict.fromkeys(("Block", "Model", "Reply", "Request", "Usage"), "models.protocol"),
    "AnthropicModel": "models.anthropic",
    "OpenAIModel": "models.openai",
    "ScriptedModel": "models.scripted",
    "make_model": "models.shared_models",
    **dict.fromkeys(("CachedModel", "ResponseCache"), "models.cache"),
    **dict.fromkeys(("AccessError", "BudgetError", "CacheError", "ConfigError"), "errors"),
    **dict.fromkeys(("LMError", "ModelError", "PromptError", "StoppedError"), "errors"),
    "Budget": "models.budget",
    **dict.fromkeys(("AskingPolicy", "Question"), "agents.asking"),
    "LMPolicy": "player.policy",
    "OwnModel": "own_models",
    "SharedModels": "models.shared_models",
    "StubServer": "stub",
    "stub_reply": "stub.replies",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Imports a name's module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(importlib.import_module(home if home.startswith("agents.") else f"{__name__}.{home}"), name)
