"""Public functions and methods answer odd values, and odd orders of calls, with named errors that change nothing.

Methods that a subclass fills in (`ScriptedPolicy.movement` ...) get views from the library, and check nothing.
"""

import functools
import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agents
import welfare_env
from tests.fuzz.hunting import odd
from tests.playing import ended, seated
from welfare_env import Game, Rules, WelfareEnvError
from welfare_env.envs.vector import VectorEnv

RULES = Rules(years=1)
LOOP: list[Any] = []
LOOP.append(LOOP)  # numpy follows it until the process dies
SPECS = ["random", "exploiter:nice=dove,attack=dumbbot", "marshal", "plan:budget=1"]


@functools.cache
def finished() -> Game:
    return ended(Game("clique:3", RULES))


def played(make: Callable[..., Any]) -> Any:
    env = make("clique:3", years=1)
    env.reset(seed=0)
    return env


def shown(thing: Any) -> Any:
    """What a refused call may not change: all of a game, and the turns of an environment."""
    if isinstance(thing, VectorEnv):
        return thing.rows.tobytes()
    bare = getattr(thing, "unwrapped", thing)
    game = getattr(bare, "game", bare)
    names = ("_turns", "_round", "_cycles", "agents", "_refused", "rewards")
    told = [str(getattr(bare, name, None)) for name in names]
    return (told, json.dumps(game.record())) if isinstance(game, Game) else ()


GAME = [
    "advance", "from_position", "from_record", "from_view", "legal_orders", "load", "orders", "save", "send", "submit",
    "view", "replay", "check_orders", "check_send", "add_void",
]  # fmt: skip
OBJECTS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "game": (lambda: Game("clique:3", RULES), GAME),
    "finished game": (finished, GAME),
    "view": (lambda: Game("clique:3", RULES).view("PLAYERA"), ["encode_orders", "encode_messages"]),
    "phase": (lambda: finished().history[0], ["seen_by"]),
    "rules": (lambda: RULES, ["from_dict", "published"]),
    "aec": (lambda: played(welfare_env.make), ["reset", "step", "observe"]),
    "parallel": (lambda: played(welfare_env.parallel_env), ["reset", "step", "check_action"]),
    "vector": (lambda: welfare_env.vector_env(2, "clique:3", years=1), ["reset", "step", "observe"]),
    "welfare_env": (lambda: welfare_env, ["load_board", "make", "parallel_env", "vector_env", "import_game"]),
    "agents": (lambda: agents, ["canonical", "make", "read_profile", "DovePolicy", "DeterrentPolicy", "MixPolicy"]),
    "trainings": (lambda: importlib.import_module("training.board.config"), ["TrainConfig"]),
    "profile": (lambda: agents.read_profile("2*dove + 1*random"), ["seats"]),
    "dove, not reset": (functools.partial(agents.make, "dove"), ["reset", "act", "reseed"]),
    **{f"{spec}, reset": (functools.partial(seated, spec, "PLAYERA"), ["reset", "act", "reseed"]) for spec in SPECS},
}
FITTING: dict[str, list[Any]] = {
    "power": ["PLAYERA", "FRANCE"],
    "agent": ["PLAYERA", "FRANCE"],
    "seed": [0, LOOP, [[1]]],
    "orders": [["A PAR H"], []],
    "action": [0, ["A HAX D"], *({"orders": [], "messages": said} for said in ({"GLOBAL": 5}, {"PLAYERB": "Hm."}, 5))],
    "actions": [{"PLAYERA": 0}, {"PLAYERA": ["A HAX D"]}, {"X": []}],
    "recipient": ["GLOBAL"],
    "map_name": ["clique:3"],
    "info": [{"view": Game().view("FRANCE")}],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_odd_values_raise_named_errors(name: str) -> None:
    make, methods = OBJECTS[name]

    @hypothesis.seed(0)
    @settings(max_examples=30, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def call(data: st.DataObject) -> None:
        owner = make()
        method = getattr(owner, data.draw(st.sampled_from([each for each in methods if hasattr(owner, each)])))
        values = {}
        for argument in inspect.signature(method).parameters.values():
            optional = argument.default is not argument.empty
            if argument.kind is argument.VAR_KEYWORD or (optional and data.draw(st.integers(0, 2))):
                continue
            values[argument.name] = data.draw(odd | st.sampled_from([LOOP, *FITTING.get(argument.name, [])]))
        before = shown(owner)
        try:
            method(**values)
        except WelfareEnvError:
            assert shown(owner) == before, "refused, and something has changed"

    call()
