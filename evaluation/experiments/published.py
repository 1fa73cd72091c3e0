"""The authors' published results, run by run (`published.toml` has the numbers and their source).

For a comparison, play games under `Rules.published()` and measure them with ``paper_code=True``. Models have the names
used in the paper.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

Points = dict[str, dict[str, tuple[float, ...]]]

_read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

RANDOM_SWEEP = {measure: tuple(values) for measure, values in _read.pop("random_sweep").items()}
"""Measure -> one value per seed, for the random policy."""

TABLES: dict[str, Points] = {
    table: {name: {measure: tuple(values) for measure, values in runs.items()} for name, runs in rows.items()}
    for table, rows in _read.items()
}
"""Table of the paper -> row (a model, number of message rounds or ablation) -> measure -> one value per run."""
