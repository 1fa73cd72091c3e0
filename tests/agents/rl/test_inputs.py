"""What networks read, against the views that people and scripted players read."""

from __future__ import annotations

import numpy as np
import pytest

import welfare_env
from agents.rl.inputs import FEATURES, InputEncoder, coordinate, order_places
from welfare_env.board.orders import WAIVE
from welfare_env.engine import WINTER, State, layout_of
from welfare_env.engine.fast import FastEngine
from welfare_env.game.position import Position

MAPS = ("standard", "clique:4", "shared-clique:3")


def positions(map_name, variant, steps, games=6, seed=0):
    """Random positions, step by step: (vector_env, reader)."""
    env = welfare_env.vector_env(games, map_name, variant=variant, years=4)
    env.reset(seed)
    reader = InputEncoder(env.board, env.rules)
    for _ in range(steps):
        yield env, reader
        env.step(env.sample())


def all_decisions(env):
    pairs = np.unique(np.stack([env.legal.games, env.legal.powers], axis=1), axis=0).astype(np.int64)
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("variant", ["welfare", "standard"])
def test_candidates_are_the_legal_orders_of_the_view(map_name, variant):
    for env, reader in positions(map_name, variant, steps=14):
        games, powers = all_decisions(env)
        inputs = reader.select(env.rows, env.legal, games, powers)
        engine, texts = FastEngine(env.board, env.rules), env.board.orders.texts
        for number, (game, power) in enumerate(zip(games, powers, strict=True)):
            position = Position(engine, State(layout_of(env.board), env.rows[game].copy()))
            wanted = list(position.legal_orders(env.board.powers[power]).values())
            rows = range(inputs.first_rows[number], inputs.first_rows[number + 1])
            found = [inputs.orders[inputs.starts[row] : inputs.starts[row + 1]].tolist() for row in rows]
            if position.state.phase == WINTER:
                assert all(row[0] == WAIVE for row in found)
                found = [row[1:] for row in found]
            assert [tuple(texts[order] for order in row) for row in found] == wanted


@pytest.mark.parametrize("map_name", MAPS)
def test_packed_observations_say_as_much_as_the_games(map_name):
    for env, reader in positions(map_name, "welfare", steps=8):
        games, powers = all_decisions(env)
        direct = reader.select(env.rows, env.legal, games, powers)
        packed = reader.read(reader.pack(env.rows[games], powers))
        for one, other in ((direct.states, packed.states), (direct.positions, packed.positions)):
            assert np.array_equal(one[direct.position_of], other[packed.position_of])
        for name in ("powers", "boards", "first_rows", "starts", "orders", "provinces"):
            assert np.array_equal(getattr(direct, name), getattr(packed, name)), name
        same = direct.boards.shape[2] - len(env.board.powers)  # all of the earlier form but welfare
        assert np.array_equal(direct.boards[..., :same], env.observe(games, powers)[..., :same])


def test_order_places_are_what_the_texts_name(standard):
    places, names = order_places(standard), standard.provinces
    for text, (kind, source, target, helped) in zip(standard.orders.texts, places.tolist(), strict=True):
        words = text.split()
        if len(words) < 3:
            continue
        fleet, coast = words[0] == "F", 0
        assert kind // 3 % 2 == fleet
        assert names[source] == words[1][:3]
        if words[2] in "SC":
            assert names[helped] == words[4][:3]
            assert names[target] == (words[6] if len(words) > 5 else words[4])[:3]
            coast = None if len(words) < 6 else words[6]
        else:
            assert helped == -1
            assert names[target] == (words[3] if words[2] in "-R" else words[1])[:3]
            coast = {"-": words[-1], "R": words[-1], "B": words[1]}.get(words[2])
        if coast and "/" in coast:
            assert kind % 3 in (1, 2)
        elif coast and coast != "VIA":
            assert kind % 3 == 0
    kinds = {text: int(kind) for text, kind in zip(standard.orders.texts, places[:, 0], strict=True)}
    assert kinds["F BOT - STP/SC"] != kinds["F BAR - STP/NC"]


def told(text, earlier):
    """The features of an order in words, given the orders before it: from the definition in `coordinate`."""

    def parts(order):
        words = order.split()
        province = words[1][:3]
        if words[2] in "SC":
            return province, None, (words[4][:3], (words[6] if len(words) > 5 else words[4])[:3])
        return province, None if words[2] == "D" else (words[3] if words[2] in "-R" else words[1])[:3], None

    source, goes, helps = parts(text)
    before = [parts(order) for order in earlier]
    going = {place: place if help_ else end for place, end, help_ in before}
    helping = {help_[0]: help_[1] for _, _, help_ in before if help_}
    if helps:
        unit, end = helps
        return [0, 0, 0, going.get(unit) == end, unit in going and going[unit] not in (end, None)]
    if goes is None:
        return [0] * FEATURES
    moves = text.split()[2] != "H"
    others = [(place, end) for place, end in going.items() if end == goes]
    return [
        moves and any(place != end for place, end in others),
        moves and any(place == end for place, end in others),
        helping.get(source) == goes,
        0,
        0,
    ]


def test_coordination_features_are_those_of_the_orders_in_words():
    rng, seen = np.random.default_rng(0), np.zeros(FEATURES)
    for env, reader in positions("standard", "welfare", steps=16, games=8):
        games, powers = all_decisions(env)
        inputs = reader.select(env.rows, env.legal, games, powers)
        answers = rng.integers(np.diff(inputs.starts))
        features = np.zeros((len(inputs.orders), FEATURES), np.float32)
        going, helping = (np.full((len(inputs), len(env.board.provinces)), -1, np.int64) for _ in range(2))
        for step in range(int(np.diff(inputs.first_rows).max())):
            coordinate(
                step,
                order_places(env.board),
                inputs.starts,
                inputs.orders,
                inputs.first_rows,
                answers,
                going,
                helping,
                features,
            )
        texts, chosen = env.board.orders.texts, reader.choices(inputs, answers)
        for number in range(len(inputs)):
            for row in range(inputs.first_rows[number], inputs.first_rows[number + 1]):
                earlier = [texts[order] for order in chosen[inputs.first_rows[number] : row] if order != WAIVE]
                for candidate in range(inputs.starts[row], inputs.starts[row + 1]):
                    order = inputs.orders[candidate]
                    wanted = [0] * FEATURES if order == WAIVE else told(texts[order], earlier)
                    assert features[candidate].tolist() == [float(value) for value in wanted], (texts[order], earlier)
        seen += features.sum(axis=0)
    assert (seen > 0).all()
