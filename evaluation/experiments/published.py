"""The authors' published results, run by run (`published.toml` has the numbers and their source).

Compare with games under `Rules.published()` that are measured with ``published=True``; models are named as they were
then.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

Points = dict[str, dict[str, tuple[float, ...]]]

_read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

RANDOM_SWEEP = {measure: tuple(values) for measure, values in _read.pop("random_sweep").items()}
"""Measure -> one value per seed, for random."""

TABLES: dict[str, Points] = {
    table: {name: {measure: tuple(values) for measure, values in runs.items()} for name, runs in rows.items()}
    for table, rows in _read.items()
}
"""Table of the paper -> model, message rounds or what was left out -> measure -> one value per run."""
