"""Which condition and seat each participant gets: balanced, and the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.web.study_kit.study import Study


@dataclass(frozen=True)
class Slot:
    """A game of a participant.

    Attributes:
        number: in the sequence in which slots are given, from 0.
        condition: its place in `Study.conditions`.
        seed: of the game's policies.
    """

    number: int
    condition: int
    seat: str
    seed: int


def slots(study: Study) -> tuple[Slot, ...]:
    """All slots in sequence: in each block every condition once, drawn anew (permuted blocks).

    The seats of a condition take turns, from a drawn order, so that any two of them differ by one game at most.
    """
    random = np.random.default_rng(study.seed)
    seats = [random.permutation(list(condition.seats)).tolist() for condition in study.conditions]
    found: list[Slot] = []
    for block in range(study.games):
        for condition in random.permutation(len(study.conditions)).tolist():
            seat = seats[condition][block % len(seats[condition])]
            found.append(Slot(len(found), condition, seat, int(random.integers(2**31))))
    return tuple(found)
