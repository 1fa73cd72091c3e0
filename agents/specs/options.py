"""Readers of the values of options: functions from a text to the value, which raise ValueError for other texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agents.specs.grammar import unwrapped
from welfare_env.errors import did_you_mean

Reader = Callable[[str], Any]

_MODEL = r"\w+(?:/\S+)?"  # PROVIDER/MODEL, or the name of one of the user's own


class Folder(str):
    """The folder of a checkpoint."""


def whole(text: str) -> int:
    """A whole number of at most nine digits."""
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("give a whole number from 0")
    return int(text)


def whole_or_never(text: str) -> int | None:
    """A whole number, or None for "never"."""
    if text != "never" and not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("give a whole number, or never")
    return None if text == "never" else int(text)


def number(text: str) -> float:
    """A number of at most 40 characters."""
    with suppress(ValueError):
        if re.fullmatch("[-+.0-9a-zA-Z]{1,40}", text):
            return float(text)
    raise ValueError("give a number")


def number_or_none(text: str) -> str | float:
    """A number, or "none" to leave the setting to the server."""
    return "none" if text == "none" else number(text)


def word(text: str) -> str:
    """Any text."""
    if not text:
        raise ValueError("give a value")
    return text


def folder(text: str) -> Folder:
    """The folder of a checkpoint; in parentheses if it has commas."""
    if not text:
        raise ValueError("give the folder of a checkpoint, such as rl:runs/welfare/checkpoint")
    return Folder(unwrapped(text))


def one_of(*words: str) -> Reader:
    """The reader of one of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"give one of {', '.join(words)}{did_you_mean(text, words)}")
        return text

    return read


def yes_or_no(text: str) -> bool:
    """True for "yes", False for "no"."""
    return one_of("yes", "no")(text) == "yes"


def model(text: str) -> str:
    """A language model."""
    if not re.fullmatch(_MODEL, text):
        raise ValueError("give PROVIDER/MODEL, such as openai/gpt-6-luna, anthropic/NAME or scripted/stub")
    return text


def _summariser(text: str) -> str:
    if not re.fullmatch(_MODEL, text):
        raise ValueError("give self, none, or a model: PROVIDER/MODEL, or the name of your own")
    return text


def _address(text: str) -> str:
    from agents.lm.models.settings import checked_url

    return checked_url(text)


def _json(text: str) -> str:
    """A JSON object in parentheses, because of its commas."""
    from agents.lm.models.settings import checked_extra

    return f"({json.dumps(checked_extra(text))})"


def _variable(text: str) -> str:
    from agents.lm.models.settings import checked_variable

    return checked_variable(text)


def _ablation(text: str) -> str:
    from agents.lm.prompts.parts import Ablation, parse_parts, parts_text

    return parts_text(parse_parts(Ablation, text))


def _addition(text: str) -> str:
    from agents.lm.prompts.parts import Addition, parse_parts, parts_text

    return parts_text(parse_parts(Addition, text))


LM_OPTIONS: dict[str, Reader] = {
    "temperature": number_or_none,
    "top_p": number_or_none,
    "max_tokens": whole,
    "note_tokens": whole,
    "flavour": one_of("wd", "sd", "exploiter", "mediator"),
    "ablate": _ablation,
    "add": _addition,
    "summariser": _summariser,
    "summaries": one_of("phases", "rolling"),
    "schema": one_of("orders", "all", "form", "none"),
    "api": one_of("chat", "responses"),
    "grammar": one_of("auto", "vllm", "llama.cpp", "sglang"),
    "base_url": _address,
    "key_variable": _variable,
    "effort": word,
    "thinking": whole,
    "seed": whole,
    "extra": _json,
    "timeout": number,
    "retries": whole,
    "max_concurrent": whole,
    "requests_per_minute": whole,
    "tokens_per_minute": whole,
    "prices": word,
    "latency": number,
}
