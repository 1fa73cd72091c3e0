"""Orders as people write them."""

from __future__ import annotations

import numpy as np

from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import mangled, nonsense, pick
from welfare_env import Game
from welfare_env.errors import OrderError

GAME = Game()
LEGAL = [order for orders in GAME.legal_orders("FRANCE").values() for order in orders]
WORDS = ("A", "F", "PAR", "BUR", "MAR", "BRE", "-", "S", "C", "H", "VIA", "R", "B", "D", "SPA/SC", "Paris", "holds", "supports", "convoy")


def _order(rng: np.random.Generator) -> str:
    return mangled(rng, pick(rng, LEGAL)) if rng.random() < 0.7 else nonsense(rng, WORDS)


def _submit(text: str) -> None:
    before = GAME.units
    try:
        GAME.submit("FRANCE", [text])
    finally:
        if GAME.units != before:
            raise Broken("the units changed")


DOORS = [Door("Game.submit", _order, _submit, (OrderError,), 300_000)]
