"""Schemas that cannot be disobeyed, that both providers take, and whose form every prompt shows."""

import json
import re
from collections.abc import Iterator
from itertools import chain, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modal_env
from agents import DumbBotPolicy
from agents.lm import LMPolicy, ScriptedModel
from agents.lm.player.programs import program_schema
from agents.lm.player.settings import SCHEMAS
from agents.lm.prompts import Contents, Flavour, build
from agents.lm.prompts.parts import ALL, EVERYTHING, NOTHING, PLAIN, Ablation, parts_text
from agents.lm.reading.parsing import parse, reply_schema
from agents.lm.reading.schemas import LONGEST_ENUM, gbnf, obeys, order_schema
from agents.lm.stub.replies import instance
from welfare_env import Game, Rules, View
from welfare_env.engine import MOVEMENT, RETREATS

TEXT = {"type": "string"}
FRANCE = {"FRANCE": ["PAR", "BRE", "MAR", "SPA", "POR", "BEL"]}
HOMES = ["ANK", "CON", "MOS", "SEV", "SMY", "STP", "WAR"]  # where nobody stands in these tests
CENTERS = ["SPA", "BEL", "HOL", "MUN", "KIE", "BER", "VIE", "POR", "NAP", "ROM", "VEN", "LON"]
PLACES = ["BUR", "GAS", "SPA", "BEL", "HOL", "RUH", "MUN", "PIC", "KIE", "BER", "SIL", "BOH", "TYR", "VIE"]


def winter(units: list[str], centers: list[str], power: str = "FRANCE", welfare: int = 0, **rules: Any) -> View:
    game = Game.from_position(
        "W1905A", {power: units}, {power: centers}, welfare={power: welfare}, rules=Rules(press=None, **rules)
    )
    return game.view(power, "orders")


def orders_of(reply: dict[str, Any]) -> list[str]:
    """The orders of a reply that change something."""
    parts = [list(each.values()) if isinstance(each, dict) else [each] for each in reply.get("orders", {}).values()]
    return [order for order in chain.from_iterable(parts) if order != "WAIVE"]


def without_gifts(orders: list[str]) -> list[str]:
    return sorted(order for order in orders if not order.startswith("GIVE"))


VIEWS = {
    "opening": Game(rules=Rules(message_rounds=1)).view("RUSSIA", "messages", 1),
    "words": Game(rules=Rules(press="tokens")).view("FRANCE", "messages", 1),
    "mediator": Game(rules=Rules(mediator=True)).view("MEDIATOR", "messages", 1),
    "retreat": Game.from_position(
        "F1905R", {"ENGLAND": ["A SER"]}, FRANCE, dislodged={"FRANCE": {"A GRE": ["ALB", "BUL"]}}
    ).view("FRANCE", "orders"),
    "builds": winter(["A SPA"], ["PAR", "BRE", "MAR", "SPA"]),
    "two of three builds": winter(["A SPA", "A BEL"], ["PAR", "BRE", "MAR", "SPA"]),
    "two of four builds": winter(["A BUR", "A GAS"], ["MOS", "SEV", "STP", "WAR"], "RUSSIA"),
    "few builds": winter(["A SPA", "F POR", "A BEL", "A GAS"], ["PAR", "BRE", "MAR", "SPA", "POR"]),
    "must disband": winter(["A SPA", "F POR", "A BEL", "A GAS"], ["PAR", "BRE"], variant="standard"),
    "gifts": winter(["A SPA"], ["PAR", "BRE", "MAR", "SPA"], welfare=13, transfers=True),
    "both": winter(["A SPA"], ["PAR", "BRE", "MAR"], build_and_disband=True),
    "nothing": winter([], ["BEL"]),
}
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


# What the providers document (OpenAI: structured outputs, supported schemas; Anthropic: schema complexity limits).

WORDS = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum"}


def parts(schema: Any, depth: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """All schemas in one, with the level of nesting."""
    yield depth, schema
    for inner in schema.get("properties", {}).values():
        yield from parts(inner, depth + 1)
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])):
        yield from parts(inner, depth + ("items" in schema))


