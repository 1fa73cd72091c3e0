"""The names of observations and of networks' inputs fit the arrays: in number, and fact by fact."""

from dataclasses import replace

import numpy as np
import pytest

import modal_env
import welfare_env
from agents.rl.feature_names import CANDIDATE, PLACES, feature_names, state_names
from agents.rl.inputs import FEATURES, InputEncoder, order_places
from modal_env.envs import feature_names as modal_names
from welfare_env import Game, Rules, UnknownPowerError, load_board
from welfare_env.engine import WINTER
from welfare_env.envs.feature_names import board_columns, message_columns, message_rows, seats
from welfare_env.envs.observation import observe
from welfare_env.game.press import Message, observe_messages

MAPS = ("standard", "clique:4", "shared-clique:3")
RULES = (
    Rules(press=None),
    Rules(press="tokens", message_rounds=2),
    Rules(press="tokens", message_rounds=1, mediator=True),
    Rules(variant="standard", press=None),
    Rules.published(),
)
BOARD = load_board("standard")
NAMES = board_columns(BOARD, "FRANCE")


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("make", [welfare_env.make, welfare_env.parallel_env])
def test_there_is_a_name_for_each_number_of_an_observation(map_name, rules, make):
    env = make(map_name, rules)
    board, space = load_board(map_name), env.observation_space(load_board(map_name).powers[0])
    names = board_columns(board)
    assert space["observation"].shape == (len(board.provinces), len(names))
    assert len(set(names)) == len(names)
    if rules.has_tokens:
        assert space["messages"].shape == (len(message_rows(board, rules)), len(message_columns(rules)))


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("rules", RULES)
def test_there_is_a_name_for_each_number_of_an_input(map_name, rules):
    env = welfare_env.vector_env(2, map_name, variant=rules.variant)
    env.reset(0)
    reader = InputEncoder(env.board, replace(rules, mediator=False))
    names = feature_names(reader)
    states, powers = env.rows, np.array([0, 1])
    packed = reader.pack(states, powers)
    inputs = reader.read(packed)
    assert inputs.boards.shape[1:] == tuple(map(len, names["boards"]))
    assert packed.shape[1:] == tuple(map(len, names["packed"]))
    assert ("heard" in names) == (inputs.heard is not None)
    if inputs.heard is not None:
        assert inputs.heard.shape[1:] == tuple(map(len, names["heard"]))
    assert (FEATURES,) == tuple(map(len, names["candidates"])) == (len(CANDIDATE),)
    assert order_places(env.board).shape[1:] == tuple(map(len, names["places"])) == (len(PLACES),)


def changed(before, after, province=None):
    """The names of the columns that differ: in one province, or anywhere."""
    rows = slice(None) if province is None else [BOARD.provinces.index(province)]
    return {NAMES[column] for column in np.flatnonzero((before[rows] != after[rows]).any(axis=0))}


def seen(units=None, centers=None, phase="S1901M", **options):
    units = {"FRANCE": ["A PAR"], "ITALY": ["A ROM"]} if units is None else units
    given = {"units": units, "centers": {"FRANCE": ["PAR"], "ITALY": ["ROM"]} if centers is None else centers}
    game = Game.from_position(phase, rules=Rules(press=None, years=10), **given, **options)
    return observe(BOARD, game.position.state, 10, BOARD.power_index["FRANCE"])


BALANCE = {"balance of FRANCE", "balance of ITALY"}


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"units": {"FRANCE": ["F BRE"], "ITALY": ["A ROM"]}}, {"unit of FRANCE", "fleet"}),
        (
            {"units": {"FRANCE": ["A PAR", "F STP/SC"], "ITALY": ["A ROM"]}},
            {"unit of FRANCE", "fleet", "unit on coast 2", "balance of FRANCE"},
        ),
        ({"units": {"FRANCE": ["A PAR"], "ITALY": ["A VEN"]}}, {"unit of ITALY"}),
        (
            {"units": {"FRANCE": ["A PAR"], "TURKEY": ["A ROM"]}},
            {"unit of ITALY", "unit of TURKEY", "balance of ITALY", "balance of TURKEY"},
        ),
        ({"centers": {"FRANCE": ["PAR", "ROM"]}}, {"owned by FRANCE", "owned by ITALY", *BALANCE}),
        ({"welfare": {"ITALY": 7}}, {"welfare of ITALY"}),
        ({"phase": "F1901M"}, {"phase: Spring moves", "phase: Fall moves"}),
        ({"phase": "S1904M"}, {"years left"}),
    ],
)
def test_a_fact_changes_the_columns_of_its_name(facts, names):
    assert changed(seen(), seen(**facts)) == names


