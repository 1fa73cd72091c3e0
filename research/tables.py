"""Tables of results on pages of docs and in READMEs here: ``python -m research.tables`` writes them into the pages.

A table is a CSV file in docs/tables: a line with "# " and the command that produced it, the column names, and the cells
as displayed. On the page it is between ``<!-- results:NAME -->`` and ``<!-- results:end -->``.
Studies print their tables and, with ``--tables docs/tables``, write these files (`show`).
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PLACE = re.compile(r"(<!-- results:(?!end)([\w-]+) -->\n).*?(<!-- results:end -->)", re.DOTALL)
Folder = Annotated[
    Path | None, typer.Option("--tables", help="Folder to write the page's table to, such as docs/tables.")
]


def show(folder: Path | None, name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table and, with a folder, write it there."""
    rows = list(rows)
    save(folder, name, head, rows)
    print(f"{markdown(head, rows)}\n", flush=True)


def save(folder: Path | None, name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table with the current command line; without a folder nothing is written."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    command = shlex.join(["python", *sys.orig_argv[1:]])
    (folder / f"{name}.csv").write_text(f"# {command}\n{text.getvalue()}", encoding="utf-8")


def read(path: Path) -> tuple[str, list[list[str]]]:
    """The command and rows of a file; the first row has the column names."""
    command, _, text = path.read_text(encoding="utf-8").partition("\n")
    return command.removeprefix("# "), list(csv.reader(io.StringIO(text)))


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown; columns without letters, except in brackets, are right-aligned."""
    plain = [[re.sub(r"[\[(].*?[\])]", "", cell) for cell in row] for row in rows]
    words = [any(re.search("[A-Za-z]", row[place]) for row in plain) for place in range(len(head))]
    ruler = ["---" if each else "--:" for each in words]
    return "\n".join(f"|{''.join(f' {cell} |' if cell else ' |' for cell in row)}" for row in (head, ruler, *rows))


def written(page: str, folder: Path = DOCS / "tables") -> str:
    """The page with the current tables."""

    def filled(place: re.Match[str]) -> str:
        head, *rows = read(folder / f"{place[2]}.csv")[1]
        return f"{place[1]}{markdown(head, rows)}\n{place[3]}"

    return PLACE.sub(filled, page)


def pages() -> list[Path]:
    """The pages that may have tables."""
    return sorted([*DOCS.glob("*.md"), *ROOT.glob("research/*/README.md")])


def main() -> None:
    """Rewrite the tables on all pages."""
    for path in pages():
        page = path.read_text(encoding="utf-8")
        if (now := written(page)) != page:
            path.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
