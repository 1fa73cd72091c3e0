"""The conformance tests that PettingZoo ships, over every press mode, both variants and two maps."""

import functools
import types

import pettingzoo
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.test.state_test import state_test

import welfare_env

# PettingZoo recommends other names and spaces by warning; agents here are named after their powers on purpose.
pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = [
    pytest.param({"press": press, "variant": variant, "map_name": map_name}, id=f"{press}-{variant}-{map_name}")
    for press in (None, "tokens", "text")
    for variant in ("welfare", "standard")
    for map_name in ("standard", "pure")
]
TOY = [
    pytest.param({"press": press, "variant": variant, "map_name": "clique:4"}, id=f"{press}-{variant}-clique")
    for press in ("tokens", "text")
    for variant in ("welfare", "standard")
]
MORE = [
    pytest.param(
        {"rules": welfare_env.Rules(press=press, years=2, **{option: True}), "map_name": "pure"}, id=f"{option}-{press}"
    )
    for option in ("mediator", "transfers", "build_and_disband")
    for press in ("tokens", "text")
]
ALL = [*OPTIONS, *TOY, *MORE]
QUICK = {"None-standard-standard", "text-welfare-clique", "tokens-welfare-clique"}
QUICK |= {"mediator-tokens", "transfers-tokens", "build_and_disband-tokens"}


def some_slow(options):
    """All of them, marked slow unless in `QUICK`, where each value of each option is."""
    return [
        each if each.id in QUICK else pytest.param(*each.values, id=each.id, marks=pytest.mark.slow) for each in options
    ]


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):  # or mode "human" opens a browser
        monkeypatch.delenv(name, raising=False)


def short(options):
    """Two years are enough to meet every kind of phase."""
    return options if "rules" in options else {**options, "years": 2}


@pytest.mark.parametrize("options", some_slow(ALL))
def test_api(options):
    api_test(welfare_env.make(**short(options)), num_cycles=60)


@pytest.mark.parametrize("options", some_slow(ALL))
def test_parallel_api(options):
    parallel_api_test(welfare_env.parallel_env(**short(options)), num_cycles=20)


@pytest.mark.parametrize("options", some_slow(ALL))
def test_seed(options):
    seed_test(functools.partial(welfare_env.make, **short(options)), num_cycles=25)
    parallel_seed_test(functools.partial(welfare_env.parallel_env, **short(options)), num_cycles=2)


@pytest.mark.parametrize("options", some_slow([*OPTIONS, *TOY]))
def test_max_cycles(options):
    made = types.SimpleNamespace(
        env=functools.partial(welfare_env.make, **options),
        parallel_env=functools.partial(welfare_env.parallel_env, **options),
    )
    max_cycles_test(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", some_slow([*OPTIONS[:4], *TOY[:2]])
)  # pictures take a while, and do not depend on the press
def test_render(options):
    render_test(functools.partial(welfare_env.make, **options))


@pytest.mark.parametrize("options", some_slow([*OPTIONS, *TOY]))
def test_state(options):
    state_test(welfare_env.make(**short(options)), welfare_env.parallel_env(**short(options)), num_cycles=5)


def test_registered_with_pettingzoo():
    aec = pettingzoo.make("aec", "WelfareDiplomacy-v0", press=None)
    parallel = pettingzoo.make("parallel", "WelfareDiplomacy-v0", press=None)
    assert aec.possible_agents == parallel.possible_agents == list(welfare_env.load_board().powers)
