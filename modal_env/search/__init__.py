"""Searches through all agents up to a depth: best replies, certificates, findings, the table of ordinal games."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    **dict.fromkeys(("CALLS", "certify", "least_replies"), "findings"),
    "fewer_calls": "substitutes",
    "lemma_at_cost": "formula_costs",
    "readings": "periodic_table",
    "table_faults": "table_checker",
    "two_boxes": "behaviors",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name's module on first use, as most of them load numba."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
