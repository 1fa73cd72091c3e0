"""Parses a study's TOML file; like experiment files, with all errors at once, each with its line.

```toml
title = "Peace with marshals"
seed = 1
games = 10                       # games per condition, with one participant each
late = "hold"                    # plays for a participant after the deadline
consent = '''
We study how people play a game. You may stop at any time.'''
instructions = '''
Each Winter you get a point for each center more than you have units.'''

[rules]                          # for all conditions
years = 3

[[conditions]]
name = "talk"
others = "marshal"
seats = ["FRANCE", "ITALY"]      # participants' seats, in turn; by default all
rules = { message_rounds = 1 }

[[check]]
name = "points"
question = "What gives points?"
options = ["Centers without units", "Units"]
right = "Centers without units"

[payment]
currency = "EUR"
base = 3
per_point = 0.25
least = 3
most = 12
```
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from agents.human.policy import is_person
from agents.runtime.files import read_file, reason
from evaluation.checks import MOST_SEED, EvaluationError
from evaluation.experiment_files.parser import Keys, Lines
from evaluation.web.games.settings import HOLD, LONGEST_TIME, TableSettings
from evaluation.web.study_kit.study import KINDS, Condition, Payment, Question, Study
from welfare_env import Rules, WelfareEnvError, load_board
from welfare_env.checks import quoted

LARGEST = 2**20  # bytes of a file
MOST_CONDITIONS, MOST_GAMES, MOST_QUESTIONS, MOST_TRIES = 100, 10_000, 100, 20
MOST_MONEY = 10_000
TOP = (
    *("title", "seed", "games", "map", "late", "consent", "instructions", "tries", "completion_code"),
    *("rules", "deadlines", "conditions", "before", "check", "practice", "after", "payment"),
)
CONDITION = ("name", "others", "seats", "rules")
QUESTION = ("name", "question", "kind", "options", "right")
PAYMENT = ("currency", "base", "per_point", "least", "most")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class StudyError(EvaluationError):
    """A study cannot be read, started or continued."""


def load_study(path: Path) -> Study:
    """Read a study.

    Raises:
        StudyError: the file cannot be read or is invalid; lists all errors, with lines.
    """
    try:
        text = read_file(path, LARGEST).decode()
    except (OSError, ValueError) as error:
        raise StudyError(f"{path}: {reason(error)}") from error
    return read_study(text, str(path))


def read_study(text: str, name: str) -> Study:
    """Read the text of a study's file; errors as `load_study`."""
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{name}: {error}") from error
    parser = StudyParser(text, given)
    study = parser.read()
    if parser.faults or study is None:
        more = [f"and {parser.unlisted} more"] if parser.unlisted else []
        raise StudyError("\n".join([f"{name}:", *parser.faults, *more]))
    return study


class TableKeys(Keys):
    """Parses the keys of a table within a file; errors are added to those of the file."""

    def __init__(self, file: Lines, given: Mapping[str, Any], table: str, number: int = 0) -> None:
        self.file, self.given, self.name, self.number = file, given, table, number
        self.faults = file.faults

    def fault(self, message: str, key: str, table: str = "", number: int = 0) -> None:
        self.file.fault(message, key, table or self.name, number or self.number)

    def only(self, known: Collection[str]) -> None:
        """Record unknown keys as errors."""
        for key in self.given:
            if key not in known:
                self.fault(f"unknown key {key!r:.80}{self.near(key, known)}: choose from {', '.join(known)}", key)

    def number_of(self, key: str, default: float, most: float) -> float:
        """A number from 0 to `most`."""
        value = self.given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            self.fault(f"{key}={quoted(value)}: give a number from 0 to {most:,}", key)
            return default
        return value


