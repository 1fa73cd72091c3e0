"""The saved games of docs/gallery as replay pages of the site: NAME.json.gz becomes gallery/NAME.html."""

import gzip
import json
from pathlib import Path

from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "gallery"


def write(app: Sphinx, error: Exception | None) -> None:
    """Writes the replay pages, after all other pages."""
    from evaluation.report.replays import write_replay

    if error is not None or app.builder.format != "html":
        return
    for game in sorted(FOLDER.glob("*.json.gz")):
        page = Path(app.outdir, "gallery", game.name.replace(".json.gz", ".html"))
        page.parent.mkdir(exist_ok=True)
        write_replay(json.loads(gzip.decompress(game.read_bytes())), page)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
