"""The cost of a language model's memory: growing summaries of each phase against one rolling note.

    python -m research.language_models.memory_cost        # games of 3, 10 and 20 years: a minute or two
    python -m research.language_models.memory_cost --years 3

The seven players' replies do not depend on their memory, so that both versions play the same game. There are three
message rounds per phase, summaries of 900 characters and notes of 1,800; a token is counted as four characters. The
prefix is the part that a prompt shares with the same player's previous one, which providers can read from a cache.
"""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import numpy as np
import typer

import evaluation
from agents.lm import Reply, Request
from agents.lm.stub.replies import instance
from research.games import track
from research.tables import Folder, show
from welfare_env import Rules

CHARACTERS_A_TOKEN = 4
LENGTHS = {"phases": 900, "rolling": 1800}
PRICE, CACHED_PRICE = 1.0, 0.1  # dollars per million tokens
SENTENCE = "I promised to leave it; he may attack. "


class Remembering:
    """A stub model whose replies depend only on the number of the question.

    Attributes:
        questions: number of prompts. tokens, cached, longest: total, cached and maximum length of prompts, in tokens.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.questions = self.tokens = self.cached = self.longest = 0
        self._last: dict[tuple[str, bool], str] = {}

    def complete(self, request: Request) -> Reply:
        """A reply that fits the schema, or a note or summary of the given length."""
        self._count(request)
        if request.schema is None:
            length = LENGTHS[self.name]
            return Reply((SENTENCE * (length // len(SENTENCE) + 1))[:length])
        rng = np.random.default_rng(self.questions)
        schema: Any = request.schema
        return Reply(json.dumps(instance(schema, rng)))

    def _count(self, request: Request) -> None:
        place = request.cache_key, request.schema is None
        known = os.path.commonprefix([request.prompt, self._last.get(place, "")])  # noqa: RUF071 (of texts)
        tokens = len(request.prompt) // CHARACTERS_A_TOKEN
        self.questions += 1
        self.tokens += tokens
        self.cached += len(known) // CHARACTERS_A_TOKEN
        self.longest = max(self.longest, tokens)
        self._last[place] = request.prompt

    @property
    def dollars(self) -> float:
        """The prompts' cost at the prices above."""
        return ((self.tokens - self.cached) * PRICE + self.cached * CACHED_PRICE) / 1e6


def played(kind: str, years: int, rounds: int) -> tuple[Remembering, str]:
    """The model after a game, and the orders of that game."""
    model = Remembering(kind)
    rules = Rules(years=years, message_rounds=rounds)
    spec = f"lm:{kind},summaries={kind}"
    result = evaluation.self_play(spec, games=1, rules=rules, simultaneous=True, models={kind: model})
    return model, json.dumps([phase["orders"] for phase in result.records[0]["phases"]])


def main(
    years: Annotated[str, typer.Option(help="Lengths of the games.")] = "3,10,20",
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    to: Folder = None,
) -> None:
    """Play, and print the table."""
    print(f"dollars: {PRICE} per million tokens, {CACHED_PRICE} if cached; prompts only")
    rows = []
    for length in track([int(each) for each in years.split(",")], "playing"):
        (phases, game), (rolling, same) = (played(kind, length, rounds) for kind in LENGTHS)
        for model in (phases, rolling):
            cells = (f"{model.questions:,}", f"{model.tokens:,}", f"{model.cached / model.tokens:.0%}")
            costs = (f"{model.longest:,}", f"{model.dollars:.2f}", "yes" if game == same else "no")
            rows.append([str(length), model.name, *cells, *costs])
    head = ("years", "summaries", "calls", "tokens", "prefix", "longest prompt", "dollars", "same game")
    show(to, "language-models-memory", head, rows)


if __name__ == "__main__":
    typer.run(main)
