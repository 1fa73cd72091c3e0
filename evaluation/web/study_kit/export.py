"""A study's results as tables: games.csv (one row per game and power, as for other evaluations), decisions.csv (one row
per decision, with its time), and participants.csv; optionally without messages, nicknames and written answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agents.runtime.files import read_file
from agents.runtime.table_files import Row, check_file, write_csv
from evaluation.measures.metrics import measure
from evaluation.measures.rows import game_rows, same_columns
from evaluation.play.store import GameStore
from evaluation.web.foundation.journal import LARGEST, entries_of
from evaluation.web.games.settings import profile_with
from evaluation.web.study_kit.participants import GAMES, Participant, StudyFolder
from evaluation.web.study_kit.study import AFTER, BEFORE, CONSENT, DONE, INSTRUCTIONS, PLAY, Question
from welfare_env.game.view import MESSAGES, ORDERS

TABLES = ("games", "decisions", "participants")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # beginnings of cells that spreadsheets read as formulas


def export(study: StudyFolder, out: Path, with_text: bool) -> list[Path]:
    """Write the tables of a study.

    Args:
        with_text: include messages, nicknames and written answers, and the games as a store.

    Returns:
        The paths of the files.

    Raises:
        TableError, StoreError, RecordError, JournalError: a file cannot be written or read.
    """
    paths = {name: out / f"{name}.csv" for name in TABLES}
    for path in paths.values():
        check_file(path)
    study.settle()
    write_csv(games_table(study), paths["games"])
    write_csv(decisions_table(study, with_text), paths["decisions"])
    write_csv(participants_table(study, with_text), paths["participants"])
    files = list(paths.values())
    if with_text and study.store.exists():
        files.append(out / "games.sqlite")
        with GameStore(study.store) as store:
            store.export(files[-1])
    return files


def games_table(study: StudyFolder) -> list[Row]:
    """One row per finished game and power: condition and participant, then the usual columns of games."""
    rows: list[Row] = []
    with GameStore(study.store) as store:
        for person in _players(study):
            if not (over := person.last(PLAY)):
                continue
            slot = study.slots[person.slot or 0]
            condition = study.study.conditions[slot.condition]
            profile = profile_with(slot.seat, condition.others, study.study.map_name)
            record = store.record(over["key"])
            failed = record["welfare_env"].get("failed", {})
            own: Row = {"condition": condition.name, "participant": person.id}
            for row in game_rows([measure(record)], profile):
                rows.append(own | {"is_person": row["power"] == slot.seat, "failed": row["power"] in failed} | row)
    return same_columns(rows)


def _players(study: StudyFolder) -> list[Participant]:
    """The participants who have begun their game, in the order of the slots."""
    return sorted(
        (person for person in study.people.values() if person.slot is not None), key=lambda each: each.slot or 0
    )


def decisions_table(study: StudyFolder, with_text: bool) -> list[Row]:
    """One row per decision of a participant: a round of messages, or the orders of a phase."""
    return [row for person in _players(study) for row in _decisions(study, person, with_text)]


def _decisions(study: StudyFolder, person: Participant, with_text: bool) -> Iterator[Row]:
    slot = person.last("slot")
    began, step = math.nan, 0
    for entry in _journal(study.folder / GAMES / person.game(PLAY) / "journal.jsonl"):
        if entry["kind"] in ("begin", "step"):
            for _ in entry.get("late", ()):
                yield _decision(person, slot, entry, entry["time"] - began, step, with_text, is_late=True)
            began = entry["time"]
            step += 1
        elif entry["kind"] == "answer":
            yield _decision(person, slot, entry, entry["time"] - began, step, with_text, is_late=False)


def _decision(
    person: Participant,
    slot: Mapping[str, Any],
    entry: Mapping[str, Any],
    seconds: float,
    step: int,
    with_text: bool,
    is_late: bool,
) -> Row:
    phase, _, asked = entry["step"].partition(" ")
    sent, orders = ({}, []) if is_late else (entry.get(MESSAGES, {}), entry.get(ORDERS, []))
    row: Row = {
        "condition": slot["condition"],
        "participant": person.id,
        "key": person.last(PLAY).get("key", ""),
        "power": slot["seat"],
        "step": step,
        "phase": phase,
        "decision": ORDERS if asked == ORDERS else MESSAGES,
        "round": math.nan if asked == ORDERS else int(asked),
        "seconds": round(seconds, 3),
        "late": is_late,
        "orders": "; ".join(orders),
        "messages": len(sent),
        "recipients": "; ".join(sent),
    }
    return row | ({"text": json.dumps(sent, ensure_ascii=False) if sent else ""} if with_text else {})


def _journal(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a game's journal, without an incomplete last line (the server may be writing it)."""
    fields: dict[str, type] = {"time": float}
    kinds = {"begin": fields, "step": {**fields, "step": str, "late": list}, "answer": {**fields, "step": str}}
    yield from entries_of(path, read_file(path, LARGEST), kinds)


def participants_table(study: StudyFolder, with_text: bool) -> list[Row]:
    """One row per participant who gave consent: answers, times of the steps, points, payment and code."""
    return [_participant(study, person, with_text) for person in study.people.values() if person.last(CONSENT)]


def _participant(study: StudyFolder, person: Participant, with_text: bool) -> Row:
    plan, slot, over = study.study, person.last("slot"), person.last(PLAY)
    checks = [entry for entry in person.entries if entry["kind"] == "check"]
    row: Row = {"participant": person.id, "condition": slot.get("condition", ""), "seat": slot.get("seat", "")}
    row |= {"nickname": _as_text(person.last(CONSENT)["nickname"])} if with_text else {}
    row |= {"step": person.step(plan), "check_tries": len(checks), "check_passed": bool(person.last(INSTRUCTIONS))}
    row |= _answers("before", plan.before, person.last(BEFORE), with_text)
    row |= _answers("after", plan.after, person.last(AFTER), with_text)
    row |= {"points": over.get("points", math.nan), "payment": study.amount(person).partition(" ")[0]}
    row |= {"key": over.get("key", ""), "code": person.last(DONE).get("code", "")}
    return row | {f"seconds_{step}": _seconds(plan.steps, person, step) for step in plan.steps}


def _answers(name: str, questions: tuple[Question, ...], entry: Mapping[str, Any], with_text: bool) -> Row:
    given = entry.get("answers", {})
    row: Row = {}
    for question in questions:
        answer = given.get(question.name, "")
        if question.kind != "text":
            row[f"{name}_{question.name}"] = answer
        elif with_text:
            row[f"{name}_{question.name}"] = _as_text(answer)
    return row


def _as_text(written: str) -> str:
    """A written text, with an apostrophe in front if a spreadsheet would read it as a formula."""
    return f"'{written}" if written.startswith(FORMULA) else written


def _seconds(steps: tuple[str, ...], person: Participant, step: str) -> float:
    """Seconds from the end of the previous step to the end of this step; nan if it has not ended."""
    place = steps.index(step)
    before = person.last(steps[place - 1]) if place else person.last("come")
    here = person.last(step)
    return round(here["time"] - before["time"], 3) if here and before else math.nan
