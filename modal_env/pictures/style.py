"""Colors, the style sheet, names as text, and a page around pictures.

Colors are those of Okabe and Ito, which color-blind readers can distinguish; letters repeat what colors show. All
markup is well-formed XML without `style` attributes, so that a page's content security policy can forbid them.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from html import escape
from importlib import resources

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
"""Colors of agents, in library order."""

# Characters that XML or UTF-8 cannot contain: control characters, halves of surrogate pairs, U+FFFE and U+FFFF.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(text: str, most: int = 40) -> str:
    """A text as content or attribute of an element: escaped, cut to `most` characters."""
    cut = text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", cut))


def name_of(name: str, most: int = 40) -> str:
    """An agent's name as an element that isolates its writing direction; a shortened name has a tooltip."""
    whole = f' title="{as_text(name, 1000)}"' if len(name) > most else ""
    return f"<bdi{whole}>{as_text(name, most)}</bdi>"


def notebook(*pictures: str) -> str:
    """Pictures with their style sheet, for a notebook."""
    return f'<div class="modal-env"><style>{_file("pictures.css")}</style>{"".join(pictures)}</div>'


def page(title: str, body: str) -> str:
    """A self-contained page: no script, and a content security policy that allows only its own style.

    Args:
        title: text.
        body: markup.
    """
    style = _file("pictures.css") + _file("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="{policy}" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{as_text(title, 200)}</title>
<style>{style}</style>
</head>
<body class="modal-env">
{body}
</body>
</html>
"""


@functools.cache
def _file(name: str) -> str:
    return resources.files("modal_env.pictures").joinpath(f"static/{name}").read_text("utf-8")
