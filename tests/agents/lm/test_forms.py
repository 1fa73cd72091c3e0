"""Every prompt shows the form that its schema enforces: the example in it passes the schema, and plays as it says."""

import json
import re
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from agents import DumbBotPolicy
from agents.lm import LMPolicy, ScriptedModel
from agents.lm.player.settings import SCHEMAS
from agents.lm.prompts import Contents, Flavour, build
from agents.lm.prompts.parts import ALL, EVERYTHING, NOTHING, PLAIN, Ablation, Addition, parts_text
from agents.lm.reading.parsing import parse, reply_schema
from agents.lm.reading.schemas import NOTHING as WAIVE
from agents.lm.reading.schemas import obeys
from welfare_env import Game, Rules, View
from welfare_env.engine import MOVEMENT, RETREATS

SETTINGS = {
    "usual": ("standard", Rules(years=4)),
    "no press": ("standard", Rules(years=4, press=None)),
    "words": ("standard", Rules(years=2, press="tokens")),
    "mediator": ("standard", Rules(years=2, mediator=True)),
    "words and mediator": ("standard", Rules(years=2, press="tokens", mediator=True)),
    "one round": ("standard", Rules(years=2, message_rounds=1)),
    "standard": ("standard", Rules(years=4, variant="standard")),
    "standard, no press": ("standard", Rules(years=4, variant="standard", press=None)),
    "transfers": ("standard", Rules(years=4, transfers=True)),
    "overmilitarise": ("standard", Rules(years=4, overmilitarise=True)),
    "both": ("standard", Rules(years=4, build_and_disband=True)),
    "both, transfers": ("standard", Rules(years=4, build_and_disband=True, transfers=True)),
    "both, overmilitarise": ("standard", Rules(years=4, build_and_disband=True, overmilitarise=True)),
    "progressive": ("standard", Rules(years=3, progressive=(1, 2, 4))),
    "retreat welfare": ("standard", Rules(years=3, retreat_welfare=True)),
    "pure": ("pure", Rules(years=4)),
    "clique": ("clique:4", Rules(years=4, press=None)),
    "colonial": ("colonial", Rules(years=3, press=None)),
    "modern": ("modern", Rules(years=3, press=None)),
    "ancmed": ("ancmed", Rules(years=3)),
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


def checked(
    view: View,
    schema: str,
    flavour: Flavour,
    ablation: Ablation = NOTHING,
    addition: Addition = PLAIN,
    seed: int | None = None,
) -> str:
    """The phase type of a view whose prompt and schema agree."""
    contents = Contents(flavour, ablation, addition, is_list=schema == "form")
    shown = build(view, contents=contents, seed=seed)
    written = example(shown.text, view.phase)
    enforced = reply_schema(view, contents, SCHEMAS[schema], seed)
    assert obeys(written, enforced), (written, json.dumps(enforced)[:500])
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


QUICK = ("usual", "standard", "transfers", "both, overmilitarise", "clique")


@pytest.mark.parametrize(
    "setting", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SETTINGS]
)
def test_the_example_in_a_prompt_passes_its_schema(setting: str) -> None:
    seen, rng = set(), np.random.default_rng(0)
    for seed in range(2):
        for view in views(*SETTINGS[setting], seed):
            if rng.random() < (0.05 if setting in QUICK else 0.2) or view.phase_type not in seen:
                for schema, flavour in product(("orders", "form", "all"), flavours(view)):
                    seen.add(checked(view, schema, flavour, seed=seed or None))
    assert {"M", "A"} <= seen
    assert "R" in seen or setting in ("pure", "clique")


@pytest.mark.parametrize("ablation", [*Ablation, ALL], ids=parts_text)
def test_in_every_ablation(ablation: Ablation) -> None:
    """Also with a journal and all other additions."""
    phases = {view.phase_type: view for view in views("standard", Rules(years=4, transfers=True), 1)}
    for view, addition in product(phases.values(), (PLAIN, EVERYTHING)):
        checked(view, "orders", flavours(view)[0], ablation, addition)
    assert sorted(phases) == ["A", "M", "R"]


@pytest.mark.parametrize("setting", ["usual", "standard", "both", "both, transfers", "overmilitarise", "transfers"])
def test_the_words_of_a_winter_name_its_keys(setting: str) -> None:
    """Each set of keys that the schema allows is one that the prompt describes, and WAIVE is said."""
    for view in views(*SETTINGS[setting], 3):
        if view.phase_type != "A" or not view.legal_orders:
            continue
        flavour = flavours(view)[0]
        text = build(view, contents=Contents(flavour)).text
        schema = reply_schema(view, Contents(flavour))["properties"]["orders"]
        told = text.partition("# What you can order")[2].partition("# The form")[0]
        sentence = next(line for line in told.splitlines() if WAIVE in line)
        for each in schema.get("anyOf", [schema]):
            named = next((part["properties"] for part in each["properties"].values() if part["type"] == "object"), {})
            keys = [key for key in {**each["properties"], **named} if key in view.legal_orders]
            described = [
                part for part in re.split("; to disband, they are |, and ", sentence) if set(keys) & _named(part)
            ]
            assert set(keys) <= set().union(*map(_named, described))
            for part in described:
                count = re.search(r"(\d+) of ", part)
                here = [key for key in keys if key in _named(part)]
                assert len(here) == (int(count[1]) if count else len(_named(part))), (sentence, keys)


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


def _named(sentence: str) -> set[str]:
    """The units and places in a sentence."""
    return set(re.findall(r"\b[AF] [A-Z]{3}(?:/[NSEW]C)?\b|(?<![A-Z] )\b[A-Z]{3}\b(?!/)", sentence)) - {"WAI"}
