"""Checks a built site on disk: ``python -m tools.site docs/_build/html``.

Every link within the site leads to a file and, with #, to an anchor in it; nothing is loaded from other sites; every
page is smaller than a megabyte.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 1_000_000  # bytes per page


class Page(HTMLParser):
    """A page's links, loaded resources, and anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [given[name] for name in ("src", "href") if name in given and tag != "a"]


def read(path: Path) -> Page:
    """A page of the site."""
    page = Page()
    page.feed(path.read_text())
    return page


def faults(site: Path) -> list[str]:
    """The faults of a site, a line each; see the module's documentation."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        if path.stat().st_size >= LARGEST:
            found.append(f"{name}: {path.stat().st_size:,} bytes")
        found += [f"{name}: loads {load}" for load in page.loads if urlsplit(load).scheme in ("http", "https")]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name}: no file for {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{name}: no place for {link}")
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    wrong = faults(folder)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(list(folder.rglob('*.html')))} pages in {folder}, {len(wrong)} faults; open {folder / 'index.html'}")
    sys.exit(bool(wrong) or not (folder / "index.html").exists())
