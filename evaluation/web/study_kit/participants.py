"""The participants' data on disk, and their progress in the study.

A study's folder has `study.jsonl` (its text, and a lock that allows one server at a time),
`participants/ID/journal.jsonl` (one entry per step, with its time), `games` (see `evaluation.web.games.hosting`), and
`games.sqlite`, the store. ID is a hash of the secret in the participant's cookie, which is not stored on the server.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evaluation.play.store import GameStore
from evaluation.web.foundation.journal import Journal, JournalError, Kinds, is_number
from evaluation.web.study_kit.assignment import Slot, slots
from evaluation.web.study_kit.parser import StudyError, read_study
from evaluation.web.study_kit.study import AFTER, BEFORE, CONSENT, DONE, ENDED, INSTRUCTIONS, PLAY, PRACTICE, Study
from welfare_env.errors import RecordError
from welfare_env.game.record import load_record

STORE, GAMES, PEOPLE, JOURNAL = "games.sqlite", "games", "participants", "journal.jsonl"
STUDY_KINDS: Kinds = {"study": {"text": str, "name": str}}
KINDS: Kinds = {
    CONSENT: {"time": float, "nickname": str},
    "slot": {"time": float, "number": int, "condition": str, "seat": str, "game": str},
    "practice game": {"time": float, "game": str},
    PLAY: {"time": float, "points": float, "key": str},
    **{kind: {"time": float, "answers": dict} for kind in (BEFORE, AFTER, "check")},
    **{kind: {"time": float} for kind in ("come", INSTRUCTIONS, PRACTICE, DONE, ENDED)},
}
ID_DIGITS = 16
SHORTEST_ID = 4


class Participant:
    """A participant.

    Attributes:
        entries: the participant's journal; entries have "kind" and "time".
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with Journal(folder / JOURNAL, kinds=KINDS) as journal:
            self.entries = list(journal.entries)

    @property
    def id(self) -> str:
        """A hash of the participant's secret."""
        return self.folder.name

    def add(self, kind: str, at: float = 0, **given: Any) -> None:
        """Write an entry; it is on disk when this returns.

        Args:
            at: time of the event, in seconds since 1970; 0 for now.
        """
        entry = {"kind": kind, **given, "time": round(at or time.time(), 3)}
        with Journal(self.folder / JOURNAL) as journal:
            journal.append(entry)
        self.entries.append(entry)

    def last(self, kind: str) -> dict[str, Any]:
        """The last entry of a kind; {} for none."""
        return next((entry for entry in reversed(self.entries) if entry["kind"] == kind), {})

    def step(self, study: Study) -> str:
        """The participant's next step; "done" at the end, "ended" if they may not continue."""
        if self.last(ENDED):
            return ENDED
        over = {entry["kind"] for entry in self.entries if entry.get("over", True)}
        return next((step for step in study.steps if step not in over), DONE)

    @property
    def slot(self) -> int | None:
        """The number of the participant's slot; None before the game."""
        number = self.last("slot").get("number")
        return None if number is None else int(number)

    def game(self, step: str) -> str:
        """The name of the participant's game (practice or main game); "" before it."""
        return str(self.last("slot" if step == PLAY else "practice game").get("game", ""))


