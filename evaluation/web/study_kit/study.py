"""A study: conditions, what participants read and are asked, and what they are paid."""

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
    """What a game of a condition is like.

    Attributes:
        name: of the condition.
        others: the policy, or the profile, of the other seats.
        seats: where people sit, in turn; () for all seats of the map.
        rules: of the game.
    """

    name: str
    others: str
    seats: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True)
class Question:
    """A question to participants.

    Attributes:
        name: of its column.
        kind: "choice" (of the options), "scale" (1 to 7, between two options), "number" or "text".
        right: the right option of a comprehension check; "" for others.
    """

    name: str
    text: str
    kind: str = "choice"
    options: tuple[str, ...] = ()
    right: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that can be given; () for any."""
        return tuple(map(str, range(1, SCALE + 1))) if self.kind == "scale" else self.options

    def problem(self, answer: str) -> str:
        """What is wrong with an answer; "" if it is one."""
        if not answer.strip():
            return "Please answer."
        if self.answers:
            return "" if answer in self.answers else "Please choose one of the answers."
        if self.kind == "number" and not answer.strip().isdecimal():
            return "Please give a whole number."
        return "" if len(answer) <= LONGEST_ANSWER else f"Please write at most {LONGEST_ANSWER} characters."


@dataclass(frozen=True)
class Payment:
    """What a participant gets: base + per_point x points, within limits.

    Attributes:
        base, per_point, least, most: amounts of the currency.
    """

    currency: str
    base: Decimal
    per_point: Decimal
    least: Decimal
    most: Decimal

    def amount(self, points: float) -> Decimal:
        """What a participant with so many welfare points gets, in whole cents."""
        exact = self.base + self.per_point * Decimal(str(points))
        return min(self.most, max(self.least, exact)).quantize(CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class Study:
    """Everything that is agreed before the first participant comes; `parser.load_study` reads it.

    Attributes:
        text: of its file.
        games: of each condition; each has one participant.
        check: comprehension questions, of which all must be answered rightly, in at most `tries` tries.
        practice: the condition of a game that does not count; None for none.
        payment: None if participants are told nothing about it.
        completion_code: the same for all; "" for one of their own each.
        message_seconds, order_seconds, late: deadlines of a step (0 is none), and what plays when one passes.
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
        """What a participant does, in sequence."""
        optional = {BEFORE: self.before, PRACTICE: self.practice, AFTER: self.after}
        every = (CONSENT, BEFORE, INSTRUCTIONS, PRACTICE, PLAY, AFTER)
        return tuple(step for step in every if optional.get(step, True))

    @property
    def most_text(self) -> int:
        """Bytes that the answers to one questionnaire may take: all its texts as long as they may be."""
        texts = (sum(question.kind == "text" for question in asked) for asked in (self.before, self.after))
        return max(texts) * LONGEST_ANSWER * MOST_BYTES

    def table(self, condition: Condition, seat: str, seed: int, onward: str) -> TableSettings:
        """The game of a participant.

        Args:
            onward: where its page leads when it is over.
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
        """The comprehension questions that were not answered rightly."""
        return [question for question in self.check if answers.get(question.name) != question.right]
