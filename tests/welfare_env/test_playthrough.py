"""Whole random games as text, compared with the files under tests/golden: one a variant, one with tokens, and one by
the rulebook where the package decides otherwise. Python hashes texts anew in every run, and no game depends on it.

``pytest tests/welfare_env/test_playthrough.py --update-golden`` writes the files anew.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import welfare_env
from tests.welfare_env.positions import play_on
from welfare_env import Game, PhaseRecord, Rules
from welfare_env.engine.engines import ENGINES

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
GAMES = {
    "welfare": Rules(years=5, press=None),
    "standard": Rules(variant="standard", years=5, press=None, adjudication="package"),
    "tokens": Rules(years=1, press="tokens", message_rounds=2, mediator=True, adjudication="package"),
    "rulebook": Rules(variant="standard", years=2, press=None),
}
PLAYED = [(name, engine) for name in GAMES for engine in sorted(ENGINES) if (name, engine) != ("rulebook", "reference")]


def lines_of(record: PhaseRecord, powers: tuple[str, ...], has_points: bool) -> Iterable[str]:
    """A phase: its name, what was said, then every power's position, orders and what became of them."""
    yield f"== {record.phase}"
    for message in record.messages:
        yield f"round {message.round}: {message.sender} to {message.recipient}: {message.text}"
    dislodged = record.position.dislodged
    for power in powers:
        units = [
            *record.units[power],
            *(f"{unit} (to {', '.join(sorted(to))})" for unit, to in dislodged[power].items()),
        ]
        points = f" {record.welfare[power]} WP" if has_points else ""
        yield f"{power}{points} | {' '.join(sorted(record.centers[power]))} | {', '.join(units)}"
        for order in record.orders[power]:
            result = ", ".join(record.results.get(" ".join(order.split()[:2]), ()))
            yield f"    {order}{f'  ({result})' if result else ''}"
    silent = {unit: words for unit, words in sorted(record.results.items()) if words}
    ordered = {" ".join(order.split()[:2]) for orders in record.orders.values() for order in orders}
    for unit, words in silent.items():
        if unit not in ordered:
            yield f"    {unit} without order  ({', '.join(words)})"


def as_text(game: Game) -> str:
    lines = [f"{game.board.name}, {game.rules.variant} rules, {game.rules.years} years", ""]
    for record in game.history:
        lines += [*lines_of(record, game.powers, game.rules.is_welfare), ""]
    lines.append("== end")
    for power in game.powers:
        lines.append(f"{power} score {game.scores[power]:.6g} | {' '.join(sorted(game.centers[power]))}")
    return "\n".join(lines) + "\n"


def talk_on(rules: Rules, engine: str, rng: np.random.Generator) -> Game:
    """A game played through the environment: every number is drawn from those that are open, tokens among them."""
    env = welfare_env.make(rules=rules, engine=engine, strict=True)
    env.reset(seed=2024)
    while env.agents:
        observation, _, ended, _, info = env.last()
        if ended:
            env.step(None)
            continue
        view, messages = info["view"], {}
        if view.asked == "messages":
            messages = {view.recipients[rng.integers(len(view.recipients))]: rng.integers(1 + len(view.vocabulary))}
        env.step({"orders": rng.choice(np.flatnonzero(observation["action_mask"])), "messages": messages})
    return env.unwrapped.game


@pytest.mark.parametrize(("name", "engine"), PLAYED)
def test_playthrough(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    rules, rng = GAMES[name], np.random.default_rng(2024)
    game = talk_on(rules, engine, rng) if rules.has_tokens else play_on(Game("standard", rules, engine), rng)
    played, path = as_text(game), GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(played, encoding="utf-8")
    assert played.split("\n") == path.read_text(encoding="utf-8").split("\n")


def test_every_golden_file_is_played() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(GAMES)
