"""Readers of the values of options: functions from a text to the value, which raise ValueError for other texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from agents.specs.spec import Folder, unwrapped
from welfare_env.errors import did_you_mean

Reader = Callable[[str], Any]

_MODEL = r"\w+(?:/\S+)?"  # PROVIDER/MODEL, or the name of one of the user's own
_NUMBER = "[-+.0-9a-zA-Z]{1,40}"


def _reader(right: str, convert: Reader = str, pattern: str = r"(?s:.+)", **words: Any) -> Reader:
    """The reader of a few words, and of texts that match a pattern and can be converted.

    For others its error says what would be right.
    """

    def read(text: str) -> Any:
        if text in words:
            return words[text]
        with suppress(ValueError):
            if re.fullmatch(pattern, text):
                return convert(text)
        raise ValueError(right)

    return read


def one_of(*words: str) -> Reader:
    """The reader of one of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"give one of {', '.join(words)}{did_you_mean(text, words)}")
        return text

    return read


word = _reader("give a value")
whole = _reader("give a whole number from 0", int, "[0-9]{1,9}")
number = _reader("give a number", float, _NUMBER)
number_or_none = _reader("give a number", float, _NUMBER, none="none")  # none: the server's own
folder = _reader(
    "give the folder of a checkpoint, such as rl:runs/welfare/checkpoint", lambda text: Folder(unwrapped(text))
)
model = _reader("give PROVIDER/MODEL, such as openai/gpt-6-luna, anthropic/NAME or scripted/stub", str, _MODEL)


def yes_or_no(text: str) -> bool:
    """True for "yes", False for "no"."""
    return one_of("yes", "no")(text) == "yes"


def policy(text: str) -> Any:
    """The reader of a policy; only a mark, since the levels of specs in specs are counted where they are read."""
    raise NotImplementedError


READERS: dict[str, Reader] = {
    **dict.fromkeys(("int", "int | None"), whole),
    "OrNever": _reader("give a whole number, or never", int, "[0-9]{1,9}", never=None),
    "float": number,
    **dict.fromkeys(("bool", "bool | None"), yes_or_no),
    **dict.fromkeys(("str", "str | None"), word),
    **dict.fromkeys(("Policy", "Policy | None", "MixPolicy"), policy),
}
"""The annotation of a policy's parameter -> the reader of an option; other parameters are no options."""


def _setting(check: str) -> Reader:
    """The reader that a check of `agents.lm.models.secrets` is; imported when used."""
    return lambda text: getattr(import_module("agents.lm.models.secrets"), check)(text)


def _parts(kind: str) -> Reader:
    """The reader of parts of a prompt, `Ablation` or `Addition`."""

    def read(text: str) -> str:
        from agents.lm.prompts import parts

        return parts.parts_text(parts.parse_parts(getattr(parts, kind), text))

    return read


LM_OPTIONS: dict[str, Reader] = {
    **dict.fromkeys(("temperature", "top_p"), number_or_none),
    **dict.fromkeys(("max_tokens", "note_tokens"), whole),
    "flavour": one_of("wd", "sd", "exploiter", "mediator"),
    "ablate": _parts("Ablation"),
    "add": _parts("Addition"),
    "summariser": _reader("give self, none, or a model: PROVIDER/MODEL, or the name of your own", str, _MODEL),
    "summaries": one_of("phases", "rolling"),
    "schema": one_of("orders", "all", "form", "none"),
    "grammar": one_of("vllm", "llama.cpp", "sglang"),
    "base_url": _setting("checked_url"),
    "key_variable": _setting("checked_variable"),
    "effort": word,
    "extra": lambda text: f"({json.dumps(_setting('checked_extra')(text))})",  # JSON has commas
    "timeout": number,
    **dict.fromkeys(("retries", "max_concurrent"), whole),
    "prices": word,
    "latency": number,
}
