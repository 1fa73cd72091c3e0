"""Pictures of populations: they show the shares that were computed, whatever the agents are called."""

from pathlib import Path

import numpy as np
import pytest

import modal_env
from modal_env.pictures import shares_over_time

HOSTILE = ("</style><script>", "_$x$\ud800", "\u202eright to left", "x" * 100_000)


def test_bands_fill_the_height_with_the_shares(tmp_path: Path) -> None:
    agents = [agent.renamed(name) for agent, name in zip(modal_env.POST, HOSTILE, strict=True)]
    path = modal_env.replicator(modal_env.ProgramGame(agents, "1/10"), [0.25] * 4, 300)
    figure = shares_over_time(path)
    bands = figure.axes[0].collections
    heights = [band.get_paths()[0].get_extents().ymax for band in bands]
    assert heights == pytest.approx(np.cumsum(path.shares, axis=1).max(axis=0).tolist())
    figure.savefig(tmp_path / "shares.png")
