"""The share of the variance of returns explained by the value head."""

from __future__ import annotations

import numpy as np

from research.learning.rewards import on_clique, on_standard
from research.learning.trainings import Group, Options
from training.cli.curves import read

LAST = 20  # iterations


def critic(given: Options) -> None:
    """One row per reward, for trainings of other sections; this one trains nothing."""
    rows = [
        [reward, _shares(on_clique(reward), given), _shares(on_standard(reward), given)] for reward in ("social", "own")
    ]
    given.show("critic", ("reward", "clique:4", "standard map"), rows)


def _shares(group: Group, given: Options) -> str:
    return ", ".join(f"{np.nanmean(read(folder, 'learn/explained')[-LAST:]):.2f}" for folder in group.folders(given))
