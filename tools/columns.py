"""The tables of columns in docs/results.md, from `evaluation.columns`.

``python -m tools.columns`` rewrites them; tests/evaluation/test_columns.py compares the page with the code.
"""

from __future__ import annotations

import re
from pathlib import Path

from evaluation.tables.columns import TABLES, as_markdown

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"


def written(page: str) -> str:
    """The page with the current columns."""
    for table in TABLES:
        begin, end = f"<!-- columns:{table} -->\n", "<!-- columns:end -->"
        page = re.sub(f"{begin}.*?{end}", lambda _: f"{begin}{as_markdown(table)}{end}", page, flags=re.S)  # noqa: B023
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
