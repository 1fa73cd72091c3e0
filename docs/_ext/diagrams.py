"""Mermaid's flow charts, drawn when the site is built: no script, no network."""

from docutils import nodes
from flow_chart import draw, read
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Mermaid(SphinxDirective):
    """Shows a Mermaid text as a diagram."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", draw(read(list(self.content)[1:])), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
