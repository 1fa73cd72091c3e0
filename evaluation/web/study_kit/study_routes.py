"""The routes of a study: one address shows the page of the participant's current step, with a form to the next step.

======  ===============  ====================================================================
GET     /study/NAME      the page of the participant's step; for new visitors, the consent
POST    /study/NAME      {"step", answers...}: completes a step; redirects to the next page
======  ===============  ====================================================================

Games use the routes of `evaluation.web.games.play_routes`; participants get the cookie of their seat here.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from evaluation.web.foundation import keys
from evaluation.web.games.hosting import Host
from evaluation.web.study_kit import pages
from evaluation.web.study_kit.participants import Participant, StudyFolder
from evaluation.web.study_kit.study import (
    AFTER,
    BEFORE,
    CONSENT,
    DONE,
    ENDED,
    INSTRUCTIONS,
    PLAY,
    PRACTICE,
    Question,
)

COOKIE = "participant"
MOST_FIELDS = 300
MOST_EACH = 20  # maximum visitors per slot, against floods
PATIENCE = 60.0  # seconds to wait until a finished game is saved
HEADERS = {"content-security-policy": pages.POLICY, "referrer-policy": "same-origin"}  # so that forms send Origin
FULL = "This study has enough participants. Thank you for your interest."
PAUSED = "The study is paused, and no game can begin now. Please come back later; your progress is saved."


class StudyRoutes:
    """The routes of a study.

    Args:
        name: the study's name in its URL.
        is_secure: whether cookies are https only.
    """

    def __init__(self, folder: StudyFolder, host: Host, name: str, is_secure: bool = False) -> None:
        self.folder, self.host, self.name, self.is_secure = folder, host, name, is_secure
        self._lock = asyncio.Lock()

    @property
    def place(self) -> str:
        """The study's path on this server."""
        return f"/study/{self.name}"

    @property
    def routes(self) -> list[Route]:
        """For `serving.make_site`."""
        return [Route(self.place, self.show, methods=["GET"]), Route(self.place, self.take, methods=["POST"])]

    def _person(self, request: Request) -> Participant | None:
        return self.folder.find(request.cookies.get(COOKIE, ""))

    async def show(self, request: Request) -> Response:
        """The page of the participant's step."""
        person = self._person(request)
        if person is None:
            new = pages.consent_form(self.folder.study, CONSENT, "", keys.new_token())
            return self._page(new if self.folder.free_slot() else _told(FULL))
        await self._saved(person)
        async with self._lock:
            await self._settle(person)
            return self._page(self._body(person, {}, {}))

    async def take(self, request: Request) -> Response:
        """Complete a step; a late or repeated form changes nothing."""
        try:
            pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return PlainTextResponse("not a valid form", 400)
        given = {name: value.strip() for name, value in pairs}
        person = self._person(request)
        if person is not None:
            await self._saved(person)
        async with self._lock:
            if person is None:
                return await self._come(given)
            await self._settle(person)
            if given.get("step") != person.step(self.folder.study):
                return RedirectResponse(self.place, 303)
            return await self._taken(person, given)

    async def _taken(self, person: Participant, given: Mapping[str, str]) -> Response:
        study, step = self.folder.study, person.step(self.folder.study)
        questions = {BEFORE: study.before, AFTER: study.after, INSTRUCTIONS: study.check}.get(step, ())
        answers = {question.name: given.get(question.name, "") for question in questions}
        problems = {each.name: told for each in questions if (told := each.problem(answers[each.name]))}
        if problems:
            return self._page(self._body(person, answers, problems), 422)
        if step in (BEFORE, AFTER):
            await asyncio.to_thread(person.add, step, answers=answers)
        elif step == INSTRUCTIONS:
            await asyncio.to_thread(self.folder.answer_check, person, answers)
        elif step == PRACTICE and given.get("go") != "play":
            await asyncio.to_thread(person.add, PRACTICE)
        elif step in (PRACTICE, PLAY):
            return await self._sit_down(person, step)
        return RedirectResponse(self.place, 303)

    async def _come(self, given: Mapping[str, str]) -> Response:
        """Register a new participant who has read the consent."""
        study, nickname, secret = self.folder.study, given.get("nickname", ""), given.get("visit", "")
        if not keys.is_whole(secret):
            return self._page(_told("Please open the study's link again."), 422)
        if self.folder.free_slot() is None or len(self.folder.people) > MOST_EACH * (1 + len(self.folder.slots)):
            return self._page(_told(FULL))
        problem = "" if given.get(pages.AGREED) == "yes" else "Check the box to take part, or close this page."
        if not nickname or len(nickname) > pages.LONGEST_NICKNAME or not nickname.isprintable():
            problem = f"Choose a nickname of 1 to {pages.LONGEST_NICKNAME} characters."
        if problem:
            shown = nickname if nickname.isprintable() else ""
            return self._page(pages.consent_form(study, CONSENT, problem, secret, shown), 422)
        person = self.folder.find(secret)
        if person is None:
            person = await asyncio.to_thread(self.folder.come, secret)
        if not person.last(CONSENT):  # otherwise the form was sent again
            await asyncio.to_thread(person.add, CONSENT, nickname=nickname)
        parts = [f"{COOKIE}={secret}", f"Path={self.place}", "Max-Age=7776000", "HttpOnly", "SameSite=Strict"]
        cookie = "; ".join([*parts, *(["Secure"] if self.is_secure else [])])
        return RedirectResponse(self.place, 303, {"set-cookie": cookie})

    async def _saved(self, person: Participant) -> None:
        """Wait until the participant's finished game is saved (outside the lock, so that nobody else waits)."""
        game = person.game(PLAY)
        if person.step(self.folder.study) == PLAY and game and not self.folder.is_over(game):
            hosted = await self.host.find(game)
            if hosted is not None and hosted.table.is_done and hosted.task is not None:
                await asyncio.wait([hosted.task], timeout=PATIENCE)

    async def _settle(self, person: Participant) -> None:
        """Record a finished game, and assign a completion code at the end."""
        study, game = self.folder.study, person.game(PLAY)
        if person.step(study) == PLAY and game and self.folder.is_over(game):
            await asyncio.to_thread(self.folder.finish_game, person)
        if person.step(study) == DONE and not person.last(DONE):
            code = study.completion_code or secrets.token_hex(4).upper()
            await asyncio.to_thread(person.add, DONE, code=code)

    async def _sit_down(self, person: Participant, step: str) -> Response:
        """Redirect to the game, which is created on the first visit."""
        if not person.game(step):
            if self._is_spent:
                return self._page(_told(PAUSED), 503)
            if not await self._make_game(person, step):
                return self._page(_told(FULL))
        name = person.game(step)
        hosted = await self.host.find(name)
        if hosted is None:
            return self._page(_told("Your game no longer exists."), 404)
        (seat,) = hosted.table.people
        await hosted.enter(seat)
        cookie = keys.cookie_header(seat, hosted.secret(seat), f"/g/{name}", self.is_secure)
        return RedirectResponse(f"/g/{name}/{seat}", 303, {"set-cookie": cookie})

    @property
    def _is_spent(self) -> bool:
        """Whether the budget of language models is exhausted, so that they would hold in new games."""
        models = self.host.models
        return models is not None and models.budget is not None and models.budget.refusal != ""

    async def _make_game(self, person: Participant, step: str) -> bool:
        study, slot = self.folder.study, self.folder.free_slot()
        if step == PRACTICE and study.practice is not None:
            settings = study.table(study.practice, study.practice.seats[0], study.seed, self.place)
            game = await asyncio.to_thread(self.host.create, settings)
            await asyncio.to_thread(person.add, "practice game", game=game)
            return True
        if slot is None:
            return False
        condition = study.conditions[slot.condition]
        settings = study.table(condition, slot.seat, slot.seed, self.place)
        game = await asyncio.to_thread(self.host.create, settings)
        facts: dict[str, Any] = {"number": slot.number, "condition": condition.name, "seat": slot.seat, "game": game}
        await asyncio.to_thread(person.add, "slot", **facts)
        return True

    # Pages.

    def _page(self, body: str, status: int = 200) -> Response:
        return HTMLResponse(pages.page(self.folder.study, body), status, HEADERS)

    def _body(self, person: Participant, given: Mapping[str, str], problems: Mapping[str, str]) -> str:
        study, step = self.folder.study, person.step(self.folder.study)
        if step == DONE:
            nickname, code = person.last(CONSENT)["nickname"], person.last(DONE)["code"]
            return pages.done_page(study, nickname, code, self.folder.amount(person), self.folder.points(person))
        if step == ENDED:
            return _told("You did not pass the questions about the instructions, so the study ends here. Thank you.")
        if step == INSTRUCTIONS:
            return self._instructions(person, given, problems)
        if step == PRACTICE:
            return self._practice(person)
        if step == PLAY:
            told = "The game begins now. After the game, its page leads back here."
            return _told(told) + pages.form(step, "", "To your game")
        questions: tuple[Question, ...] = study.before if step == BEFORE else study.after
        return pages.questions_form(step, questions, given, problems, "Continue")

    def _instructions(self, person: Participant, given: Mapping[str, str], problems: Mapping[str, str]) -> str:
        study = self.folder.study
        text = f'<div class="card">{pages.prose(study.instructions)}</div>'
        wrong = person.last("check").get("wrong")
        if wrong and not problems:
            left = study.tries - sum(entry["kind"] == "check" for entry in person.entries)
            times = "once" if left == 1 else f"{left} times"
            text += pages.trouble(f"Not all answers are correct. Read the text again; you can try {times} more.")
        button = "Send answers" if study.check else "I have read this"
        return text + pages.questions_form(INSTRUCTIONS, study.check, given, problems, button)

    def _practice(self, person: Participant) -> str:
        told = _told("This is a practice game, which does not count. You can leave it at any time.")
        play = pages.form(PRACTICE, '<input type="hidden" name="go" value="play">', "To the practice game")
        on = pages.form(PRACTICE, '<input type="hidden" name="go" value="on">', "Continue to the main game")
        return told + play + (on if person.game(PRACTICE) else "")


def _told(text: str) -> str:
    return f'<div class="card"><p>{escape(text)}</p></div>'
