"""A study: conditions, texts, questions and payment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from evaluation.web.games.settings import HOLD, MOST_BYTES, TableSettings, profile_with
from welfare_env import Rules

CONSENT, BEFORE, INSTRUCTIONS, PRACTICE, PLAY, AFTER, DONE, ENDED = (
    *("consent", "before", "instructions", "practice", "play", "after", "done", "ended"),
)
KINDS = ("choice", "scale", "number", "text")
SCALE = 7  # points of a scale, from the first option to the last
LONGEST_ANSWER = 2000  # characters of a text
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Condition:
    """A condition of a study.

    Attributes:
        name: name of the condition.
        others: the policy or profile of the other seats.
        seats: participants' seats, in turn; () for all seats of the map.
        rules: rules of the game.
    """

    name: str
    others: str
    seats: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True)
class Question:
    """A question to participants.

    Attributes:
        name: name of its column in the tables.
        text: the question.
        kind: "choice" (of the options), "scale" (1 to 7, between two options), "number" or "text".
        options: the options of a choice, or the two ends of a scale.
        right: the right option in a comprehension check; "" for other questions.
    """

    name: str
    text: str
    kind: str = "choice"
    options: tuple[str, ...] = ()
    right: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        """The possible answers; () for free answers."""
        return tuple(map(str, range(1, SCALE + 1))) if self.kind == "scale" else self.options

    def problem(self, answer: str) -> str:
        """What is wrong with an answer; "" if it is valid."""
        if not answer.strip():
            return "Please answer."
        if self.answers:
            return "" if answer in self.answers else "Please choose one of the answers."
        if self.kind == "number" and not answer.strip().isdecimal():
            return "Please enter a whole number."
        return "" if len(answer) <= LONGEST_ANSWER else f"Please write at most {LONGEST_ANSWER} characters."


@dataclass(frozen=True)
class Payment:
    """The payment of a participant: base + per_point * points, within limits.

    Attributes:
        currency: name of the currency.
        base, per_point, least, most: amounts in this currency.
    """

    currency: str
    base: Decimal
    per_point: Decimal
    least: Decimal
    most: Decimal

    def amount(self, points: float) -> Decimal:
        """The payment for a number of welfare points, rounded to cents."""
        exact = self.base + self.per_point * Decimal(str(points))
        return min(self.most, max(self.least, exact)).quantize(CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class Study:
    """A study, as read by `parser.load_study`.

    Attributes:
        text: the text of its file.
        games: games per condition, with one participant each.
        check: comprehension questions, which must all be answered correctly, within `tries` attempts.
        practice: the condition of a practice game, which does not count; None for no practice.
        payment: the payment shown to participants; None for none.
        completion_code: a code for all participants; "" for an individual code each.
        message_seconds, order_seconds, late: deadlines of a step (0 for none), and what plays after a deadline.
    """

    text: str
    title: str
    conditions: tuple[Condition, ...]
    consent: str
    instructions: str
    games: int = 10
    seed: int = 0
    map_name: str = "standard"
    before: tuple[Question, ...] = ()
    check: tuple[Question, ...] = ()
    tries: int = 3
    practice: Condition | None = None
    after: tuple[Question, ...] = ()
    payment: Payment | None = None
    completion_code: str = ""
    message_seconds: float = 0
    order_seconds: float = 0
    late: str = HOLD

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of a participant, in order."""
        optional = {BEFORE: self.before, PRACTICE: self.practice, AFTER: self.after}
        every = (CONSENT, BEFORE, INSTRUCTIONS, PRACTICE, PLAY, AFTER)
        return tuple(step for step in every if optional.get(step, True))

    @property
    def most_text(self) -> int:
        """Maximum encoded bytes of the written answers to one questionnaire."""
        texts = (sum(question.kind == "text" for question in asked) for asked in (self.before, self.after))
        return max(texts) * LONGEST_ANSWER * MOST_BYTES

    def table(self, condition: Condition, seat: str, seed: int, onward: str) -> TableSettings:
        """The game of a participant.

        Args:
            onward: path of the page after the game.
        """
        return TableSettings(
            profile_with(seat, condition.others, self.map_name),
            condition.rules,
            self.map_name,
            seed,
            self.title,
            begin="now",
            late=self.late,
            message_seconds=self.message_seconds,
            order_seconds=self.order_seconds,
            onward=onward,
            is_practice=condition is self.practice,
        )

    def wrong(self, answers: Mapping[str, Any]) -> list[Question]:
        """The comprehension questions answered incorrectly."""
        return [question for question in self.check if answers.get(question.name) != question.right]
