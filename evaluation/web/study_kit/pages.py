"""The pages of a study: plain HTML with forms, without scripts. All texts are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from evaluation.web.foundation.serving import BUNDLES
from evaluation.web.study_kit.study import KINDS, LONGEST_ANSWER, Question, Study

BUNDLES["study.css"] = ("welfare_env.render.replay/page.css", "evaluation.web.study_kit/study.css")
POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LONGEST_NICKNAME = 40
AGREED = "agreed"


def page(study: Study, body: str) -> str:
    """An HTML page with the study's title."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(study.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/study.css">
</head>
<body>
<main class="study">
<h1>{escape(study.title)}</h1>
{body}
</main>
</body>
</html>
"""


def prose(text: str) -> str:
    """A text as HTML paragraphs, separated by empty lines; lines beginning with "- " form a list."""
    return "\n".join(_block(block.strip().splitlines()) for block in re.split(r"\n\s*\n", text.strip()))


def _block(lines: Sequence[str]) -> str:
    if lines and all(line.startswith("- ") for line in lines):
        return "<ul>" + "".join(f"<li>{escape(line[2:])}</li>" for line in lines) + "</ul>"
    return f"<p>{escape(' '.join(lines))}</p>"


def form(step: str, inside: str, button: str) -> str:
    """A form of the study."""
    return (
        f'<form method="post"><input type="hidden" name="step" value="{escape(step)}">\n{inside}\n'
        f'<button type="submit" class="main">{escape(button)}</button></form>'
    )


def trouble(text: str) -> str:
    """An error message above a form."""
    return f'<p class="trouble" role="alert">{escape(text)}</p>' if text else ""


def consent_form(study: Study, step: str, problem: str, visit: str, nickname: str = "") -> str:
    """The consent form, with a field for a nickname.

    Args:
        visit: the participant's future secret, so that sending the form twice does not create two participants.
    """
    own = f"""<input type="hidden" name="visit" value="{escape(visit)}">
<p><label for="nickname">A nickname of your choice (not your name)</label>
<input id="nickname" name="nickname" maxlength="{LONGEST_NICKNAME}" autocomplete="off" value="{escape(nickname)}"></p>
<p><label class="tick"><input type="checkbox" name="{AGREED}" value="yes"> I have read this and agree.</label></p>"""
    return f'<div class="card">{prose(study.consent)}</div>{trouble(problem)}{form(step, own, "Take part")}'


def questions_form(
    step: str, questions: Iterable[Question], given: Mapping[str, str], problems: Mapping[str, str], button: str
) -> str:
    """A form with questions, earlier answers and error messages."""
    told = trouble("Please look at the marked questions." if problems else "")
    return told + form(
        step, "\n".join(_question(each, given.get(each.name, ""), problems) for each in questions), button
    )


def _question(question: Question, given: str, problems: Mapping[str, str]) -> str:
    name, text = escape(question.name), escape(question.text)
    problem = f'<p class="wrong">{escape(problems[question.name])}</p>' if question.name in problems else ""
    if question.answers:
        ends = _ends(question)
        answers = "\n".join(_answer(question, answer, given) for answer in question.answers)
        kind = f"answers {question.kind}" if question.kind in KINDS else "answers"
        return f'<fieldset><legend>{text}</legend>{ends}{problem}<div class="{kind}">{answers}</div></fieldset>'
    if question.kind == "number":
        field = f'<input id="q-{name}" name="{name}" inputmode="numeric" autocomplete="off" value="{escape(given)}">'
    else:
        field = f'<textarea id="q-{name}" name="{name}" maxlength="{LONGEST_ANSWER}">{escape(given)}</textarea>'
    return f'<div class="question"><label for="q-{name}">{text}</label>{problem}{field}</div>'


def _ends(question: Question) -> str:
    if question.kind != "scale":
        return ""
    low, high = map(escape, question.options)
    return f"<p>1: {low}; {len(question.answers)}: {high}</p>"


def _answer(question: Question, answer: str, given: str) -> str:
    checked = " checked" if answer == given else ""
    name, value = escape(question.name), escape(answer)
    return f'<label class="tick"><input type="radio" name="{name}" value="{value}"{checked}> {value}</label>'


def done_page(study: Study, nickname: str, code: str, amount: str, points: float) -> str:
    """The last page, with the completion code."""
    paid = (
        f"<p>You have {points:g} points and get {escape(amount)}.</p>"
        if amount
        else f"<p>You have {points:g} points.</p>"
    )
    return f"""<div class="card"><h2>Thank you, {escape(nickname)}</h2>{paid}
<p>Your completion code:</p><p class="code"><strong>{escape(code)}</strong></p>
<p>You may close this page.</p></div>"""
