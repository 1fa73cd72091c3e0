"""Players from the options of a spec ("lm:openai/NAME,temperature=0.7,summariser=none")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.parameters import usual_tokens
from agents.lm.models.shared_models import SharedModels, default_models
from agents.lm.player import LMPolicy
from agents.lm.player_settings import Style
from agents.lm.prompts.ablation import NOTHING, parse_ablation
from agents.lm.prompts.wording import Flavour

_SAMPLING = ("temperature", "top_p")
_STYLE = (*_SAMPLING, "max_tokens", "note_tokens", "schema")


def make_player(
    name: str,
    models: SharedModels | None = None,
    *,
    flavour: str | None = None,
    ablate: str | None = None,
    summariser: str = "self",
    **options: Any,
) -> LMPolicy:
    """Makes a player.

    Args:
        name: of the model: "openai/NAME".
        models: the source of models.
        flavour, ablate: see `Style.flavour`, `agents.lm.prompts.ablation.parse_ablation`.
        summariser: "self" for the same model, "none", or the name of another one; another model of the same provider
            has the same settings.
        **options: those of `Style`, where "none" leaves a sampling parameter to the server; all others are settings
            of the model.

    Raises:
        ConfigError, PromptError: no such model, or an unknown or invalid option.
        CacheError: a file of cached replies cannot be read.
    """
    kept = default_models() if models is None else models
    given: dict[str, Any] = {
        key: None if key in _SAMPLING and value == "none" else value for key, value in options.items()
    }
    settings = {key: value for key, value in given.items() if key not in _STYLE}
    own: dict[str, Any] = {key: value for key, value in given.items() if key in _STYLE}
    own["flavour"] = None if flavour is None else Flavour(flavour)
    own["ablation"] = NOTHING if ablate is None else parse_ablation(ablate)
    noting = name if summariser == "self" else summariser
    is_same_provider = noting.partition("/")[0] == name.partition("/")[0]
    noting_settings = settings if is_same_provider else {}
    if noting != name and "max_tokens" not in own:
        own.setdefault("note_tokens", _usual_tokens(noting, noting_settings))
    own.setdefault("max_tokens", _usual_tokens(name, settings))
    _check_thinking(own, settings.get("thinking"))
    model = kept.get(name, **settings)
    return LMPolicy(model, Style(**own), None if noting == "none" else kept.get(noting, **noting_settings))


def _usual_tokens(name: str, settings: Mapping[str, Any]) -> int:
    return usual_tokens(name, settings.get("effort"), settings.get("thinking"))


def _check_thinking(own: Mapping[str, Any], thinking: int | None) -> None:
    """Checks that there is room for a reply after the thinking.

    Raises:
        ConfigError: there is none.
    """
    for name in ("max_tokens", "note_tokens"):
        if thinking is not None and own.get(name, thinking + 1) <= thinking:
            raise ConfigError(f"{name} {own[name]}: thinking counts in it: give more than thinking={thinking}")
