"""Garrabrant, Prisoners' Dilemma with Costs to Modeling (2018), comments included: what its game's tables do not say.

Its equilibria at every price are those of test_ranges, its costs those of test_game, its growth that of test_growth,
its random bot that of test_provability, its cycle that of test_evolution. Its spiral, and the good mix among all modal
agents, are on docs/modal-evolution.md and docs/modal-equilibria.md, which test_pages runs. The tests are in the post's
order, and their docstrings say what it says.
"""

from fractions import Fraction as F

import numpy as np
import pytest

import modal_env
from modal_env import FairBot, PrudentBot, SlipBot
from modal_env.best_replies import CALLS
from tests.modal_env.conftest import post

SMALL = [F(1, 1000), F(1, 20), F(1, 10), F(6, 25)]
"""Prices below 1/4."""


def best(opponent: modal_env.Agent, epsilon: F) -> set[str]:
    """The best replies among all agents up to depth 2 that call `CALLS`, by what they and the opponent do."""
    paid = {
        reply.moves[0] + (str(reply.agent.depth),): modal_env.PRESETS["prisoners-dilemma"]["".join(reply.moves[0])]
        - epsilon * reply.agent.depth
        for reply in modal_env.replies([opponent], CALLS, depth=2)
    }
    return {"".join(key) for key, points in paid.items() if points == max(paid.values())}


@pytest.mark.parametrize(
    ("opponent", "reply"), [("FairBot", "CooperateBot"), ("CooperateBot", "DefectBot"), ("DefectBot", "DefectBot")]
)
def test_best_replies_among_the_four(opponent: str, reply: str) -> None:
    """FairBot against FairBot is no equilibrium: CooperateBot does not pay the penalty, and DefectBot exploits that."""
    assert [[agent.name for agent in post(e).best_replies(opponent)] for e in SMALL] == [[reply]] * len(SMALL)


TENTH, HALF, ONE = F(1, 10), F(1, 2), F(1)
MORE = F(1, 100)


@pytest.mark.parametrize(
    ("opponent", "replies"),
    [
        # DefectBot against DefectBot is the unique pure equilibrium, the author believes. SlipBot is another.
        (SlipBot, {TENTH: {"CC2"}, HALF: {"CC2", "DD0"}, HALF + MORE: {"DD0"}}),
        # You cannot exploit FairBot, so you cooperate at no penalty.
        (FairBot, {TENTH: {"CC0"}}),
        # With PrudentBot you cooperate at a penalty of 1, if that is worth it.
        (PrudentBot, {ONE - MORE: {"CC1"}, ONE: {"CC1", "DD0"}, ONE + MORE: {"DD0"}}),
    ],
    ids=["SlipBot", "FairBot", "PrudentBot"],
)
def test_best_replies_among_all_agents(opponent: modal_env.Agent, replies: dict[F, set[str]]) -> None:
    assert {e: best(opponent, e) for e in replies} == replies


def test_the_basin_of_defection_gets_small() -> None:
    """As the penalty gets small, so does the basin of the defect equilibrium: about 3 epsilon^2 of all starts."""
    shares = [modal_env.basins(post(F(1, n)), 20_000, seed=1).share("DefectBot") for n in (5, 10, 20)]
    assert shares[0].low > shares[1].high > shares[1].low > shares[2].high
    assert shares[2].low < 3 / 20**2 < shares[2].high


def test_nobody_appears_and_nobody_vanishes() -> None:
    """A population that starts nonzero remains nonzero, and one that starts 0 remains 0."""
    path = modal_env.replicator(post(), [F(1, 3), F(1, 3), F(1, 3), 0], 500)
    assert np.isfinite(path.log_shares[:, :3]).all()
    assert not path.shares[:, 3].any()
