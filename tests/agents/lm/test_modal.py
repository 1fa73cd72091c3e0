"""Programs for modal combat: the prompt, the schema, and what replies mean."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modal_env
from agents.lm.player.programs import program_prompt, program_schema, read_program
from modal_env import FairBot
from modal_env.envs.action_modes import find

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "prompts"
PROGRAMS: dict[str, list[Any]] = {"formula": ["[]X(me)", "[]X(PrudentBot)"], "library": [2, 3]}


def info_of(actions: str, played: int = 1, **setting: Any) -> dict[str, Any]:
    """What player_0 is told after some rounds."""
    env = modal_env.make(epsilon=0.1, actions=actions, rounds=3, **setting)
    env.reset(seed=0)
    for _ in range(played):
        for number in range(len(env.possible_agents)):
            env.step(PROGRAMS[actions][number % 2])
    return env.infos["player_0"]


def setting_of(actions: str, **setting: Any) -> Any:
    return info_of(actions, 0, **setting)["setting"]


@pytest.mark.parametrize("actions", PROGRAMS)
def test_golden_prompt(actions: str, request: pytest.FixtureRequest) -> None:
    prompt, path = program_prompt("player_0", info_of(actions)), GOLDEN / f"modal-{actions}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(prompt.text, encoding="utf-8")
    assert prompt.text.split("\n") == path.read_text(encoding="utf-8").split("\n")


def test_a_prompt_begins_as_the_one_before() -> None:
    prompts = [program_prompt("player_0", info_of("formula", played)) for played in range(3)]
    for before, after in pairwise(prompts):
        assert after.system == before.system
        earlier = [block.text for block in before.user[:-1]]
        assert [block.text for block in after.user[: len(earlier)]] == earlier
        assert len(after.user) == len(before.user) + 1


@pytest.mark.parametrize(
    ("actions", "program"),
    [
        ("formula", "[]X(me)"),
        ("library", "FairBot"),
        ("tokens", "[]X(me)"),
    ],
)
def test_programs_that_are_read(actions: str, program: str) -> None:
    setting = setting_of(actions)
    reply = read_program(f"It is ```json\n{{'program': '{program}',}}\n```", setting)
    assert reply.program == FairBot
    assert [issue.kind for issue in reply.issues] == ["prose", "repaired"]
    assert setting.mode().actions(reply.program)


@pytest.mark.parametrize(
    ("actions", "text", "kinds"),
    [
        ("formula", '{"program": "X(me)"}', ["program"]),
        ("formula", '{"program": "[]X(m', ["truncated", "program"]),
        ("formula", "[]X(me)", ["no object"]),
        ("library", '{"program": "JustBot"}', ["program"]),
        (
            "tokens",
            '{"program": "[](X(me) & X(me) & X(me) & X(me) & X(me) & X(me) & X(me) & X(me) & X(me))"}',
            ["program"],
        ),
    ],
)
def test_programs_that_are_lost(actions: str, text: str, kinds: list[str]) -> None:
    reply = read_program(text, setting_of(actions))
    assert reply.program is None
    assert [issue.kind for issue in reply.issues] == kinds


def test_the_schema_of_a_library_has_its_names() -> None:
    assert program_schema(setting_of("library"))["properties"]["program"]["enum"] == [
        agent.name for agent in modal_env.envs.setting.POST
    ]
    assert "enum" not in program_schema(setting_of("formula"))["properties"]["program"]


@given(st.text(alphabet='{}[]":,\\XmeprogmTF()~&|-> '))
@settings(max_examples=30)
def test_any_text_is_read(text: str) -> None:
    setting = setting_of("formula")
    for reply in (read_program(text, setting), read_program(f'{{"program": "{text}"}}', setting)):
        assert reply.program is None or find(reply.program.text, reply.program.helpers) == reply.program
        assert reply.program is not None or reply.issues