def faults(schema: Any) -> list[str]:
    """The limits of OpenAI or Anthropic that a schema does not keep."""
    found = list(parts(schema))
    objects = [part for _, part in found if part.get("type") == "object"]
    enums = [part["enum"] for _, part in found if "enum" in part]
    unions = [part["anyOf"] for _, part in found if "anyOf" in part]
    firsts = [[next(iter(each["properties"]), "") for each in union] for union in unions]
    names = [name for part in objects for name in part["properties"]]
    kept = {
        "only the keywords of both": all(set(part) <= WORDS for _, part in found),
        "an object, not a choice": schema.get("type") == "object",
        "no key twice at the beginning": all(len(set(first)) == len(first) for first in firsts),
        "objects as choices": all(each["type"] == "object" for union in unions for each in union),
        "all properties required": all(part["required"] == list(part["properties"]) for part in objects),
        "no others": all(part["additionalProperties"] is False for part in objects),
        "10 levels": max(depth for depth, _ in found) <= 10,
        "5,000 properties": len(names) <= 5000,
        "1,000 values": sum(map(len, enums)) <= 1000,
        "values once": all(len(set(enum)) == len(enum) > 0 for enum in enums),
        "15,000 characters of a long enum": all(len(enum) <= 250 or len("".join(enum)) <= 15_000 for enum in enums),
        "120,000 characters": len("".join(chain(names, *enums))) <= 120_000,
        "16 unions": len(unions) <= 16,
    }
    return [name for name, is_so in kept.items() if not is_so]


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(PLACES), unique=True, max_size=14),
    st.lists(st.sampled_from(HOMES), unique=True, max_size=7),
    st.sampled_from(["RUSSIA", "TURKEY"]),
    st.integers(0, 12),
    st.integers(0, 40),
    st.sampled_from([{}, {"variant": "standard"}, {"build_and_disband": True}, {"transfers": True}]),
    st.none() | st.integers(0, 3),
)
def test_both_providers_take_the_schema_of_any_winter(places, homes, power, abroad, points, rules, seed):
    more = [] if rules.get("variant") else [("welfare", points)]
    view = winter([f"A {place}" for place in places], [*homes, *CENTERS[:abroad]], power, **dict(more), **rules)
    schema = reply_schema(view, seed=seed)
    assert faults(schema) == []
    if TEXT in schema["properties"]["orders"].get("properties", {}).values():
        return  # too many sets to list
    reply = instance(schema, np.random.default_rng(points))
    parsed = parse(json.dumps(reply), view)
    assert parsed.issues == []
    assert without_gifts(parsed.orders) == without_gifts(orders_of(reply))


@pytest.mark.parametrize("actions", ["library", "formula", "tokens"])
def test_both_providers_take_the_schema_of_programs(actions: str) -> None:
    """That of a library lists its names."""
    env = modal_env.make(actions=actions)
    env.reset(seed=0)
    schema = program_schema(env.infos["player_0"]["setting"])
    assert faults(schema) == []
    names = [agent.name for agent in modal_env.envs.setting.POST] if actions == "library" else None
    assert schema["properties"]["program"].get("enum") == names


# What the schema says.


@each_view
def test_what_it_allows_is_legal_and_whole_and_what_its_grammar_allows(view: View) -> None:
    rng, schema, builds = np.random.default_rng(1), reply_schema(view), []
    language = re.compile(as_regex(gbnf(schema)))
    for _ in range(60):
        reply = instance(schema, rng)
        text = json.dumps(reply)
        parsed = parse(text, view)
        assert parsed.issues == []
        assert without_gifts(orders_of(reply)) == without_gifts(parsed.orders)
        wrong = text.replace('"orders": {', '"orders": {"A XXX": "A XXX H", ')
        assert language.fullmatch(text)
        assert wrong == text or not language.fullmatch(wrong)
        builds.append(sum(order.endswith(" B") for order in parsed.orders))
    assert max(builds) == (view.max_builds if " B" in json.dumps(schema) else 0)