class StudyFolder:
    """A study on disk.

    Args:
        folder: folder of the study.
        study: the study to start or continue; None to open an existing one.

    Attributes:
        name: random name in the study's URL.
        slots: all slots, in order.
        people: ID -> participant.

    Raises:
        StudyError: the folder has no study, or a different one.
        JournalError: the study is open in another process, or damaged.
    """

    def __init__(self, folder: Path, study: Study | None = None) -> None:
        self.folder = folder
        if study is None and not (folder / "study.jsonl").is_file():
            raise StudyError(f"{folder}: there is no study here; `welfare-env study serve STUDY.toml` starts one")
        (folder / PEOPLE).mkdir(parents=True, exist_ok=True, mode=0o700)
        self._journal = Journal(folder / "study.jsonl", kinds=STUDY_KINDS)
        with ExitStack() as opened:
            opened.callback(self.close)
            self.study, self.name = self._begun(study)
            self.slots = slots(self.study)
            paths = sorted(path for path in (folder / PEOPLE).iterdir() if path.is_dir())
            self.people = {path.name: self._participant(path) for path in paths}
            opened.pop_all()

    def _begun(self, study: Study | None) -> tuple[Study, str]:
        """The study and its name, from the journal; a new study is written there."""
        if study is not None and not any(entry["kind"] == "study" for entry in self._journal.entries):
            name = secrets.token_hex(6)  # not guessable
            self._journal.append({"kind": "study", "text": study.text, "name": name, "time": time.time()})
        begun = next((entry for entry in self._journal.entries if entry["kind"] == "study"), None)
        if begun is None or (study is not None and begun["text"] != study.text):
            raise StudyError(f"{self.folder}: has another study, or the file was changed since: give another --folder")
        return study or read_study(begun["text"], f"{self.folder}/study.jsonl"), begun["name"]

    def _participant(self, path: Path) -> Participant:
        """The participant of a folder.

        Raises:
            JournalError: the journal is damaged, or of another study.
        """
        person = Participant(path)
        if person.slot is not None and not 0 <= person.slot < len(self.slots):
            raise JournalError(path / JOURNAL, f"slot {person.slot}: the study has {len(self.slots)}")
        return person

    def close(self) -> None:
        """Close the study, so that other processes can open it."""
        self._journal.close()

    @property
    def store(self) -> Path:
        """The store of the study's games."""
        return self.folder / STORE

    def come(self, secret: str) -> Participant:
        """Add a new participant."""
        path = self.folder / PEOPLE / participant_id(secret)
        path.mkdir(mode=0o700)
        person = self.people[path.name] = Participant(path)
        person.add("come")
        return person

    def find(self, secret: str) -> Participant | None:
        """The participant with this secret; None if there is none."""
        return self.people.get(participant_id(secret)) if secret else None

    def free_slot(self) -> Slot | None:
        """The first free slot; None if the study is full."""
        taken = {person.slot for person in self.people.values()}
        return next((slot for slot in self.slots if slot.number not in taken), None)

    def answer_check(self, person: Participant, answers: Mapping[str, str]) -> int:
        """Record answers to the comprehension check and the outcome.

        Returns:
            The number of wrong answers.
        """
        wrong = self.study.wrong(answers)
        tries = 1 + sum(entry["kind"] == "check" for entry in person.entries)
        person.add("check", answers=dict(answers), wrong=[question.name for question in wrong])
        if not wrong:
            person.add(INSTRUCTIONS, tries=tries)
        elif tries >= self.study.tries:
            person.add(ENDED, why="check")
        return len(wrong)

    def is_over(self, name: str) -> bool:
        """Whether a game is over and saved."""
        return (self.folder / GAMES / name / "game.json").exists()

    def finish_game(self, person: Participant) -> None:
        """Record the points of a finished game, with the time of its end.

        Raises:
            RecordError: the saved game is damaged.
        """
        slot = self.slots[person.slot or 0]
        path = self.folder / GAMES / person.game(PLAY) / "game.json"
        record = load_record(path)
        try:
            points, key = record["phases"][-1]["state"]["welfare"][slot.seat], record["welfare_env"]["key"]
        except (KeyError, TypeError) as error:
            raise RecordError(f"{path} lacks the points or the key: {error!r:.200}") from error
        if not is_number(points) or not isinstance(key, str):
            raise RecordError(f"{path}: points {points!r:.40}, key {key!r:.40}")
        person.add(PLAY, path.stat().st_mtime, points=float(points), key=key)

    def settle(self) -> None:
        """Record all finished games, since some participants close the page at the end and never return.

        Raises:
            RecordError: a saved game is damaged.
        """
        for person in self.people.values():
            if person.game(PLAY) and not person.last(PLAY) and self.is_over(person.game(PLAY)):
                self.finish_game(person)

    def points(self, person: Participant) -> float:
        """Welfare points of the participant's game; only after `finish_game`."""
        return float(person.last(PLAY)["points"])

    def amount(self, person: Participant) -> str:
        """The participant's payment, such as "7.50 EUR"; "" without payment, or before the end of the game."""
        payment = self.study.payment
        if payment is None or not person.last(PLAY):
            return ""
        return f"{payment.amount(self.points(person))} {payment.currency}"

    def forget(self, beginning: str) -> tuple[str, list[str]]:
        """Delete a participant's answers, nickname and games, also from the store. Can be repeated if interrupted.

        Args:
            beginning: prefix of the participant's ID.

        Returns:
            The ID, and descriptions of what was deleted.

        Raises:
            StudyError: the prefix matches no participant, or several.
            StoreError: the store is damaged.
        """
        found = [name for name in self.people if name.startswith(beginning)]
        if len(found) != 1 or len(beginning) < SHORTEST_ID:
            raise StudyError(
                f"{beginning!r:.40} matches {len(found)} IDs: give at least {SHORTEST_ID} digits of one ID"
            )
        person = self.people[found[0]]
        games = [game for game in (person.game(PRACTICE), person.game(PLAY)) if game]
        deleted = self._remove_stored(games)
        for game in games:
            if (self.folder / GAMES / game).exists():
                shutil.rmtree(self.folder / GAMES / game)
                deleted.append(f"{GAMES}/{game}")
        for replies in self.folder.glob("replies.sqlite*"):  # cached prompts may contain the participant's messages
            replies.unlink()
            deleted.append(replies.name)
        shutil.rmtree(person.folder)
        del self.people[found[0]]
        return found[0], [*deleted, f"{PEOPLE}/{found[0]}"]

    def _remove_stored(self, names: Collection[str]) -> list[str]:
        """Delete games from the store by name, since the participant's journal may not have their keys yet."""
        if not self.store.exists():
            return []
        with GameStore(self.store) as store:
            keys = [game.key for game in store.games() if game.specification.get("sitting") in names]
            store.remove(keys)
        return [f"game {key[:8]} of the store" for key in keys]


def participant_id(secret: str) -> str:
    """The ID of the participant with a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()[:ID_DIGITS]
