"""Replies drawn from the schemas of the turns of real games: each is legal, and nothing of it is lost."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

import agents
import welfare_env
from agents.lm.reading.parsing import parse, reply_schema
from agents.lm.stub.replies import instance
from tests.fuzz.hunting import hunt
from welfare_env import Game, Rules, View
from welfare_env.game.press import MEDIATOR
from welfare_env.game.view import MESSAGES

RULES = {
    "full press": {},
    "words": {"press": "tokens"},
    "no press": {"press": None, "message_rounds": 0},
    "standard": {"variant": "standard"},
    "mediator": {"mediator": True},
    "transfers": {"transfers": True},
    "builds with disbands": {"build_and_disband": True, "transfers": True},
}


@functools.cache
def turns(name: str, spec: str) -> list[tuple[Game, View]]:
    """The turns of a game of random players or of dumbbots, who clash more; retreats stand ten times."""
    found: list[tuple[Game, View]] = []
    for game, view in _played(Rules(**{"years": 3, "message_rounds": 1} | RULES[name]), spec):
        found += [(game, view)] * (10 if view.phase_type == "R" and view.legal_orders else 1)
    return found


def _played(rules: Rules, spec: str) -> Iterator[tuple[Game, View]]:
    env = welfare_env.parallel_env(rules=rules)
    policies = {player: agents.make("hold" if player == MEDIATOR else spec) for player in env.possible_agents}
    for player, policy in policies.items():
        policy.reset(agent=player, seed=0)
    observations, infos = env.reset(seed=0)
    while env.agents:
        game = env.unwrapped.game.branch()
        for player in env.agents:
            view = infos[player]["view"]
            yield game, game.view(player, view.asked, view.message_round)
        actions = {player: policies[player].act(observations[player], infos[player]) for player in env.agents}
        observations, _, _, _, infos = env.step(actions)


@hunt(st.tuples(st.sampled_from(list(RULES)), st.sampled_from(["random", "dumbbot"]), st.randoms()))
def test_replies(given: Any) -> None:
    name, spec, random = given
    game, view = random.choice(turns(name, spec))
    rng, schema = np.random.default_rng(random.getrandbits(32)), reply_schema(view)
    text = json.dumps(instance(schema, rng))
    parsed, reply = parse(text, view), json.loads(text)
    assert parsed.issues == []
    assert sum(map(bool, reply.get("messages", {}).values())) == len(parsed.messages)
    asked = reply["orders"].values() if isinstance(reply.get("orders"), dict) else []
    ordered = [order for order in asked if not order.endswith("WAIVE") and not order.startswith("GIVE")]
    assert len(ordered) == sum(not order.startswith("GIVE") for order in parsed.orders)
    if view.power in game.powers:
        game.branch().submit(view.power, parsed.orders)
    if view.asked == MESSAGES:
        view.encode_messages(parsed.messages)
