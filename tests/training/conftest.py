"""Finished trainings that tests read or copy."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.training.small import SMALL


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of a finished `SMALL` by its seed, with a report and a save after each iteration. Only to be read."""
    from training.board.ppo import train

    @cache
    def folder(seed: int = 0) -> Path:
        place = tmp_path_factory.mktemp(f"finished-{seed}")
        train(replace(SMALL, seed=seed, held_out_every=1, save_every=1, out=place))
        return place

    return folder
