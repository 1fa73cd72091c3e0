"""A language model that cannot be asked: the commands say so before its costs, and before a game."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.lm.models.remote import REMOTE
from evaluation import GameSpec
from evaluation.cli.commands import app
from welfare_env.extras import install_extra

OPTIONS = ("--games", "1", "--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1")
SDKS = {name: REMOTE[name] for name in ("openai", "anthropic")}
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command in a folder of its own, without keys: exit code and stderr."""
    monkeypatch.chdir(tmp_path)
    for kind in SDKS.values():
        monkeypatch.delenv(kind.key_variable, raising=False)
        monkeypatch.delenv(kind.url_variable, raising=False)

    def run(*words: str) -> tuple[int, str]:
        outcome = CliRunner().invoke(app, [*words])
        return outcome.exit_code, outcome.stderr

    return run


@pytest.fixture(params=SDKS)
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model whose SDK is not installed."""
    monkeypatch.setenv(SDKS[request.param].key_variable, "key")
    monkeypatch.setitem(sys.modules, request.param, None)
    return f"{request.param}/any"


def test_a_missing_extra_comes_before_the_costs(call: Call, missing: str, played: list[GameSpec]) -> None:
    for command in (("self-play", f"lm:{missing}"), ("exploitability", "hold", "--deviator", f"lm:{missing}")):
        code, told = call(*command, *OPTIONS)
        assert (code, played) == (2, [])
        (line,) = [line for line in told.splitlines() if "no price is known" not in line]
        assert line.startswith(f"error: {missing}: ")
        assert line.endswith(f"; it needs {install_extra('lm')}")


def test_so_does_a_missing_key(call: Call, played: list[GameSpec]) -> None:
    code, told = call("self-play", "2*hold + 1*lm:openai/any", *OPTIONS)
    assert (code, played) == (2, [])
    assert "before the first" not in told
    assert "error: openai/any: the environment variable OPENAI_API_KEY holds no key" in told


def test_an_experiment_and_a_game_to_play_say_it_first_too(call: Call, missing: str, played: list[GameSpec]) -> None:
    for command in (
        ("experiment", "self-play", "--profile", f"lm:{missing}", "--games", "1"),
        ("play", "FRANCE", "--others", f"lm:{missing}", "--terminal", "--budget-tokens", "9"),
    ):
        code, told = call(*command)
        assert (code, played) == (2, [])
        assert "it needs the extra lm" in told
        assert "before the first" not in told


@pytest.mark.slow
def test_stored_games_are_used_without_the_extra(
    call: Call, monkeypatch: pytest.MonkeyPatch, played: list[GameSpec]
) -> None:
    """Their names are those of a real provider, their replies a stub's."""
    monkeypatch.setitem(sys.modules, "openai", None)
    stored = "lm:scripted/pacifist"
    assert call("self-play", stored, *OPTIONS, "--lm-cache", "elsewhere.sqlite")[0] == 0
    count = len(played)
    code, told = call("self-play", stored, "lm:openai/any", *OPTIONS)
    assert (code, len(played) - count) == (2, 1)
    assert "; it needs the extra lm" in told
    assert "Until then, only stored games and cached replies are used" in told
    assert "before the first" not in told
