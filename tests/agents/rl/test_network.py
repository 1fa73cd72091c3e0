"""The network: its two ways to look at a decision agree; and what it reads, against the views of people."""

import numpy as np
import pytest
import torch

import welfare_env
from agents.rl.inputs import InputEncoder
from agents.rl.network import BoardNetwork, ByPowerNetwork, Size, row_statistics
from tests.agents.rl import conftest
from tests.agents.rl.conftest import decisions
from welfare_env.board.orders import WAIVE
from welfare_env.engine import WINTER, State, layout_of
from welfare_env.engine.fast import FastEngine
from welfare_env.game.position import Position


def batch(map_name="standard", variant="welfare", steps=9, games=12):
    """Decisions of random positions: (board, reader, inputs)."""
    env = welfare_env.vector_env(games, map_name, variant=variant, years=4)
    env.reset(1)
    for _ in range(steps):
        env.step(env.sample())
    reader = InputEncoder(env.board, env.rules)
    return env.board, reader, reader.select(env.rows, env.legal, *decisions(env))


def network(board, kind=BoardNetwork):
    return conftest.network(board, Size(16, 2), kind=kind)


@pytest.mark.parametrize("kind", [BoardNetwork, ByPowerNetwork])
@pytest.mark.parametrize(("map_name", "steps"), [("standard", 0), ("standard", 5), ("clique:4", 2)])
def test_judging_an_answer_gives_the_probability_it_was_drawn_with(map_name, steps, kind):
    board, _, inputs = batch(map_name, steps=steps)
    net = network(board, kind=kind)
    answers, logps, values = net.answer(inputs, np.random.default_rng(0).random(len(inputs.provinces)))
    judged = net.judge(inputs, answers)
    assert torch.allclose(judged.logp, torch.from_numpy(logps), atol=1e-4)
    assert torch.allclose(judged.values, torch.from_numpy(values), atol=1e-5)
    assert (judged.entropy >= -1e-5).all()
    assert (answers < np.diff(inputs.starts)).all()


def test_a_decision_does_not_depend_on_the_others_in_its_batch():
    board, reader, inputs = batch()
    net, chances = network(board), np.random.default_rng(0).random(len(inputs.provinces))
    together, logps, values = net.answer(inputs, chances)
    packed = reader.pack(inputs.states[inputs.position_of], inputs.powers)
    for number in range(0, len(inputs), 7):
        rows = slice(inputs.first_rows[number], inputs.first_rows[number + 1])
        answers, logp, value = net.answer(reader.read(packed[number : number + 1]), chances[rows])
        assert np.array_equal(answers, together[rows])
        assert np.allclose(logp, logps[rows], atol=1e-4)
        assert np.allclose(value, values[number], atol=1e-5)


def test_a_position_is_encoded_once_for_all_powers_and_games_in_it():
    _, reader, inputs = batch(steps=0)
    stored = reader.read(reader.pack(inputs.states[inputs.position_of], inputs.powers))
    assert (len(inputs.states), len(stored.states), len(stored)) == (12, 1, 84)


@pytest.mark.parametrize("kind", [BoardNetwork, ByPowerNetwork])
def test_without_the_weights_of_points_it_plays_by_the_position(kind):
    board, reader, inputs = batch("clique:4", steps=9)
    net, blind = network(board, kind=kind), InputEncoder(board, reader.rules, sees_points=False)
    packed = reader.pack(inputs.states[inputs.position_of], inputs.powers)
    assert net.reads_points
    assert not torch.equal(net.values(reader.read(packed)), net.values(blind.read(packed)))
    net.forget_points()
    assert not net.reads_points
    assert torch.equal(net.values(reader.read(packed)), net.values(blind.read(packed)))


def test_every_weight_learns():
    board, _, inputs = batch()
    net = network(board)
    judged = net.judge(inputs, net.answer(inputs, np.random.default_rng(0).random(len(inputs.provinces)))[0])
    (judged.logp.sum() + judged.values.sum() + judged.entropy.sum()).backward()
    for name, weight in net.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().sum() > 0, name


def test_later_units_hear_of_earlier_orders():
    board, _, inputs = batch("standard", steps=0, games=1)
    net = network(board)
    assert np.diff(inputs.first_rows).min() >= 3
    one = np.zeros(len(inputs.provinces), np.int64)
    other = one.copy()
    other[0] = 1  # the first unit of the first power
    before, after = net.judge(inputs, one).logp, net.judge(inputs, other).logp
    change = (before - after).abs().detach().numpy()
    assert (change[:3] > 1e-3).all()
    assert (change[3:] < 1e-5).all()  # sums over the batch round differently


def test_row_statistics_are_those_of_torch():
    rng = torch.Generator().manual_seed(0)
    lengths = [1, 5, 2, 9]
    logits = torch.randn(sum(lengths), generator=rng) * 10
    row_of = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))
    logp, entropy = row_statistics(logits, row_of, 4)
    for row, part in enumerate(logits.split(lengths)):
        wanted = torch.distributions.Categorical(logits=part)
        assert torch.allclose(logp[row_of == row], wanted.logits, atol=1e-5)
        assert torch.allclose(entropy[row], wanted.entropy(), atol=1e-5)


def positions(map_name, variant, steps, games=6, seed=0):
    """Random positions, step by step: (vector_env, reader)."""
    env = welfare_env.vector_env(games, map_name, variant=variant, years=4)
    env.reset(seed)
    reader = InputEncoder(env.board, env.rules)
    for _ in range(steps):
        yield env, reader
        env.step(env.sample())


@pytest.mark.parametrize(("map_name", "variant"), [("standard", "welfare"), ("clique:4", "standard")])
def test_candidates_are_the_legal_orders_of_the_view(map_name, variant):
    for env, reader in positions(map_name, variant, steps=14):
        games, powers = decisions(env)
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


@pytest.mark.parametrize("map_name", ["standard", "shared-clique:3"])
def test_packed_observations_say_as_much_as_the_games(map_name):
    for env, reader in positions(map_name, "welfare", steps=8):
        games, powers = decisions(env)
        direct = reader.select(env.rows, env.legal, games, powers)
        packed = reader.read(reader.pack(env.rows[games], powers))
        for one, other in ((direct.states, packed.states), (direct.positions, packed.positions)):
            assert np.array_equal(one[direct.position_of], other[packed.position_of])
        for name in ("powers", "boards", "first_rows", "starts", "orders", "provinces"):
            assert np.array_equal(getattr(direct, name), getattr(packed, name)), name
        same = direct.boards.shape[2] - len(env.board.powers)  # all of the earlier form but welfare
        assert np.array_equal(direct.boards[..., :same], env.observe(games, powers)[..., :same])
