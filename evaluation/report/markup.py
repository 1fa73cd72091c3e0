"""Building blocks of result pages: pages, paragraphs, tables, and horizontally scrolling boxes.

All text from outside (titles, specs, paths) is escaped; pages have no scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1a1a1a; --faint: #595959; --line: #8886; --soft: #8882; }
@media (prefers-color-scheme: dark) { :root { --page: #121212; --ink: #e6e6e6; --faint: #b0b0b0; } }
a { color: LinkText; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--page); color: var(--ink); }
h1, h2, h3, p { overflow-wrap: anywhere; } h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: .9rem; } figcaption, .note, small { color: var(--faint); }
figcaption, .note { font-size: .9rem; } small { display: block; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
tbody th { font-weight: inherit; } td { white-space: nowrap; }
.words { text-align: left; white-space: normal; overflow-wrap: break-word; max-width: 24rem; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; min-width: 4.5rem; }
thead th.words { min-width: 8rem; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--page);
  max-width: 40vw; overflow-wrap: break-word; white-space: normal; }
.wide { overflow-x: auto; margin: .4rem 0 .8rem; scrollbar-color: #888 var(--soft);
  background: linear-gradient(to left, var(--page) 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, #888a, transparent) right / 1.2rem 100% no-repeat scroll; }
.wide:focus-visible { outline: 2px solid; outline-offset: 2px; }
@media print { .wide { overflow: visible; } }
figure { margin: 1rem 0; } figure svg { display: block; max-width: 100%; min-width: 30rem; height: auto; }
code, pre { background: var(--soft); padding: .1rem .3rem; }
pre { padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def whole_page(title: str, parts: Iterable[str]) -> str:
    """An HTML page from parts, without empty parts."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n'
    )


def paragraph(text: str, note: bool = False) -> str:
    """A paragraph of text, or a note in a fainter color."""
    return f"<p{' class=note' if note else ''}>{escape(text)}</p>"


def framed(svg: str, title: str, caption: str) -> str:
    """A drawing with its caption; scrolls horizontally on narrow screens."""
    return f"<figure>{scrolling(svg, title)}<figcaption>{escape(caption)}</figcaption></figure>"


def scrolling(content: str, title: str) -> str:
    """Markup in a box that scrolls horizontally, also by keyboard."""
    return f'<div class=wide tabindex=0 role=group aria-label="{escape(title, quote=True)}">{content}</div>'


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """An HTML table that scrolls horizontally except for its first column; text is aligned left, numbers right."""
    kinds = [" class=words" if any(cell[:1].isalpha() for cell in column) else "" for column in zip(*rows, strict=True)]
    kinds = kinds or [""] * len(head)
    top = "".join(f"<th scope=col{kind}>{escape(name)}</th>" for name, kind in zip(head, kinds, strict=True))
    body = "".join(f"<tr>{''.join(_cells(row, kinds))}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p class=note>{escape(caption)}</p>{scrolling(table, caption)}"


def _cells(row: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """The cells of a row; the first is a head cell unless empty; intervals are placed below their values."""
    for place, (cell, kind) in enumerate(zip(row, kinds, strict=True)):
        inside = re.sub(r"^(-?[\d.,]+)\s(\[.*\]|\(.*\))$", r"\1<small>\2</small>", escape(cell))
        if kind:  # specs may break after punctuation
            inside = re.sub(r"(?<=[,:=/])(?=\S)", "<wbr>", inside)
        yield f"<td{kind}>{inside}</td>" if place or not inside else f"<th scope=row{kind}>{inside}</th>"
