"""Parameters that not every server and model accepts, and which of them a server has rejected.

Newer models accept only one of temperature and top_p, or neither; some servers do not know schemas, or have another
name for the limit of a reply. Only the server knows, and reports it as an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.lm.models.providers.faults import Fault

SAMPLING = ("top_p", "temperature")
SCHEMA = "schema"
LIMIT = "max_tokens"

_SCHEMAS = re.compile(
    r"response_?format|json_?schema|output_config(?!\.effort)|output_format|text\.format|guided_\w+|structured.?outputs?"
    r"|grammar",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|deprecated|not permitted|not allowed|instead",
    re.IGNORECASE,
)
_REFUSING = frozenset({"bad request", "not found", "server"})  # the faults by which servers reject a parameter


USUAL_TOKENS = 2000
"""Limit of a reply of a model that answers at once."""

THINKING_TOKENS = 16_000
"""Limit of a reply of a model that thinks first, which counts in the limit."""

_THINKERS = re.compile(
    r"\bo[134]\b|gpt-?(?:[5-9]|oss)|deepseek-(?:r|v[4-9])|reasoner|\br1\b|qwq|qwen-?[3-9]|magistral|grok-[3-9]"
    r"|gemini-(?:2\.5|[3-9])|glm-(?:4\.[5-9]|[5-9])|kimi-k[2-9]|minimax-m|nemotron|thinking|reasoning",
    re.IGNORECASE,
)
_AT_ONCE = frozenset({"none", "minimal"})  # efforts without thinking


def usual_tokens(model: str, effort: str | None = None, thinking: int | None = None) -> int:
    """The usual limit of a reply, by the kind of model.

    Args:
        model: the model's name.
        effort, thinking: its settings.
    """
    if thinking is not None:
        return thinking + USUAL_TOKENS
    thinks = effort not in _AT_ONCE if effort else _THINKERS.search(model) is not None
    return THINKING_TOKENS if thinks else USUAL_TOKENS


def refused(fault: Fault, sent: Mapping[str, str]) -> str | None:
    """The parameter that a server has rejected, or None.

    Args:
        fault: the server's fault.
        sent: the parameters that could be left out -> their names on that server, in the sequence in which they are
            given up.
    """
    if fault.kind not in _REFUSING:
        return None
    return next((parameter for parameter, name in sent.items() if _is_about(parameter, name, fault)), None)


def _is_about(parameter: str, name: str, fault: Fault) -> bool:
    if parameter == SCHEMA:
        return _SCHEMAS.search(fault.about) is not None
    if re.search(rf"\b{name}\b", fault.about) is None:
        return False
    # A limit may just have a wrong value; a sampling parameter is left out whatever is wrong with it.
    return _UNKNOWN.search(fault.about) is not None if parameter == LIMIT else fault.kind == "bad request"
