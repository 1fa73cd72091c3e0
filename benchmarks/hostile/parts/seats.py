"""One seat as text: replies and options of a `SeatGame`."""

from __future__ import annotations

import numpy as np

from agents import SeatGame
from agents.lm.errors import ConfigError
from agents.lm.stub.replies import stub_reply
from agents.specs import ProfileError
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled
from welfare_env import Game
from welfare_env.errors import (
    ActionError,
    MapFormatError,
    RulesError,
    UnknownAgentError,
    UnknownMapError,
    UnknownPowerError,
)

OPTIONS = ("seat", "others", "reward", "baseline", "years", "message_rounds", "map_name", "press", "variant")
WORDS = (
    "PLAYERA",
    "FRANCE",
    "dove",
    "2*dove",
    "dove + hold",
    "gain",
    "welfare",
    "clique:3",
    "standard",
    "lm:",
    "",
    "0",
)
GAME = SeatGame(map_name="clique:3", others="random", years=2, message_rounds=1)


def _reply(rng: np.random.Generator) -> tuple[int, list[object]]:
    """A seed, and replies to the first turns of its game: good ones, mangled ones, and no text at all."""
    seed, replies = int(rng.integers(100)), []
    for _ in range(4):
        good = stub_reply(f"JSON {rng.integers(1000)}: A AAA H, A AAA D, A BBB - AAA")
        replies.append(junk(rng) if rng.random() < 0.2 else mangled(rng, good, int(rng.integers(6))))
    return seed, replies


def _play(case: tuple[int, list[object]]) -> None:
    seed, replies = case
    turn = GAME.reset(seed)
    paid = turn.reward
    for reply in replies:
        before = GAME.record()
        try:
            turn = GAME.step(reply)  # type: ignore[arg-type]
        except ActionError as error:
            if isinstance(reply, str) or GAME.record() != before:
                raise Broken("refused a text, or something has changed") from error
            continue
        paid += turn.reward
        if turn.is_done:
            break
    points = Game.from_record(GAME.record()).welfare[GAME.seat]
    if paid != points:
        raise Broken(f"paid {paid} for {points} points")


def _options(rng: np.random.Generator) -> dict[str, object]:
    names = rng.choice(len(OPTIONS), int(rng.integers(1, 4)), replace=False)
    drawn = (str(rng.choice(WORDS)) if rng.random() < 0.6 else junk(rng) for _ in names)
    return {"map_name": "clique:3", "years": 1} | {
        OPTIONS[name]: value for name, value in zip(names, drawn, strict=True)
    }


def _made(options: dict[str, object]) -> None:
    SeatGame(**options).reset()  # type: ignore[arg-type]


REFUSALS = (
    UnknownPowerError,
    UnknownAgentError,
    ProfileError,
    ConfigError,
    RulesError,
    UnknownMapError,
    MapFormatError,
)

DOORS = (
    Door("seat.reply", _reply, _play, (), 20_000),
    Door("seat.options", _options, _made, REFUSALS, 20_000),
)
