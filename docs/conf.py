"""The site: Sphinx over the Markdown of this folder. `make docs` builds it into docs/_build/html, without a network."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

from faces import MOCKED  # noqa: E402 (needs the path)

project = "welfare-env"
copyright = "the welfare-env authors, MIT license"
version = release = next(
    line.split('"')[1]
    for line in (ROOT / "welfare_env/__init__.py").read_text().splitlines()
    if "__version__ =" in line
)

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
extensions += ["diagrams", "repository_links", "faces", "commands", "gallery"]
exclude_patterns = ["_build", "pictures/README.md"]
html_theme = "furo"
html_title = f"welfare-env {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_heading_anchors = 4  # links to headings as on GitHub
myst_fence_as_directive = ["mermaid"]
myst_enable_extensions = ["deflist", "fieldlist"]

default_role = "py:obj"  # `Rules` in a docstring is a link where the reference has it
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = MOCKED
python_use_unqualified_type_names = True
python_display_short_literal_types = True
napoleon_numpy_docstring = False
# In "Raises", napoleon links bare names; both packages have an ActionError, so there it stays without a link.
suppress_warnings = ["ref.python"]
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
