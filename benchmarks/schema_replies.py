"""Random replies that the schemas of real turns allow: is every one of them legal, and is nothing of it lost?

    python -m benchmarks.schema_replies
    python -m benchmarks.schema_replies --replies 1000

Games of scripted players are played under several rules: full press, words, the standard variant, a mediator,
transfers, builds with disbands. Every turn gets replies drawn from its schema, every third by way of the grammar
(`agents.lm.reading.grammar`). A reply counts as legal if it parses without a loss, and its orders and messages are
accepted as they are by the strict interface of the game.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import agents
import welfare_env
from agents.lm.reading.grammar import Grammar
from agents.lm.reading.parsing import parse, reply_schema
from agents.lm.stub.replies import SENTENCES, Instance
from welfare_env import Rules, View
from welfare_env.game.press import MEDIATOR
from welfare_env.game.view import MESSAGES

SETTINGS = {
    "full press": Rules(years=4, message_rounds=1),
    "words": Rules(years=4, message_rounds=1, press="tokens"),
    "no press": Rules(years=4, message_rounds=0, press=None),
    "standard variant": Rules(years=4, message_rounds=1, variant="standard"),
    "mediator": Rules(years=4, message_rounds=1, mediator=True),
    "transfers": Rules(years=4, message_rounds=1, transfers=True),
    "builds with disbands": Rules(years=4, message_rounds=1, build_and_disband=True, transfers=True),
}

OFTEN, RARE = 3, 30  # replies to a turn with orders; to retreats, of which there are few


def turns(rules: Rules, seed: int) -> Iterator[tuple[welfare_env.Game, View]]:
    """The turns of a game, of random players or of dumbbots, who clash more: each with the game as it is then."""
    env = welfare_env.parallel_env(rules=rules)
    spec = ("random", "dumbbot")[seed % 2]
    policies = {player: agents.make("hold" if player == MEDIATOR else spec) for player in env.possible_agents}
    for player, policy in policies.items():
        policy.reset(agent=player, seed=seed)
    observations, infos = env.reset(seed=seed)
    while env.agents:
        for player in env.agents:
            yield env.unwrapped.game, infos[player]["view"]
        actions = {player: policies[player].act(observations[player], infos[player]) for player in env.agents}
        observations, _, _, _, infos = env.step(actions)


def fault(text: str, view: View, game: welfare_env.Game) -> str:
    """What is wrong with a reply; "" if nothing is."""
    parsed = parse(text, view)
    if parsed.losses:
        return f"{parsed.losses[0].kind}: {parsed.losses[0].what}"
    asked = json.loads(text)
    said = sum(bool(each) for each in asked.get("messages", {}).values())
    if said != len(parsed.messages):
        return f"{said} messages, of which {len(parsed.messages)} were read"
    ordered = sum(not order.endswith("WAIVE") and not order.startswith("GIVE") for order in _orders(asked))
    if ordered != sum(not order.startswith("GIVE") for order in parsed.orders):
        return f"{ordered} orders, of which {len(parsed.orders)} were read"
    if view.power in game.powers:
        try:
            game.submit(view.power, parsed.orders)
        except welfare_env.WelfareEnvError as error:
            return str(error)
    if view.asked == MESSAGES:
        view.encode_messages(parsed.messages)
    return ""


def _orders(asked: dict[str, object]) -> list[str]:
    orders = asked.get("orders", {})
    return list(orders.values()) if isinstance(orders, dict) else []


def drawn(view: View, rng: np.random.Generator, by_grammar: bool) -> str:
    """A reply that the schema of a turn allows."""
    schema = reply_schema(view)
    if by_grammar:
        return Grammar(schema).draw(rng, SENTENCES)
    return json.dumps(Instance(schema, rng).make(schema))


def tried(rules: Rules, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Replies to the turns of endless games: the type of the phase, and what is wrong, "" for nothing."""
    while True:
        for game, view in turns(rules, int(rng.integers(2**31))):
            has_orders = bool(view.legal_orders)
            for number in range(RARE if view.phase_type == "R" and has_orders else OFTEN if has_orders else 1):
                yield view.phase_type, fault(drawn(view, rng, by_grammar=number % 3 == 2), view, game)


def main(replies: Annotated[int, typer.Option(min=1)] = 10_000, seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Draw replies, and count the legal ones."""
    rng, counted, legal = np.random.default_rng(seed), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    wrong: Counter[str] = Counter()
    for place, (name, rules) in enumerate(SETTINGS.items()):
        share = replies * (place + 1) // len(SETTINGS) - replies * place // len(SETTINGS)
        for phase_type, said in itertools.islice(tried(rules, rng), share):
            counted[name, phase_type] += 1
            legal[name, phase_type] += not said
            wrong[said] += bool(said)
    _show(counted, legal, +wrong)


def _show(counted: Counter[tuple[str, str]], legal: Counter[tuple[str, str]], wrong: Counter[str]) -> None:
    table = Table(title=f"{legal.total():,} of {counted.total():,} replies are legal", title_justify="left")
    for name in ("rules", "movement", "retreats", "Winter"):
        table.add_column(name, justify="left" if name == "rules" else "right")
    for name in dict.fromkeys(rules for rules, _ in counted):
        table.add_row(name, *(f"{legal[name, kind]:,} of {counted[name, kind]:,}" for kind in "MRA"))
    Console(width=100).print(table)
    for text, count in wrong.most_common(10):
        Console(width=100, markup=False).print(f"{count} times: {text}")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
