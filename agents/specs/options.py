"""Readers of the values of options: functions from a text to the value, which raise ValueError for other texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
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


def _json(text: str) -> str:
    """A JSON object in parentheses, because of its commas."""
    from agents.lm.models.settings import checked_extra

    return f"({json.dumps(checked_extra(text))})"


def _setting(check: str) -> Reader:
    """The reader that a check of `agents.lm.models.settings` is; imported when used."""
    return lambda text: getattr(import_module("agents.lm.models.settings"), check)(text)


def _parts(kind: str) -> Reader:
    """The reader of parts of a prompt, `Ablation` or `Addition`."""

    def read(text: str) -> str:
        from agents.lm.prompts import parts

        return parts.parts_text(parts.parse_parts(getattr(parts, kind), text))

    return read


def policy(text: str) -> Any:
    """The reader of a policy; only a mark, since the levels of specs in specs are counted where they are read."""
    raise NotImplementedError


READERS: dict[str, Reader] = {
    "int": whole,
    "int | None": whole,
    "OrNever": whole_or_never,
    "float": number,
    "bool": yes_or_no,
    "bool | None": yes_or_no,
    "str": word,
    "str | None": word,
    **dict.fromkeys(("Policy", "Policy | None", "MixPolicy"), policy),
}
"""The annotation of a policy's parameter -> the reader of an option; other parameters are no options."""

LM_OPTIONS: dict[str, Reader] = {
    "temperature": number_or_none,
    "top_p": number_or_none,
    "max_tokens": whole,
    "note_tokens": whole,
    "flavour": one_of("wd", "sd", "exploiter", "mediator"),
    "ablate": _parts("Ablation"),
    "add": _parts("Addition"),
    "summariser": _summariser,
    "summaries": one_of("phases", "rolling"),
    "schema": one_of("orders", "all", "form", "none"),
    "api": one_of("chat", "responses"),
    "grammar": one_of("auto", "vllm", "llama.cpp", "sglang"),
    "base_url": _setting("checked_url"),
    "key_variable": _setting("checked_variable"),
    "effort": word,
    "thinking": whole,
    "seed": whole,
    "extra": _json,
    "timeout": number,
    "retries": whole,
    "max_concurrent": whole,
    "prices": word,
    "latency": number,
}
