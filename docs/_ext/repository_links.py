"""Shows repository files on the site: READMEs outside docs/ become pages, other files downloads."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {  # page of the site: the file that it shows
    "design/architecture": "ARCHITECTURE.md",
    "design/contributing": "CONTRIBUTING.md",
    "design/changelog": "CHANGELOG.md",
    "design/security": "SECURITY.md",
    "design/equivalence": "tools/equivalence/README.md",
    "environments/inspect_welfare_diplomacy": "environments/inspect_welfare_diplomacy/README.md",
    "environments/welfare_diplomacy": "environments/welfare_diplomacy/README.md",
    "research/index": "research/README.md",
    "research/deterrence": "research/deterrence/README.md",
    "research/language_models": "research/language_models/README.md",
    "research/learning": "research/learning/README.md",
    "research/price_of_peace": "research/price_of_peace/README.md",
    "research/programs": "research/programs/README.md",
    "research/proofs": "research/programs/proofs.md",
    "research/validation": "research/validation/README.md",
}
HOME = {ROOT / "README.md": DOCS / "index.md", DOCS: DOCS / "index.md"}
LINK = re.compile(r"(?<!`)\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|mailto:|#|<)([\w./-]+)(#[\w.-]+)?\)")

TABLE = re.compile(r"(<!-- results:([\w-]+) -->\n.*?<!-- results:end -->\n)", re.DOTALL)


def show(app: Sphinx, name: str, source: list[str]) -> None:
    """Replaces a page by the file that it shows, rewrites links that lead out of docs/, and links tables' files."""
    file = ROOT / PAGES[name] if name in PAGES else Path(app.env.doc2path(name))
    text = source[0]
    if name in PAGES:
        app.env.note_dependency(str(file))
        text = file.read_text()
    folder = (DOCS / name).parent
    shown = {ROOT / path: DOCS / f"{page}.md" for page, path in PAGES.items()} | HOME

    def turned(link: re.Match[str]) -> str:
        target = (file.parent / link[2]).resolve()
        if target.is_dir() and (target / "README.md").exists():
            target /= "README.md"
        target = shown.get(target, target)
        if target.is_dir() or (target.suffix == ".md" and not target.is_relative_to(DOCS)):
            LOG.warning("%s is no page of the site: name it in PAGES, or link something else", link[2], location=name)
        if link[3] and "." in link[3]:  # a name of the reference, which has no heading
            return f"{{py:obj}}`{link[1].strip('`')} <{link[3].removeprefix('#')}>`"
        return f"[{link[1]}]({os.path.relpath(target, folder)}{link[3] or ''})"  # a broken link is reported later

    text = TABLE.sub(rf"\1\n[This table as CSV]({os.path.relpath(DOCS / 'tables', file.parent)}/\2.csv)", text)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    source[0] = "".join(part if part.startswith("```") else LINK.sub(turned, part) for part in parts)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
