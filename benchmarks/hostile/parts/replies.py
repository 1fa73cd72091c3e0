"""Replies of language models, with thinking in them, mangled and cut off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import modal_env
from agents.lm.program_prompts import program_schema, read_program
from agents.lm.reading.parsing import Parsed, parse, reply_schema
from agents.lm.stub.replies import Instance
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import mangled, pick
from modal_env.envs.setting import Setting
from welfare_env import Game, Rules
from welfare_env.game.press import check_message
from welfare_env.game.view import View

LEAK = "LEAKED"
MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<THINK >", "</Think>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
)
AROUND = ("", "Here is my reply:\n```json\n", "I see {it's odd}. ", "{ hm ", "\n\n", "[")
THINK = ("it's odd", "{", "}", '"', "'", "`", "Let me see. ", "\n", "//", "/*", "\\", "<answer>", '{"orders": [', "...")


class Moment(NamedTuple):
    game: Game
    view: View


class Case(NamedTuple):
    """A reply; whether anything of it may be sent, and whether it is known to be cut off."""

    moment: int
    text: str
    is_whole: bool
    is_cut: bool


def _moments() -> Iterator[Moment]:
    centers = {"FRANCE": ["PAR", "SPA", "MAR", "BRE", "POR"]}
    units = {"FRANCE": ["F MAO", "F LYO", "A SPA", "F ENG", "A BRE"], "ENGLAND": ["F NTH", "A LON"]}
    dislodged = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
    gifts: dict[str, Any] = {"welfare": {"FRANCE": 2}, "rules": Rules(transfers=True)}
    mediated = Rules(mediator=True)
    for game, player, asked in (
        (Game(), "FRANCE", "messages"),
        (Game(rules=Rules(press=None)), "RUSSIA", "orders"),
        (Game.from_position("F1905M", units, centers), "FRANCE", "messages"),
        (Game.from_position("W1905A", {"FRANCE": ["F MAO", "A SPA"]}, centers, **gifts), "FRANCE", "messages"),
        (Game.from_position("F1905R", {"ENGLAND": ["A SER"]}, centers, dislodged=dislodged), "FRANCE", "orders"),
        (Game(rules=Rules(press="tokens")), "FRANCE", "messages"),
        (Game(rules=mediated), "MEDIATOR", "messages"),
    ):
        yield Moment(game, game.view(player, asked, int(asked == "messages")))


MOMENTS = list(_moments())


@cache
def _schema(number: int) -> dict[str, Any]:
    return reply_schema(MOMENTS[number].view)


def _reply(rng: np.random.Generator, number: int) -> str:
    schema = _schema(number)
    made = Instance(schema, rng).make(schema)
    return json.dumps(made, indent=int(rng.integers(3)) or None, ensure_ascii=bool(rng.integers(2)))


def _thought(rng: np.random.Generator, draft: str) -> str:
    """Anything with drafts in it: whole, cut, and mangled ones."""
    pieces = [
        mangled(rng, draft) if rng.random() < 0.4 else pick(rng, (*THINK, draft))
        for _ in range(int(rng.integers(1, 6)))
    ]
    return "".join(pieces).replace("\u25c1", "")


def _thinking(rng: np.random.Generator, draft: str) -> str:
    """A thought or two between marks, which may be nested, or lack their beginning."""
    opening, closing = MARKS[int(rng.integers(len(MARKS)))]
    first, second = _thought(rng, draft), _thought(rng, draft)
    is_channel = "channel" in opening
    match int(rng.integers(5)):
        case 0:
            return f"{opening}{first}{closing}{opening}{second}{closing}"
        case 1 if not is_channel:
            return f"{opening}{first}x{opening}{second}{closing}{draft}{closing}"
        case 2 if not is_channel:
            return f"{first}{closing}"
        case 3 if not is_channel:
            return f"{opening} {opening}{first}{closing}"
        case _:
            return f"{opening}{first}{closing}"


def _draft(rng: np.random.Generator, number: int) -> str:
    """What may never be sent: every message in it is the same word, and the word cannot come from elsewhere."""
    view = MOMENTS[number].view
    word = view.vocabulary[0] if view.vocabulary else LEAK
    return json.dumps({"reasoning": "", "orders": [], "messages": dict.fromkeys((*view.recipients, "GLOBAL"), word)})


def _case(rng: np.random.Generator) -> Case:
    """A reply that may be mangled, with thinking before it, within it, or with no end."""
    number = int(rng.integers(len(MOMENTS)))
    reply = _reply(rng, number)
    if rng.random() < 0.5:
        reply = mangled(rng, reply)
    thinking = _thinking(rng, _draft(rng, number))
    match int(rng.integers(6)):
        case 0:
            return Case(number, reply, True, False)
        case 1:
            at = int(rng.integers(len(reply) + 1))
            opening, closing = MARKS[int(rng.integers(9))]
            return Case(
                number, f"{reply[:at]}{opening}{_thought(rng, _draft(rng, number))}{closing}{reply[at:]}", True, False
            )
        case 2:
            return Case(number, thinking + pick(rng, AROUND) + reply, True, bool(rng.integers(2)))
        case 3:
            opening, closing = MARKS[int(rng.integers(len(MARKS)))]
            thought = f"{opening}{_thought(rng, _draft(rng, number))}"
            return Case(number, thought + closing[: int(rng.integers(3))], False, False)
        case 4:
            proper = thinking + pick(rng, ("", "Well: ", "\n")) + _reply(rng, number)
            has_opening = thinking.startswith(tuple(opening for opening, _ in MARKS))  # else only the server can tell
            is_told = bool(rng.integers(2)) or not has_opening
            return Case(number, proper[: -int(rng.integers(1, len(proper)))], False, is_told)
        case _:
            return Case(number, _draft(rng, number) + _thought(rng, _draft(rng, number)), False, True)


def _read(case: Case) -> None:
    moment = MOMENTS[case.moment]
    parsed = parse(case.text, moment.view, case.is_cut)
    _check_usable(moment, parsed)
    if parsed.messages and (case.is_cut or not case.is_whole):
        raise Broken(f"sent of a reply that is cut off: {parsed.messages}")
    if not moment.view.vocabulary and any(LEAK in text for _, text in parsed.messages):
        raise Broken(f"sent out of a thought: {parsed.messages}")


def _check_usable(moment: Moment, parsed: Parsed) -> None:
    game, view = moment
    if view.legal_orders or parsed.orders:
        game.check_orders(view.power, parsed.orders)
    for recipient, text in parsed.messages:
        check_message(view.board, view.rules, view.power, recipient, text, 1)
    json.dumps([parsed.reasoning, [loss.what for loss in parsed.losses]], ensure_ascii=False).encode()


def _proper(rng: np.random.Generator) -> tuple[int, str, str]:
    """A proper reply and thinking before it."""
    number = int(rng.integers(len(MOMENTS)))
    return number, _thinking(rng, _draft(rng, number)), _reply(rng, number)


def _read_behind(given: tuple[int, str, str]) -> None:
    number, thinking, reply = given
    view = MOMENTS[number].view
    alone, behind = parse(reply, view), parse(thinking + reply, view)
    if behind != alone:
        raise Broken(f"with thinking it is read as {behind.orders} {behind.messages} {behind.losses}")


def _settings() -> Iterator[Setting]:
    for actions in ("formula", "library", "tokens"):
        env = modal_env.make(actions=actions)
        env.reset(seed=0)
        yield env.infos["player_0"]["setting"]


SETTINGS = list(_settings())
PROGRAMS = ("FairBot", "[]X(me)", "~[]X(me)", "[]X(me) & ~[]X(DefectBot)", "true", "[][]false -> X(me)")


def _program(rng: np.random.Generator) -> tuple[int, str, bool]:
    """A reply with a program in it, mangled, thought about or cut off; whether a program may come of it."""
    number = int(rng.integers(len(SETTINGS)))
    schema = program_schema(SETTINGS[number])
    made = Instance(schema, rng).make(schema) | ({"program": pick(rng, PROGRAMS)} if number != 1 else {})
    thought = MARKS[int(rng.integers(len(MARKS)))][0] + _thought(rng, '{"program": "DefectBot"}')
    if rng.random() < 0.2:
        return number, thought, False
    return number, _thinking(rng, '{"program": "DefectBot"}') + mangled(rng, json.dumps(made)), True


def _read_program(given: tuple[int, str, bool]) -> None:
    number, text, is_whole = given
    setting = SETTINGS[number]
    read = read_program(text, setting)
    if read.program is None and not read.losses:
        raise Broken("no program, and no loss")
    if read.program is not None:
        if not is_whole:
            raise Broken(f"{read.program} out of a thought")
        setting.mode().actions(read.program)


def _door(name: str, draw: Callable[..., Any], knock: Callable[..., object], inputs: int) -> Door:
    return Door(name, draw, knock, (), inputs)


DOORS = [
    _door("replies: parse", _case, _read, 100_000),
    _door("replies: behind thinking", _proper, _read_behind, 25_000),
    _door("replies: read_program", _program, _read_program, 25_000),
]
