"""An option of the rules given elsewhere: the error shows where it goes. And what `print` shows of a game."""

import pytest

import evaluation
import welfare_env


def test_an_option_of_the_rules_is_shown_its_place():
    told = r"it is an option of the rules: give rules=welfare_env\.Rules\(years=\.\.\.\)"
    with pytest.raises(TypeError, match=r"Game\.__init__\(\) got an unexpected keyword argument 'years': " + told):
        welfare_env.Game(years=2)
    with pytest.raises(TypeError, match=told):
        evaluation.self_play("hold", years=2)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'press'.*Rules\(press="):
        evaluation.exploitability("hold", press=None)


def test_other_options_are_listed():
    with pytest.raises(TypeError, match=r"'mapname' \(did you mean 'map_name'\?\): it takes map_name, rules, engine$"):
        welfare_env.Game(mapname="pure")
    with pytest.raises(TypeError, match=r"'year' \(did you mean 'years'\?\): it takes map_name"):
        welfare_env.make(year=2)


def test_a_printed_game_shows_the_position_and_the_last_orders():
    game = welfare_env.Game("clique:3", rules=welfare_env.Rules(years=1, press=None))
    game.submit("PLAYERA", ["A HAX - CAX"])
    game.advance()
    shown = str(game)
    assert shown.startswith("F1901M on clique:3, welfare rules\n")
    assert "PLAYERA: A HAX - CAX" in shown
    assert all(unit in shown for units in game.units.values() for unit in units)
    assert repr(game) == "<Game on clique:3 in F1901M>"