class StudyParser(TableKeys):
    """Parses one file and collects its errors."""

    def __init__(self, text: str, given: Mapping[str, Any]) -> None:
        super().__init__(Lines(text), given, "")
        self.source = text

    @property
    def unlisted(self) -> int:
        """Number of errors beyond those listed."""
        return self.file.unlisted

    @unlisted.setter
    def unlisted(self, count: int) -> None:
        self.file.unlisted = count

    def read(self) -> Study | None:
        """The study; None if there are errors."""
        self.only(TOP)
        map_name = self.text("map", "standard")
        knows_map = self.tried("map", load_board, map_name)
        deadlines = TableKeys(self.file, self.table("deadlines"), "deadlines")
        deadlines.only(("messages", "orders"))
        study = Study(
            text=self.source,
            title=self.text("title", None),
            conditions=self._conditions(map_name if knows_map else ""),
            consent=self.text("consent", None),
            instructions=self.text("instructions", None),
            games=self.whole_number("games", 10, MOST_GAMES),
            seed=self.whole("seed", 0, 0, MOST_SEED),
            map_name=map_name,
            before=tuple(self._questions("before")),
            check=tuple(self._questions("check")),
            tries=self.whole_number("tries", 3, MOST_TRIES),
            practice=self._practice(map_name if knows_map else ""),
            after=tuple(self._questions("after")),
            payment=self._payment(),
            completion_code=self.text("completion_code", ""),
            message_seconds=deadlines.number_of("messages", 0, LONGEST_TIME),
            order_seconds=deadlines.number_of("orders", 0, LONGEST_TIME),
            late=self.text("late", HOLD),
        )
        if not self.faults:
            self._check_games(study)
        return study if not self.faults else None

    def whole_number(self, key: str, default: int, most: int) -> int:
        """A whole number from 1 to `most`."""
        return self.whole(key, default, 1, most)

    def _check_games(self, study: Study) -> None:
        """Set up the games of each condition, to find errors before the first participant."""
        for number, condition in enumerate(study.conditions):
            for seat in condition.seats:
                entry = TableKeys(self.file, {}, "conditions", number)
                if not entry.tried("others", self._try, study, condition, seat):
                    break
        if study.practice is not None:
            self.tried("others", self._try, study, study.practice, study.practice.seats[0], table="practice")

    @staticmethod
    def _try(study: Study, condition: Condition, seat: str) -> TableSettings:
        settings = study.table(condition, seat, 0, "")
        for _, policy in settings.spec.players:
            if not policy.models and not is_person(policy.modules):
                policy.make(None)
        return settings

    # Tables.

    def _tables(self, key: str, most: int) -> Iterator[TableKeys]:
        given = self.given.get(key, [])
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given) or len(given) > most:
            self.fault(f"{key}: give at most {most} tables [[{key}]]", key)
            return
        for number, each in enumerate(given):
            yield TableKeys(self.file, each, key, number)

    def _conditions(self, map_name: str) -> tuple[Condition, ...]:
        found = [self._condition(keys, map_name) for keys in self._tables("conditions", MOST_CONDITIONS)]
        if not found:
            self.fault("conditions: give one or more tables [[conditions]]", "conditions")
        names = [condition.name for condition in found]
        for number, name in enumerate(names):
            if name in names[:number]:
                self.fault(f"name={name!r}: already used by another condition", "name", "conditions", number)
        return tuple(found)

    def _condition(self, keys: TableKeys, map_name: str) -> Condition:
        keys.only(CONDITION)
        powers = load_board(map_name).powers if map_name else ()
        seats = keys.texts("seats", list(powers) or ["?"])
        for seat in seats:
            if powers and seat not in powers:
                near = keys.near(seat, powers)
                keys.fault(f"seats: unknown power {seat!r:.40}{near}: choose from {', '.join(powers)}", "seats")
        return Condition(self._name(keys), keys.text("others", None), seats, self._rules(keys))

    def _rules(self, keys: TableKeys) -> Rules:
        chosen = {**self.table("rules"), **keys.table("rules")}
        where: TableKeys = keys if "rules" in keys.given else self
        try:
            rules = Rules.from_dict(chosen)
        except WelfareEnvError as error:
            where.fault(str(error), "rules")
        else:
            if rules.is_welfare:
                return rules
            where.fault("rules: a study needs welfare points: give variant = 'welfare'", "rules")
        return Rules()

    def _practice(self, map_name: str) -> Condition | None:
        if "practice" not in self.given:
            return None
        keys = TableKeys(self.file, {"name": "practice", **self.table("practice")}, "practice")
        return self._condition(keys, map_name)

    def _name(self, keys: TableKeys) -> str:
        name = keys.text("name", None)
        if name and not NAME.fullmatch(name):
            keys.fault(f"name={quoted(name)}: give at most 40 lower-case letters, digits and _", "name")
        return name

    def _questions(self, table: str) -> Iterator[Question]:
        names: set[str] = set()
        for keys in self._tables(table, MOST_QUESTIONS):
            keys.only(QUESTION)
            kind = keys.choice("kind", "choice", ("choice",) if table == "check" else KINDS)
            needs = {"choice": 2, "scale": 2}.get(kind, 0)
            options = keys.texts("options", [] if needs == 0 else None)
            if len(set(options)) != len(options) or (needs and len(options) < needs):
                keys.fault(f"options={quoted(list(options))}: give {needs} or more different options", "options")
            if kind == "scale" and len(options) > needs:
                keys.fault("options: for a scale, give two options, its ends", "options")
            right = keys.text("right", None if table == "check" else "")
            if right and right not in options:
                keys.fault(f"right={right!r:.80}: not one of the options", "right")
            question = Question(self._name(keys), keys.text("question", None), kind, options, right)
            if question.name in names:
                keys.fault(f"name={question.name!r}: already used by another question of {table}", "name")
            names.add(question.name)
            yield question

    def _payment(self) -> Payment | None:
        if "payment" not in self.given:
            return None
        keys = TableKeys(self.file, self.table("payment"), "payment")
        keys.only(PAYMENT)
        least = keys.number_of("least", 0, MOST_MONEY)
        most = keys.number_of("most", MOST_MONEY, MOST_MONEY)
        if most < least:
            keys.fault(f"most={most}: less than least={least}", "most")
        amounts = (keys.number_of("base", 0, MOST_MONEY), keys.number_of("per_point", 0, MOST_MONEY), least, most)
        return Payment(keys.text("currency", None), *(Decimal(str(amount)) for amount in amounts))
