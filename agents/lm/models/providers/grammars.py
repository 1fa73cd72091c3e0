"""Grammars in place of schemas: how each kind of server takes them, and a question that shows what one enforces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agents.lm.errors import ConfigError
from agents.lm.models.protocol import Block, Request
from agents.lm.reading.grammar import gbnf
from agents.lm.reading.order_schema import object_schema

GRAMMARS: dict[str, Callable[[str], dict[str, Any]]] = {
    "vllm": lambda text: {"structured_outputs": {"grammar": text}},
    "llama.cpp": lambda text: {"grammar": text},
    "sglang": lambda text: {"ebnf": text},
}
"""Kind of server -> from a grammar (GBNF) to further fields of the body."""

SECRET = "quagga-7391"
PROBE = object_schema({"word": {"type": "string", "enum": [SECRET]}})
"""The schema of a question whose answer appears only in the schema."""

PROBE_TOKENS = 2000  # room for thinking


def probe_request(name: str = "probe") -> Request:
    """A question whose answer appears only in its schema."""
    text = 'Answer with the JSON object {"word": "none"}, and nothing else.'
    return Request((), (Block(text),), PROBE, name, PROBE_TOKENS, None, None)


def grammar_fields(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a body that send a grammar in place of a schema.

    Raises:
        ConfigError: no grammar can be made of the schema.
    """
    try:
        return GRAMMARS[kind](gbnf(schema))
    except ValueError as error:
        raise ConfigError(f"grammar: {error}") from error
