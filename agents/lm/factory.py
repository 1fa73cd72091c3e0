"""Players from the options of a spec ("lm:openai/NAME,temperature=0.7,summariser=none")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.providers.parameters import usual_tokens
from agents.lm.models.shared_models import SharedModels, default_models
from agents.lm.player import LMPolicy
from agents.lm.player_settings import Style
from agents.lm.prompts.ablation import NOTHING, parse_ablation
from agents.lm.prompts.addition import PLAIN, parse_addition
from agents.lm.prompts.wording import Flavour

_SAMPLING = ("temperature", "top_p")
_STYLE = (*_SAMPLING, "max_tokens", "note_tokens", "schema")


def make_player(
    name: str,
    models: SharedModels | None = None,
    *,
    flavour: str | None = None,
    ablate: str | None = None,
    add: str | None = None,
    summariser: str = "self",
    **options: Any,
) -> LMPolicy:
    """Makes a player.

    Args:
        name: of the model: "openai/NAME".
        models: the source of models.
        flavour, ablate, add: see `Style.flavour`, `agents.lm.prompts.ablation.parse_ablation`,
            `agents.lm.prompts.addition.parse_addition`.
        summariser: "self" for the same model, "none", or the name of another one; another model of the same provider
            has the same settings.
        **options: those of `Style`, where "none" leaves a sampling parameter to the server; all others are settings
            of the model.

    Raises:
        ConfigError, PromptError: no such model, or an unknown or invalid option.
        CacheError: a file of cached replies cannot be read.
    """
    source = default_models() if models is None else models
    chosen: dict[str, Any] = {
        key: None if key in _SAMPLING and value == "none" else value for key, value in options.items()
    }
    settings = {key: value for key, value in chosen.items() if key not in _STYLE}
    own: dict[str, Any] = {key: value for key, value in chosen.items() if key in _STYLE}
    own["flavour"] = None if flavour is None else Flavour(flavour)
    own["ablation"] = NOTHING if ablate is None else parse_ablation(ablate)
    own["addition"] = PLAIN if add is None else parse_addition(add)
    summariser_name = name if summariser == "self" else summariser
    is_same_provider = summariser_name.partition("/")[0] == name.partition("/")[0]
    summariser_settings = settings if is_same_provider else {}
    if summariser_name not in (name, "none") and "max_tokens" not in own:
        own.setdefault("note_tokens", _usual_tokens(summariser_name, summariser_settings))
    own.setdefault("max_tokens", _usual_tokens(name, settings))
    _check_thinking("max_tokens", own, settings)
    _check_thinking("note_tokens", own, summariser_settings)
    model = source.get(name, **settings)
    summariser_model = None if summariser_name == "none" else source.get(summariser_name, **summariser_settings)
    return LMPolicy(model, Style(**own), summariser_model)


def _usual_tokens(name: str, settings: Mapping[str, Any]) -> int:
    return usual_tokens(name, settings.get("effort"), settings.get("thinking"))


def _check_thinking(name: str, own: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Checks that there is room for a reply after the thinking.

    Args:
        name: the limit of the reply.
        own: the player's options.
        settings: those of the model that is asked for it.

    Raises:
        ConfigError: there is none.
    """
    thinking = settings.get("thinking")
    if thinking is not None and own.get(name, thinking + 1) <= thinking:
        raise ConfigError(f"{name} {own[name]}: thinking counts in it: give more than thinking={thinking}")
