"""Shows repository pages on the site: files outside docs/ become pages, downloads or plain text."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {  # page of the site: the file that it shows
    "design/architecture": "ARCHITECTURE.md",
    "design/contributing": "CONTRIBUTING.md",
    "design/changelog": "CHANGELOG.md",
    "design/security": "SECURITY.md",
}
HOME = {ROOT / "README.md": DOCS / "index.md", DOCS: DOCS / "index.md"}
LINK = re.compile(r"(?<!`)\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|mailto:|#|<)([\w./-]+)(#[\w.-]+)?\)")


def show(app: Sphinx, name: str, source: list[str]) -> None:
    """Replaces a page by the file that it shows, and rewrites links that lead out of docs/."""
    file = ROOT / PAGES[name] if name in PAGES else Path(app.env.doc2path(name))
    text = source[0]
    if name in PAGES:
        app.env.note_dependency(str(file))
        text = file.read_text()
    folder = (DOCS / name).parent
    shown = {ROOT / path: DOCS / f"{page}.md" for page, path in PAGES.items()} | HOME

    def turned(link: re.Match[str]) -> str:
        target = (file.parent / link[2]).resolve()
        target = shown.get(target, target)
        if target.is_dir() and (target / "README.md").exists() and target.is_relative_to(DOCS):
            target /= "README.md"
        if not target.exists() or target.is_dir() or (target.suffix == ".md" and not target.is_relative_to(DOCS)):
            return link[1] if target.exists() else link[0]  # folders become text; broken links stay and are reported
        return f"[{link[1]}]({os.path.relpath(target, folder)}{link[3] or ''})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    source[0] = "".join(part if part.startswith("```") else LINK.sub(turned, part) for part in parts)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
