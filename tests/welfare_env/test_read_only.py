"""Arrays that public objects hand out: nobody writes to what the kernels trust, or to what others will see."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import welfare_env
from welfare_env.engine.tables import tables_of
from welfare_env.envs.vector import VectorEnv

Named = Iterator[tuple[str, np.ndarray]]


def arrays_of(name: str, thing: Any) -> Named:
    """All arrays that can be reached: in attributes, properties, dicts and sequences."""
    if isinstance(thing, np.ndarray):
        yield name, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from arrays_of(f"{name}[{key!r}]", value)
    elif isinstance(thing, (list, tuple)):
        for index, value in enumerate(thing):
            yield from arrays_of(f"{name}[{index}]", value)
    elif type(thing).__module__.startswith("welfare_env."):
        for attribute in dir(type(thing)) + list(getattr(thing, "__dict__", ())):
            if not attribute.startswith("_"):
                value = getattr(thing, attribute)
                if not callable(value) and (isinstance(value, np.ndarray) or attribute in DEEP):
                    yield from arrays_of(f"{name}.{attribute}", value)


# Attributes that lead on to other objects with arrays.
DEEP = {"board", "orders", "tables", "position", "state", "legal", "adjustments", "game", "infos", "view", "history"}
DEEP |= {"engine", "opening", "setting"}


def vector() -> VectorEnv:
    games = welfare_env.vector_env(3, years=2, threads=2)
    games.reset(seed=0)
    games.step(games.sample())
    return games


def in_turns() -> Any:
    env = welfare_env.make(press=None).unwrapped
    env.reset(seed=0)
    env.step(env.observe(env.agent_selection)["action_mask"].argmax())
    return env


def at_once() -> Any:
    env = welfare_env.parallel_env(press="tokens", years=2)
    env.reset(seed=0)
    return env


HANDED_OUT: dict[str, Callable[[], Any]] = {
    "board": lambda: (welfare_env.load_board(), tables_of(welfare_env.load_board())),
    "two threads": vector,
    "in turns": in_turns,
    "at once": at_once,
}
FEWEST = {"board": 14, "two threads": 19, "in turns": 30, "at once": 30}


@pytest.mark.parametrize("name", HANDED_OUT)
def test_what_stays_with_its_owner_cannot_be_written_to(name: str) -> None:
    found = dict(arrays_of(name, HANDED_OUT[name]()))
    own = {path for path in found if path.rpartition(".")[2] in COPIED}
    assert [path for path, array in found.items() if array.flags.writeable and path not in own] == []
    assert len(found) >= FEWEST[name], sorted(found)


# Properties that make a new array whenever they are asked.
COPIED = {"units", "dislodged", "retreats", "owners", "welfare", "influence"}


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (in_turns, lambda env: env.observe("FRANCE")),
        (in_turns, lambda env: env.last()[0]),
        (in_turns, lambda env: env.state()),
        (at_once, lambda env: env._observations()),
        (at_once, lambda env: env.state()),
        (vector, lambda games: games.observe([0, 1], [2, 3])),
        (vector, lambda games: games.legal.padded()),
    ],
)
def test_answers_are_the_callers(make: Callable[[], Any], answer: Callable[[Any], Any]) -> None:
    """Overwriting an answer changes neither the next answer nor the game."""
    thing = make()
    before = [array.copy() for _, array in arrays_of("answer", answer(thing))]
    assert before
    for _, array in arrays_of("answer", answer(thing)):
        array[...] = 77
    for (path, array), expected in zip(arrays_of("answer", answer(thing)), before, strict=True):
        np.testing.assert_array_equal(array, expected, path)


def test_what_a_step_returns_is_the_callers() -> None:
    games, others = vector(), vector()
    for _ in range(12):
        choices = games.sample()
        np.testing.assert_array_equal(choices, others.sample())
        returned = games.step(choices)
        for array, same in zip(returned, others.step(choices), strict=True):
            np.testing.assert_array_equal(array, same)
            array[...] = 1
        choices[:] = 10**6
    np.testing.assert_array_equal(games.rows, others.rows)
