"""A study whose server is killed at random moments: nothing that was confirmed is lost or doubled."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")

from benchmarks.web import LOST, free_port
from evaluation.play.store import GameStore
from evaluation.web.study_kit.export import decisions_table, games_table, participants_table
from evaluation.web.study_kit.participants import GAMES, StudyFolder, participant_id
from tests.evaluation.web.test_study import FORM, SECRET, TEXT, Person

KILLS, PEOPLE = 5, 4
STEPS = ("come", "consent", "before", "instructions", "practice", "slot", "play", "after", "done")


class Stubborn(Person):
    """A participant who sends again what was not answered, and notes what was confirmed."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(port, name)
        self.confirmed: list[tuple[str, dict[str, Any]]] = []

    def ask(self, path: str, body: Any = None, kind: str = FORM, **headers: str) -> tuple[int, str, str]:
        while True:
            try:
                answer = super().ask(path, body, kind, **headers)
            except LOST:
                time.sleep(0.05)
                continue
            if path.endswith("/answer") and answer[0] == 200:
                self.confirmed.append((path.split("/")[2], body))
            return answer


def serve(study: Path, folder: Path, port: int) -> subprocess.Popen[str]:
    """The command, once it is there."""
    code = "from evaluation.cli.main import main; main()"
    given = ["study", "serve", str(study), "--folder", str(folder), "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-c", code, *given], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "Link for participants" in process.stdout.readline()
    return process


@pytest.mark.slow
def test_nothing_of_a_study_is_lost_or_doubled(tmp_path: Path) -> None:
    file, folder, port = tmp_path / "study.toml", tmp_path / "study", free_port()
    draw = np.random.default_rng(0)
    file.write_text(TEXT)
    process = serve(file, folder, port)
    name = json.loads((folder / "study.jsonl").read_text().splitlines()[0])["name"]
    people = [Stubborn(port, name) for _ in range(PEOPLE)]
    hands = [threading.Thread(target=each.take_part, args=(f"person {n}",)) for n, each in enumerate(people)]
    for hand in hands:
        hand.start()
    kills = 0
    while kills < KILLS and any(hand.is_alive() for hand in hands):
        time.sleep(draw.uniform(0.05, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        process = serve(file, folder, port)
    for hand in hands:
        hand.join()
    process.kill()
    process.wait()
    assert kills >= KILLS // 2
    with closing(StudyFolder(folder)) as opened:
        assert set(opened.people) == {participant_id(person.visit) for person in people}
        for person in people:
            check(opened, person)
        with GameStore(opened.store) as store:
            assert store.count() == PEOPLE, "each game once"
        assert len({person.slot for person in opened.people.values()}) == PEOPLE
        assert len(participants_table(opened, True)) == PEOPLE
        assert len(games_table(opened)) == 3 * PEOPLE
        decided = Counter((row["participant"], row["step"]) for row in decisions_table(opened, True))
        assert set(decided.values()) == {1}


def check(opened: StudyFolder, person: Stubborn) -> None:
    known = opened.people[participant_id(person.visit)]
    counts = Counter(entry["kind"] for entry in known.entries)
    assert {kind: counts[kind] for kind in STEPS} == dict.fromkeys(STEPS, 1)
    assert known.last("before")["answers"] == {"age": "33"}
    assert known.last("after")["answers"] == {"trust": "6", "why": SECRET}
    games = {known.game("practice"), known.game("play")}
    kept: Counter[tuple[str, str]] = Counter()
    for game in games:
        lines = (opened.folder / GAMES / game / "journal.jsonl").read_text().splitlines()
        answers = [entry for entry in map(json.loads, lines) if entry["kind"] == "answer"]
        kept.update((game, entry["step"]) for entry in answers)
        for where, given in person.confirmed:
            if where == game:
                assert any(given.items() <= entry.items() for entry in answers), given
    assert set(kept.values()) == {1}
    assert len(person.confirmed) == len(kept)
