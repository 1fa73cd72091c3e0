"""The models that answered in the games of an experiment, and the format of their replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.measures.lm_usage import answering, share_of_schema, share_repaired
from evaluation.report.figures import full_label

HEAD = ["condition", "measure", "answered by", "requests", "failed", "match the schema", "repaired"]
ABOUT = (
    "Model names reported by the servers, with the number of replies; share of replies that match the schema that was "
    "sent; share of replies that were invalid JSON but could be repaired. All seats of language models, including "
    "deviators."
)


def provenance_rows(study: Mapping[str, Any]) -> list[list[str]]:
    """One row per condition and measure in which language models played, with the columns of `HEAD`."""
    return [
        [full_label(condition), cell["measure"], *_cells(used)]
        for condition in study["conditions"]
        for cell in condition["cells"]
        if (used := cell["result"].get("language_models"))
    ]


def _cells(used: Mapping[str, Any]) -> Iterator[str]:
    yield answering(used.get("answered_by", {}))
    yield f"{used['calls']:,}"
    yield f"{used['failed']:,}"
    yield share_of_schema(used.get("obeyed", 0), used.get("with_schema", 0))
    yield share_repaired(used["losses"].get("repaired", 0), used["calls"] - used["failed"])
