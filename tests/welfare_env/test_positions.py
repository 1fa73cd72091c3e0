"""Games from a position by hand, and the arguments of games and environments."""

import json
import re
from collections.abc import Callable

import numpy as np
import pytest

import welfare_env
from welfare_env import (
    Game,
    PositionError,
    Rules,
    RulesError,
    UnknownMapError,
    UnknownPowerError,
    WelfareEnvError,
)


class TestFromPosition:
    @pytest.mark.parametrize(
        ("changed", "error", "told"),
        [
            ({"phase": "S1900M"}, PositionError, "from 1901 to 1910"),
            ({"phase": "S1911M"}, PositionError, "from 1901 to 1910"),
            ({"phase": "S1901A"}, PositionError, "M, R or A"),
            ({"phase": "W1901M"}, PositionError, "M, R or A"),
            ({"phase": "SPRING"}, PositionError, "M, R or A"),
            ({"phase": "S-5M"}, PositionError, "M, R or A"),
            ({"phase": "S²M"}, PositionError, "M, R or A"),
            ({"phase": "SM"}, PositionError, "M, R or A"),
            ({"phase": ""}, PositionError, "M, R or A"),
            ({"phase": None}, PositionError, "M, R or A"),
            ({"phase": f"S{'1' * 5000}M"}, PositionError, "M, R or A"),
            ({"phase": "S1901R"}, PositionError, "retreat phases, and only there"),
            ({"units": None}, PositionError, "give a dict"),
            ({"units": ["A PAR"]}, PositionError, "give a dict"),
            ({"units": {"FRANCE": None}}, PositionError, "give a list of strings"),
            ({"units": {"FRANCE": "A PAR"}}, PositionError, "give a list of strings"),
            ({"units": {"FRANCE": [5]}}, PositionError, "give a list of strings"),
            ({"units": {"FRANCE": [["A PAR"]]}}, PositionError, "give a list of strings"),
            ({"units": {"FRANCE": ["F PAR"]}}, PositionError, "cannot stand on map 'standard'; possible: A PAR"),
            ({"units": {"FRANCE": ["F SPA"]}}, PositionError, "possible: A SPA, F SPA/NC, F SPA/SC"),
            ({"units": {"FRANCE": ["A XYZ"]}}, PositionError, "'A XYZ' cannot stand"),
            ({"units": {"FRANCE": ["*A PAR"]}}, PositionError, "'*A PAR' cannot stand"),
            ({"units": {"FRANCE": ["A PAR", "A PAR"]}}, PositionError, "in one province"),
            ({"units": {"FRANCE": ["A SPA"], "ITALY": ["F SPA/NC"]}}, PositionError, "in one province"),
            ({"units": {"NOBODY": ["A PAR"]}}, UnknownPowerError, "choose one of AUSTRIA"),
            ({"units": {5: ["A PAR"]}}, UnknownPowerError, "choose one of AUSTRIA"),
            ({"centers": {"FRANCE": ["BUR"]}}, PositionError, "'BUR' is not a supply center"),
            ({"centers": {"FRANCE": [["PAR"]]}}, PositionError, "give a list of strings"),
            ({"centers": {"FRANCE": ["PAR"], "ITALY": ["PAR"]}}, PositionError, "two owners"),
            ({"centers": {"NOBODY": ["PAR"]}}, UnknownPowerError, "choose one of AUSTRIA"),
            ({"welfare": {"FRANCE": 1.5}}, PositionError, "whole number"),
            ({"welfare": {"FRANCE": "1"}}, PositionError, "whole number"),
            ({"welfare": {"FRANCE": True}}, PositionError, "whole number"),
            ({"welfare": {"FRANCE": 2**31 - 1}}, PositionError, "whole number"),
            ({"welfare": {"FRANCE": -(10**20)}}, PositionError, "whole number"),
            ({"welfare": [1]}, PositionError, "give a dict"),
            ({"welfare": {"NOBODY": 1}}, UnknownPowerError, "choose one of AUSTRIA"),
            ({"dislodged": {"FRANCE": {"A BUR": ["PAR"]}}}, PositionError, "only there"),
            ({"phase": "S1901R", "dislodged": {"FRANCE": ["A BUR"]}}, PositionError, "give a dict"),
            ({"phase": "S1901R", "dislodged": {"FRANCE": {"A BUR": None}}}, PositionError, "give a list of strings"),
            ({"phase": "S1901R", "dislodged": {"FRANCE": {"A BUR": ["LON"]}}}, PositionError, "it borders BEL"),
            ({"phase": "S1901R", "dislodged": {"FRANCE": {"F BUR": []}}}, PositionError, "'F BUR' cannot stand"),
            ({"rules": "welfare"}, (RulesError, TypeError), "Rules"),
            ({"map_name": "atlantis"}, UnknownMapError, "standard"),
            ({"engine": "quantum"}, RulesError, "reference"),
            ({"engine": []}, RulesError, "reference"),
        ],
        ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
    )
    def test_faults_are_named(self, changed: dict, error: type[Exception], told: str) -> None:
        right = {"phase": "S1901M", "units": {"FRANCE": ["A PAR"]}, "centers": {"FRANCE": ["PAR"]}}
        with pytest.raises(error, match=re.escape(told)) as raised:
            Game.from_position(**right | changed)
        assert isinstance(raised.value, WelfareEnvError)

    @pytest.mark.parametrize("phase", ["S1901M", "F1903M", "W1910A"])
    def test_what_was_given_is_there(self, phase: str) -> None:
        units = {"FRANCE": ("A PAR", "F SPA/SC"), "TURKEY": ("A CON",)}
        game = Game.from_position(phase, units, {"FRANCE": ["PAR", "SPA"]}, welfare={"ITALY": -3})
        none: dict[str, tuple] = dict.fromkeys(game.powers, ())
        assert (game.phase, game.units) == (phase, none | units)
        assert {power: set(centers) for power, centers in game.centers.items() if centers} == {"FRANCE": {"PAR", "SPA"}}
        assert game.welfare == dict.fromkeys(game.powers, 0) | {"ITALY": -3}

    def test_it_goes_on_from_there(self) -> None:
        game = Game.from_position("W1909A", {}, {"FRANCE": ["PAR"]}, welfare={"FRANCE": 7})
        phases = []
        while not game.is_done:
            game.advance()
            phases.append(game.phase)
        assert (phases, game.welfare["FRANCE"]) == (["S1910M", "F1910M", "W1910A", "COMPLETED"], 9)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"map_name": "atlantis"}, UnknownMapError),
            ({"map_name": ""}, UnknownMapError),
            ({"map_name": None}, UnknownMapError),
            ({"map_name": ["standard"]}, UnknownMapError),
            ({"engine": "quantum"}, RulesError),
            ({"rules": {"years": 3}}, RulesError),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("make", [Game, welfare_env.make, welfare_env.parallel_env], ids=lambda make: make.__name__)
    def test_wrong_ones_are_named(self, make: Callable, arguments: dict, error: type[Exception]) -> None:
        with pytest.raises(error) as raised:
            make(**arguments)
        assert repr(next(iter(arguments.values()))) in str(raised.value)

    def test_two_games_share_nothing(self) -> None:
        one, other = Game(), Game()
        one.submit("FRANCE", ["A PAR - BUR"])
        one.send("FRANCE", "GLOBAL", "Hello")
        one.advance()
        assert other.record() == Game().record()

    def test_random_play_never_breaks_the_record(self, engine: str, play_on: Callable[..., Game]) -> None:
        game = play_on(Game("pure", Rules(years=2), engine), np.random.default_rng(0))
        assert json.loads(json.dumps(game.record())) == game.record()
