"""The bias of constrained decoding: Winter orders of models with random weights, with and without an enforced schema.

    python -m research.language_models.constraint_bias        # two minutes

An untrained model writes character by character, restricted to characters that the schema allows next. Each draw is a
new model: a recurrent network with random weights. For Winters with units to disband, and Winters with fewer builds
than places, the table shows how often each key of the reply gets an order instead of WAIVE, by its position; without
bias all keys of a Winter would have the same share. *shuffled* randomizes the order of keys for each game, as players
do.

*unconstrained* is the same model without the schema. It practically never writes a legal reply, so legal replies are
sampled in proportion to the model's probability of writing them, as if by rejection sampling.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from agents.lm.reading.schemas import NOTHING, order_schema
from research.games import track
from research.tables import show
from welfare_env import Game, Rules
from welfare_env.game.view import View

RULES = Rules(press=None)
HOMES = {"FRANCE": ["BRE", "MAR", "PAR"], "TURKEY": ["ANK", "CON", "SMY"]}
CHARACTERS = [chr(code) for code in range(32, 127)]
WIDTH = 24
FREELY = 1000


def winter(power: str, units: Sequence[str], centers: Sequence[str]) -> View:
    """A power's view of a Winter with these units and centers."""
    return Game.from_position("W1905A", {power: list(units)}, {power: list(centers)}, rules=RULES).view(power, "orders")


WINTERS = {
    "two to disband": winter("TURKEY", ["F ANK", "A ARM"], ["ANK", "CON"]),
    "four to disband": winter("FRANCE", ["A BRE", "F MAO", "A MAR", "A PAR"], ["BRE", "MAR", "PAR", "SPA"]),
    "one build for three places": winter("FRANCE", ["A BUR"], ["BRE", "MAR"]),
    "two builds for three places": winter("FRANCE", ["F MAO"], ["BRE", "MAR", "PAR"]),
    "three builds for three places": winter("FRANCE", [], ["BRE", "MAR", "PAR"]),
}


class RandomModel:
    """A recurrent network over characters with random weights; its state gives the next character's distribution."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._inner = rng.normal(0, 1.2 / np.sqrt(WIDTH), (WIDTH, WIDTH))
        self._seen = rng.normal(0, 1, (len(CHARACTERS), WIDTH))
        self._out = rng.normal(0, 1 / np.sqrt(WIDTH), (WIDTH, len(CHARACTERS)))
        self._rng = rng
        self._state = rng.normal(0, 1, WIDTH)

    def choose(self, allowed: Sequence[str]) -> str:
        """Sample the next character among those allowed."""
        logits = np.tanh(self._state) @ self._out
        numbers = [ord(each) - 32 for each in allowed]
        chances = np.exp(logits[numbers] - logits[numbers].max())
        chosen = allowed[int(self._rng.choice(len(allowed), p=chances / chances.sum()))]
        self.read(chosen)
        return chosen

    def chances(self, texts: Sequence[str]) -> np.ndarray:
        """The unconstrained probabilities of texts, conditional on the output being one of them; they sum to 1."""
        longest = max(map(len, texts))
        codes = np.array([[ord(each) - 32 for each in text.ljust(longest)] for text in texts])
        lengths = np.array([len(text) for text in texts])
        logs, states, all_texts = np.zeros(len(texts)), np.tile(self._state, (len(texts), 1)), np.arange(len(texts))
        for place in range(longest):
            logits = np.tanh(states) @ self._out
            logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
            logs += logits[all_texts, codes[:, place]] * (place < lengths)
            states = np.tanh(states @ self._inner + self._seen[codes[:, place]])
        chances: np.ndarray = np.exp(logs - logs.max())
        return chances / chances.sum()

    def read(self, text: str) -> None:
        """Update the state with text written."""
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
    """A model's output when restricted to a language."""
    left, text = list(language), ""
    while len(left) > 1:
        allowed = sorted({each[len(text)] for each in left})
        text += allowed[0] if len(allowed) == 1 else model.choose(allowed)
        if len(allowed) == 1:
            model.read(allowed[0])
        left = [each for each in left if each.startswith(text)]
    return dict(json.loads(left[0]))


def constrained(draw: int, language: Sequence[str]) -> Mapping[str, str]:
    """The reply of a model restricted to the language."""
    return written(RandomModel(draw), language)


def unconstrained(draw: int, language: Sequence[str]) -> Mapping[str, str]:
    """A legal reply of an unconstrained model, by rejection sampling."""
    model = RandomModel(draw)
    chosen = np.random.default_rng([draw, 1]).choice(len(language), p=model.chances(language))
    return dict(json.loads(language[chosen]))


def shares(
    view: View, draws: int, is_shuffled: bool, reply_of: Callable[[int, Sequence[str]], Mapping[str, str]]
) -> tuple[list[float], dict[str, float]]:
    """How often a key gets an order: by its position among the keys, and by key."""
    by_place, by_key = Counter[int](), Counter[str]()
    language = replies(order_schema(view))
    for draw in range(draws):
        if is_shuffled:
            language = replies(order_schema(view, seed=draw))
        keys = list(dict.fromkeys(key for text in language for key in json.loads(text)))
        reply = reply_of(draw, language)
        ordered = [place for place, key in enumerate(keys) if reply.get(key, NOTHING) != NOTHING]
        by_place.update(ordered)
        by_key.update(keys[place] for place in ordered)
    return [by_place[place] / draws for place in range(len(keys))], {key: by_key[key] / draws for key in sorted(keys)}


def freely_valid(draws: int) -> int:
    """The number of models, out of `draws`, that write JSON without a schema, within 200 characters."""
    found = 0
    for draw in range(draws):
        model = RandomModel(draw)
        try:
            json.loads("".join(model.choose(CHARACTERS) for _ in range(200)))
            found += 1
        except ValueError:
            continue
    return found


def main(draws: Annotated[int, typer.Option(min=1, help="Random models per Winter.")] = 2000) -> None:
    """Print the table."""
    print(f"{draws} models; ± {1 / np.sqrt(draws):.2f}")
    print(f"Of {FREELY} unconstrained models, {freely_valid(FREELY)} wrote JSON.")
    models = {"constrained": constrained, "unconstrained": unconstrained}
    rows = []
    for winter, is_shuffled, model in track(list(itertools.product(WINTERS, (False, True), models)), "writing"):
        places, keys = shares(WINTERS[winter], draws, is_shuffled, models[model])
        by_place = " ".join(f"{share:.2f}" for share in places)
        by_key = ", ".join(f"{key} {share:.2f}" for key, share in keys.items())
        rows.append([winter, model, "shuffled" if is_shuffled else "fixed order", by_place, by_key])
    show(None, "", ("Winter", "model", "order of keys", "share by position", "share by key"), rows)


if __name__ == "__main__":
    typer.run(main)
