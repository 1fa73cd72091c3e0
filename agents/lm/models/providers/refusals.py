"""Parameters that a server refuses, and so are left out.

Newer models accept only one of temperature and top_p, or neither; some servers do not know schemas, or have another
name for the limit of a reply. Only the server knows, and reports it as an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents.lm.models.protocol import Request
from agents.lm.models.providers.faults import Fault

SAMPLING = ("top_p", "temperature")
SCHEMA = "schema"
LIMIT = "max_tokens"

_SCHEMAS = re.compile(
    r"response_?format|json_?schema|output_config(?!\.effort)|output_format|text\.format|structured.?outputs?|schema"
    r"|grammar|ebnf",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|deprecated|not permitted|not allowed|instead",
    re.IGNORECASE,
)


class Refusals:
    """What one server refuses: names of parameters, and shapes of schemas."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._shapes: set[str] = set()

    def of(self, request: Request) -> frozenset[str]:
        """The parameters of a request that are refused; the schema only if one of its shape was."""
        is_refused = bool(self._shapes) and request.schema is not None and shape(request.schema) in self._shapes
        return frozenset(self._names | ({SCHEMA} if is_refused else set()))

    def add(self, parameter: str, request: Request) -> None:
        """Records that a parameter of a request was refused."""
        if parameter == SCHEMA:
            self._shapes.add(shape(request.schema))
        else:
            self._names.add(parameter)


def not_sent(request: Request, sent: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that a request asks for, and are not among those sent."""
    if request.schema is not None and SCHEMA not in sent:
        yield SCHEMA
    for name in sorted(SAMPLING):
        if getattr(request, name) is not None and name not in sent:
            yield name


def refused(fault: Fault, sent: Mapping[str, str]) -> str | None:
    """The parameter that a server has refused, or None.

    Args:
        fault: the server's fault.
        sent: the optional parameters -> their names on that server, in the sequence in which they are left out.
    """
    if fault.kind in ("bad request", "not found", "server"):
        return next((parameter for parameter, name in sent.items() if _is_about(parameter, name, fault)), None)
    return None


def _is_about(parameter: str, name: str, fault: Fault) -> bool:
    if parameter == SCHEMA:
        return _SCHEMAS.search(fault.about) is not None
    if re.search(rf"\b{name}\b", fault.about) is None:
        return False
    # A limit may just have a wrong value; a sampling parameter is left out whatever is wrong with it.
    return _UNKNOWN.search(fault.about) is not None if parameter == LIMIT else fault.kind == "bad request"


def shape(schema: Any) -> str:
    """What a schema has in common with those that a server refuses for the same reason: its form, and about its size.

    The names of properties and the values of enums are left out, and alternatives of one form count once.
    """
    return f"{_form(schema)} of {len(str(schema)).bit_length()} bits"


def _form(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    alternatives = sorted({_form(each) for each in schema.get("anyOf", ())})
    parts = sorted({_form(each) for each in schema.get("properties", {}).values()})
    inner = [*alternatives, *parts, *([_form(schema["items"])] if "items" in schema else [])]
    words = sorted(word for word in schema if word not in ("properties", "required"))
    return f"{schema.get('type', '')}[{' '.join(words)}]({', '.join(inner)})"