def test_what_is_fixed_stands_under_its_name():
    board = seen()
    column = {name: board[:, number] for number, name in enumerate(NAMES)}
    at = BOARD.provinces.index
    assert column["center"][at("PAR")] == column["home of FRANCE"][at("PAR")] == column["land"][at("PAR")] == 1
    assert column["coast"][at("BRE")] == column["sea"][at("ENG")] == column["home of TURKEY"][at("CON")] == 1
    assert column["center"].sum() == 34
    assert column["unit of FRANCE"][at("PAR")] == column["owned by ITALY"][at("ROM")] == 1


def test_what_is_asked_and_ordered_stands_under_its_name():
    game = Game("standard", Rules(press=None))
    state, france, at = game.position.state, BOARD.power_index["FRANCE"], BOARD.provinces.index
    before, numbers = observe(BOARD, state, 10, france), BOARD.orders.index
    for orders, where, names in (
        (["A PAR H"], "PAR", {"own order: hold"}),
        (["A PAR - BUR"], "PAR", {"own order: move"}),
        (["A PAR - BUR"], "BUR", {"own destination"}),
        (["A BUR S A PAR"], "BUR", {"own order: support unit"}),
        (["A MAR S A PAR - BUR"], "MAR", {"own order: support move"}),
        (["A MAR S A PAR - BUR"], "PAR", {"own help"}),
    ):
        after = observe(BOARD, state, 10, france, pending=[numbers[text] for text in orders])
        assert changed(before, after, where) == names
    assert changed(before, observe(BOARD, state, 10, france, asked=at("PAR"))) == {"asked"}
    assert changed(before, observe(BOARD, state, 10, france, asked_messages=True)) == {"message round"}


def test_a_dislodged_unit_stands_under_its_name():
    game = Game.from_position(
        "S1901M",
        units={"FRANCE": ["A BUR", "A RUH"], "ITALY": ["A MUN"]},
        centers={"FRANCE": ["PAR"], "ITALY": ["ROM"]},
    )
    game.submit("FRANCE", ["A BUR - MUN", "A RUH S A BUR - MUN"])
    game.advance()
    for observer, name in (("ITALY", "dislodged unit of self"), ("FRANCE", "dislodged unit of another")):
        board = observe(BOARD, game.position.state, 10, BOARD.power_index[observer])
        column = board[:, board_columns(BOARD, observer).index(name)]
        assert [BOARD.provinces[row] for row in np.flatnonzero(column)] == ["MUN"]


def test_words_stand_under_their_names():
    rules = Rules(press="tokens", message_rounds=2)
    rows, columns = message_rows(BOARD, rules, "FRANCE"), message_columns(rules)
    for sender, recipient, number, row, column in (
        ("ITALY", "FRANCE", 1, "ITALY", "round 1: to observer"),
        ("ITALY", "GLOBAL", 2, "ITALY", "round 2: to all"),
        ("FRANCE", "ITALY", 2, "ITALY", "round 2: from observer"),
    ):
        heard = observe_messages(BOARD, rules, "FRANCE", [Message(sender, recipient, "accept", "S1901M", number)])
        assert [tuple(place) for place in np.argwhere(heard).tolist()] == [(rows.index(row), columns.index(column))]


def test_numbers_of_a_state_stand_under_their_names():
    game = Game.from_position(
        "F1903M",
        units={"ITALY": ["A ROM"]},
        centers={"ITALY": ["ROM"]},
        welfare={"ITALY": 7},
    )
    state = dict(zip(state_names(BOARD), game.position.state.row.tolist(), strict=True))
    italy = BOARD.power_index["ITALY"]
    assert (state["year"], state["units"], state["unit 0: power"], state["welfare of ITALY"]) == (2, 1, italy, 7)
    assert (state["owner of ROM"], state["owner of PAR"]) == (italy, -1)
    assert BOARD.pieces[state["unit 0: piece"]] == "A ROM"
    assert state["phase"] != WINTER


@pytest.mark.parametrize("actions", ["library", "formula", "tokens"])
@pytest.mark.parametrize("players", [2, 4])
def test_there_is_a_name_for_each_number_of_modal_combat(actions, players):
    env = modal_env.make(actions=actions, players=players)
    setting = env.unwrapped.setting
    shape = env.observation_space("player_0")["observation"].shape
    assert shape == (len(modal_names.rows(setting)), len(modal_names.columns(setting)))


def test_an_unknown_observer_is_told():
    with pytest.raises(UnknownPowerError, match="FRANCE"):
        seats(BOARD, "FRANC")
