"""The transcript of a game as one HTML page, without scripts or network access, with all texts escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from itertools import groupby

from evaluation.report.markup import COLORS, whole_page
from evaluation.report.transcripts import GameTranscript, TranscriptRequest, visible

STYLE = f"""{COLORS}body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--page); color: var(--ink); }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }} h2 {{ margin-top: 2rem; border-bottom: 1px solid var(--line); }}
details {{ border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0; padding: .3rem .7rem; }}
summary {{ cursor: pointer; }} .note {{ color: var(--faint); font-size: .9rem; }}
pre {{ background: var(--soft); padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }}
h3 {{ font-size: .95rem; margin: .6rem 0 .2rem; }}
"""


def transcript_page(transcript: GameTranscript, replay: str = "") -> str:
    """The page.

    Args:
        replay: relative path of the game's replay page, to link to from each phase; "" for none.
    """
    policy = f"default-src 'none'; style-src '{_digest(STYLE)}'; base-uri 'none'; form-action 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = whole_page("Transcript", _body(transcript, replay), STYLE, head)
    return page.encode("utf-8", "replace").decode()  # halves of surrogate pairs


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _body(transcript: GameTranscript, replay: str) -> Iterator[str]:
    yield f"<h1>{_text(transcript.title)}</h1>"
    yield f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in transcript.usage)}</ul>"
    if not transcript.is_private:
        yield "<p class=note>Private reasoning, notes and raw replies are left out.</p>"
    for phase, asked in groupby(transcript.asked, lambda each: str(each.where.get("phase", ""))):
        link = f' <a href="{escape(f"{replay}#{phase}", quote=True)}">replay</a>' if replay else ""
        yield f'<h2 id="{escape(phase, quote=True)}">{_text(phase)}{link}</h2>'
        yield from map(_question, asked)


def _question(asked: TranscriptRequest) -> str:
    title = f"{_text(asked.title)} <span class=note>({_text(asked.model)}; {_text(asked.told)})</span>"
    if asked.is_kept:
        before = f" <span class=note>after {asked.same:,} unchanged characters</span>" if asked.same else ""
        prompt = f"<h3>Prompt{before}</h3><pre>{_text(asked.new)}</pre>"
    else:
        prompt = "<p class=note>Prompt and reply were too long to be recorded.</p>"
    thinking = f"<h3>Thinking</h3><pre>{_text(asked.thinking)}</pre>" if asked.thinking else ""
    reply = f"<h3>Reply ({_text(asked.ending)})</h3><pre>{_text(asked.reply)}</pre>"
    return f"<details><summary>{title}</summary>{prompt}{thinking}{reply}</details>"


def _text(text: str) -> str:
    return escape(visible(text))