def as_regex(grammar: str) -> str:
    """A grammar of `gbnf` as a regular expression."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.strip().splitlines())

    def converted(rule: str) -> str:
        words = re.findall(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z]+|\S', rule)
        return "".join(
            re.escape(json.loads(word))
            if word[0] == '"'
            else f"(?:{converted(rules[word])})"
            if word in rules
            else word
            for word in words
        )

    return converted(rules["root"])


def test_gifts_never_exceed_the_points_and_reach_them() -> None:
    for points in (*range(40), 1022, 1023):
        view = winter(["A SPA"], ["PAR", "BRE"], welfare=points, transfers=True)
        first = order_schema(view)["anyOf"][0]["properties"].values()
        reached = {0}
        for size in re.findall(r'\["GIVE (\d+)', json.dumps([each.get("enum", []) for each in first])):
            reached |= {int(size) + other for other in reached}
        assert reached == set(range(points + 1)), points


@pytest.mark.parametrize(("number", "length", "is_listed"), [(899, 10, True), (900, 10, False), (600, 26, False)])
def test_a_schema_of_too_many_orders_has_none(number: int, length: int, is_listed: bool) -> None:
    orders = {"A PAR": tuple(f"{number:0{length}}" for number in range(number)), "A BRE": ("A BRE H",)}
    view: Any = SimpleNamespace(phase_type="M", points_to_give=0, legal_orders=orders)
    assert (order_schema(view)["properties"]["A PAR"] == TEXT) != is_listed
    assert LONGEST_ENUM < 600 * 26


def test_all_of_them_for_servers_without_a_limit() -> None:
    units = [f"A {place}" for place in ("BUR", "GAS", "HOL", "RUH", "MUN", "PIC", "KIE", "BER", "SIL", "BOH", "TYR")]
    view = winter(units, ["PAR", "BRE", "MAR", "SPA", "POR", "BEL", "HOL", "KIE"], variant="standard")
    assert order_schema(view)["properties"] == dict.fromkeys(view.legal_orders, TEXT)
    schema = reply_schema(view, most=SCHEMAS["all"])
    assert len(schema["properties"]["orders"]["anyOf"]) == 165  # three of eleven
    drawn = instance(schema, np.random.default_rng(0))
    assert parse(json.dumps(drawn), view).issues == []


SETTINGS = {
    "usual": ("standard", Rules(years=4)),
    "words and mediator": ("standard", Rules(years=2, press="tokens", mediator=True)),
    "standard": ("standard", Rules(years=4, variant="standard")),
    "transfers": ("standard", Rules(years=4, transfers=True)),
    "both, overmilitarise": ("standard", Rules(years=4, build_and_disband=True, overmilitarise=True)),
    "clique": ("clique:4", Rules(years=4, press=None)),
    "modern": ("modern", Rules(years=3, press=None)),
}


def views(map_name: str, rules: Rules, seed: int) -> Iterator[View]:
    """What players see at each turn of a game of attackers, with retreats."""
    game, rng = Game(map_name, rules), np.random.default_rng(seed)
    players = {power: DumbBotPolicy() for power in game.powers}
    for power, player in players.items():
        player.reset(power, seed)
    while not game.is_done:
        seen = {power: game.view(power) for power in game.powers}
        for power, view in seen.items():
            if view.legal_orders:
                yield view
                game.submit(power, players[power].orders(view), strict=False)
        if rules.has_press and not re.search("R$", game.phase):
            yield game.view(game.powers[int(rng.integers(len(game.powers)))], "messages", 1)
            if rules.mediator:
                yield game.view("MEDIATOR", "messages", 1)
        game.advance()


def example(text: str, phase: str) -> str:
    """The line of the prompt with the example."""
    (found,) = re.findall(rf"^# The form of your reply in {phase}\n(.+)$", text, re.MULTILINE)
    return str(found)


def checked(view, schema, flavour, ablation=NOTHING, addition=PLAIN, seed=None):
    """The phase type of a view whose prompt and schema agree."""
    contents = Contents(flavour, ablation, addition, is_list=schema == "form")
    shown = build(view, contents=contents, seed=seed)
    written = example(shown.text, view.phase)
    enforced = reply_schema(view, contents, SCHEMAS[schema], seed)
    assert obeys(written, enforced), (written, json.dumps(enforced)[:500])
    assert list(enforced["properties"]) == list(json.loads(written))
    assert schema == "all" or faults(enforced) == []
    read = parse(written, view, addition=addition)
    assert not read.issues, (written, read.issues)
    assert not read.messages
    kinds = {MOVEMENT: " H", RETREATS: " D"}
    ending = kinds.get(view.phase_type)
    meant = [f"{unit}{ending}" for unit in view.legal_orders] if ending and flavour is not Flavour.MEDIATOR else []
    assert sorted(read.orders) == sorted(meant)
    keys = re.search(r"^\{.*\}$", shown.system[0].text, re.MULTILINE)
    assert keys is not None
    assert list(json.loads(keys[0])) == list(json.loads(written))
    if "orders" in json.loads(written):
        assert isinstance(json.loads(keys[0])["orders"], list) == (schema == "form")
    return view.phase_type


def flavours(view: View) -> list[Flavour]:
    if view.power == "MEDIATOR":
        return [Flavour.MEDIATOR]
    return [Flavour.WD, Flavour.SD, Flavour.EXPLOITER] if view.rules.is_welfare else [Flavour.SD]


@pytest.mark.parametrize("setting", [*list(SETTINGS)[:-1], pytest.param("modern", marks=pytest.mark.slow)])
def test_the_example_in_a_prompt_passes_its_schema(setting: str) -> None:
    seen, rng = set(), np.random.default_rng(0)
    for view in views(*SETTINGS[setting], 1):
        if rng.random() < 0.05 or view.phase_type not in seen:
            for schema, flavour in product(("orders", "form", "all"), flavours(view)):
                seen.add(checked(view, schema, flavour, seed=int(rng.integers(2)) or None))
    assert {"M", "A"} <= seen
    assert "R" in seen or setting == "clique"


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("builds", "To build, the keys of your orders are BRE, MAR, PAR; to disband, they are A SPA"),
        ("both", "The keys of your orders are 2 of BRE, MAR, PAR, and A SPA"),
        ("must disband", "The keys of your orders are 2 of A SPA, F POR, A BEL, A GAS, under a key that names them"),
    ],
)
def test_the_words_of_a_winter_name_its_keys(name: str, keys: str) -> None:
    view = VIEWS[name]
    assert f"\n{keys}. WAIVE in place" in build(view, contents=Contents(flavours(view)[0])).text


@pytest.mark.parametrize("ablation", [Ablation.NO_REASONING, Ablation.ORDERS_LAST, ALL], ids=parts_text)
def test_in_every_ablation(ablation: Ablation) -> None:
    """Also with a journal and all other additions."""
    phases = {view.phase_type: view for view in views("standard", Rules(years=4, transfers=True), 1)}
    for view, addition in product(phases.values(), (PLAIN, EVERYTHING)):
        checked(view, "orders", flavours(view)[0], ablation, addition)
    assert sorted(phases) == ["A", "M", "R"]


def test_a_player_shuffles_the_units_by_the_seed_of_its_game() -> None:
    """In its prompt and in its schema alike."""
    found = set()
    for seed in range(20):
        model = ScriptedModel([""])
        player = LMPolicy(model)
        player.reset("RUSSIA", seed)
        player.act(None, {"view": Game(rules=Rules(press=None)).view("RUSSIA")})
        schema = model.requests[0].schema
        assert schema is not None
        keys = tuple(schema["properties"]["orders"]["properties"])
        assert list(json.loads(example(model.requests[0].prompt, "S1901M"))["orders"]) == list(keys)
        found.add(keys)
    assert len(found) > 10
