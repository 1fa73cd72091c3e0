"""Language models as players: what asks them, what they are told, and what is made of their replies.

The SDKs are the extra `lm` (``pip install 'welfare-env[lm]'``) and are imported when the first question is asked.
`agents.lm.models` has the models, `agents.lm.stub` a server for trying all this without a key.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    **dict.fromkeys(("Block", "Model", "Reply", "Request", "Usage"), "protocol"),
    **dict.fromkeys(("AnthropicModel", "OpenAIModel", "ReplayModel", "ScriptedModel", "make_model"), "models"),
    **dict.fromkeys(("CachedModel", "ResponseCache"), "cache"),
    **dict.fromkeys(("BudgetError", "CacheError", "ConfigError", "LMError", "ModelError", "PromptError"), "errors"),
    "Budget": "budget",
    "LMPolicy": "player",
    "SharedModels": "shared",
    "StubServer": "stub",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Imports a name's module when the name is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
