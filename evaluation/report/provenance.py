"""Which models answered in the games of an experiment, and how much of it was of the form that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.measures.lm_usage import answering, share_of_schema, share_repaired
from evaluation.report.figures import full_label

HEAD = ["condition", "measure", "answered by", "questions", "unanswered", "of the schema", "repaired"]
ABOUT = (
    "Models as their servers name them, with the number of replies; replies that are of the schema that was sent; and "
    "replies that were no proper JSON, but could be read. All seats that language models play, deviators included."
)


def provenance_rows(study: Mapping[str, Any]) -> list[list[str]]:
    """A row for each measure of a condition in which language models played, with the cells of `HEAD`."""
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
