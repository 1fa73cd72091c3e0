"""What an enforced schema decides by itself: Winters of models with random weights.

    python -m studies.constraint_bias        # a minute

A model that knows nothing writes character by character, and may write only what the schema allows next. Each draw is
another model: a recurrent network with weights of its own. For a Winter with units to disband, and for one with fewer
builds than places, the table has how often each key gets an order rather than WAIVE, by where it stands; without a bias
all keys of a Winter would have the same share. *shuffled* draws the sequence of keys for each game, as players do. Free
of the schema such a model writes no JSON at all.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from agents.lm.reading.order_schema import NOTHING, order_schema
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from welfare_env import Game, Rules
from welfare_env.game.view import View

RULES = Rules(press=None)
HOMES = {"FRANCE": ["BRE", "MAR", "PAR"], "TURKEY": ["ANK", "CON", "SMY"]}
CHARACTERS = [chr(code) for code in range(32, 127)]
WIDTH = 24


def winter(power: str, units: Sequence[str], centers: Sequence[str]) -> View:
    """A Winter of a power."""
    return Game.from_position("W1905A", {power: list(units)}, {power: list(centers)}, rules=RULES).view(power, "orders")


WINTERS = {
    "two to disband": winter("TURKEY", ["F ANK", "A ARM"], ["ANK", "CON"]),
    "four to disband": winter("FRANCE", ["A BRE", "F MAO", "A MAR", "A PAR"], ["BRE", "MAR", "PAR", "SPA"]),
    "one build for three places": winter("FRANCE", ["A BUR"], ["BRE", "MAR"]),
    "two builds for three places": winter("FRANCE", ["F MAO"], ["BRE", "MAR", "PAR"]),
    "three builds for three places": winter("FRANCE", [], ["BRE", "MAR", "PAR"]),
}


class RandomModel:
    """A recurrent network over characters with random weights; its last state gives the next character's chances."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._inner = rng.normal(0, 1.2 / np.sqrt(WIDTH), (WIDTH, WIDTH))
        self._seen = rng.normal(0, 1, (len(CHARACTERS), WIDTH))
        self._out = rng.normal(0, 1 / np.sqrt(WIDTH), (WIDTH, len(CHARACTERS)))
        self._rng = rng
        self._state = rng.normal(0, 1, WIDTH)

    def choose(self, allowed: Sequence[str]) -> str:
        """The next character, of those allowed."""
        logits = np.tanh(self._state) @ self._out
        numbers = [ord(each) - 32 for each in allowed]
        chances = np.exp(logits[numbers] - logits[numbers].max())
        chosen = allowed[int(self._rng.choice(len(allowed), p=chances / chances.sum()))]
        self.read(chosen)
        return chosen

    def read(self, text: str) -> None:
        """Move on by what was written."""
        for each in text:
            self._state = np.tanh(self._state @ self._inner + self._seen[ord(each) - 32])


def replies(schema: Mapping[str, Any]) -> list[str]:
    """All replies that a Winter's schema of orders allows."""
    found = []
    for each in schema.get("anyOf", [schema]):
        keys = {key: part["enum"] for key, part in each["properties"].items()}
        found += [json.dumps(dict(zip(keys, chosen, strict=True))) for chosen in itertools.product(*keys.values())]
    return found


def written(model: RandomModel, language: Sequence[str]) -> dict[str, str]:
    """What a model writes within a language."""
    left, text = list(language), ""
    while len(left) > 1:
        allowed = sorted({each[len(text)] for each in left})
        text += allowed[0] if len(allowed) == 1 else model.choose(allowed)
        if len(allowed) == 1:
            model.read(allowed[0])
        left = [each for each in left if each.startswith(text)]
    return dict(json.loads(left[0]))


def shares(view: View, draws: int, is_shuffled: bool) -> tuple[list[float], dict[str, float]]:
    """How often there is an order: by the place of a key in the sequence of all, and by key."""
    by_place, by_key = Counter[int](), Counter[str]()
    language = replies(order_schema(view))
    for draw in range(draws):
        if is_shuffled:
            language = replies(order_schema(view, seed=draw))
        keys = list(dict.fromkeys(key for text in language for key in json.loads(text)))
        reply = written(RandomModel(draw), language)
        ordered = [place for place, key in enumerate(keys) if reply.get(key, NOTHING) != NOTHING]
        by_place.update(ordered)
        by_key.update(keys[place] for place in ordered)
    return [by_place[place] / draws for place in range(len(keys))], {key: by_key[key] / draws for key in sorted(keys)}


def main(draws: Annotated[int, typer.Option(min=1, help="Models for each Winter.")] = 2000) -> None:
    """Print the table."""
    table = Table(title="Share of random models that give a key an order", caption=f"{draws} models; ± 0.02")
    for name in ("Winter", "keys", "by place", "by key"):
        table.add_column(name, overflow="fold")
    with metered("writing", 2 * len(WINTERS), "Winters") as meter:
        for (name, view), is_shuffled in itertools.product(WINTERS.items(), (False, True)):
            places, keys = shares(view, draws, is_shuffled)
            told = ", ".join(f"{key} {share:.2f}" for key, share in keys.items())
            by_place = " ".join(f"{share:.2f}" for share in places)
            table.add_row(name, "shuffled" if is_shuffled else "as they are", by_place, told)
            meter.advance(1)
    print_tables(table)


if __name__ == "__main__":
    typer.run(main)
