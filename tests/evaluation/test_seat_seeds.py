"""Each seat of a game draws its own numbers, whoever made its player."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaluation
from agents import DovePolicy, DumbBotPolicy, ExploiterPolicy
from agents.specs import read
from evaluation.play.playing import seat_seed
from welfare_env import Rules

TOY: dict[str, Any] = {"rules": Rules(years=2, press=None), "map_name": "clique:3"}
SEATS = ("FRANCE", "ITALY")
SOURCE = """
import numpy as np

class Drawer:
    def reset(self, agent, seed=0):
        self.rng = np.random.default_rng(seed)

    def act(self, observation, info):
        view = info["view"]
        return view.encode_orders([self.rng.choice(orders) for orders in view.legal_orders.values()])
"""


class Drawer:
    """Draws its orders from the seed alone, as a user would write it."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.rng, drawn[agent] = np.random.default_rng(seed), [*drawn.get(agent, []), seed]

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view = info["view"]
        return view.encode_orders([self.rng.choice(orders) for orders in view.legal_orders.values()])


drawn: dict[str, list[int]] = {}


@pytest.mark.parametrize("policy", [Drawer, Drawer()])
def test_seats_and_games_have_seeds_of_their_own(policy: Any) -> None:
    drawn.clear()
    one = evaluation.self_play(policy, games=4, **TOY)
    seeds = [seed for each in drawn.values() for seed in each]
    assert len(set(seeds)) == len(seeds) == 4 * 3
    assert max(seeds) < 2**32  # what older generators take
    assert evaluation.self_play(policy, games=4, **TOY).to_dict() == one.to_dict()


def test_a_player_in_a_player_counts_and_keeps_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drawer_of_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    own, nested = (
        read(text)
        for text in ("import:drawer_of_test.Drawer", "exploiter:nice=(import:drawer_of_test.Drawer),attack=dumbbot")
    )
    unnamed = read(lambda: ExploiterPolicy(nice=own.make(), attack=DumbBotPolicy()))
    seeds = [[seat_seed(7, seat, each, each.make()) for seat in SEATS] for each in (own, nested, unnamed)]
    assert len({*seeds[0], 7}) == 3
    assert seeds[0] == seeds[1] == seeds[2]  # until it attacks, the exploiter plays the same as the policy
    for ours in (read("exploiter:nice=dove,attack=dumbbot"), read(ExploiterPolicy(DovePolicy(), DumbBotPolicy()))):
        assert seat_seed(7, "FRANCE", ours, ours.make()) == 7  # mixed with the power by the policies themselves


@pytest.mark.slow
def test_a_player_of_ones_own_has_the_same_seeds_in_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drawer_of_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    paid = evaluation.self_play("import:drawer_of_test.Drawer", games=2, **TOY).rows()
    assert paid == evaluation.self_play("import:drawer_of_test.Drawer", games=2, workers=2, **TOY).rows()
