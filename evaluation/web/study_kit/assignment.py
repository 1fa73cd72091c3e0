"""Balanced random assignment of participants to conditions and seats, reproducible from the study's seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.web.study_kit.study import Study


@dataclass(frozen=True)
class Slot:
    """A participant's game.

    Attributes:
        number: number in the order of assignment, from 0.
        condition: index in `Study.conditions`.
        seat: the participant's power.
        seed: seed of the game's policies.
    """

    number: int
    condition: int
    seat: str
    seed: int


def slots(study: Study) -> tuple[Slot, ...]:
    """All slots in order: permuted blocks, each with every condition once in random order.

    Within a condition, seats alternate in a random order, so that their numbers of games differ by at most one.
    """
    random = np.random.default_rng(study.seed)
    seats = [random.permutation(list(condition.seats)).tolist() for condition in study.conditions]
    found: list[Slot] = []
    for block in range(study.games):
        for condition in random.permutation(len(study.conditions)).tolist():
            seat = seats[condition][block % len(seats[condition])]
            found.append(Slot(len(found), condition, seat, int(random.integers(2**31))))
    return tuple(found)
