"""Players of a point of the frontier: they follow its path, and punish together, by lot, who left it."""

import copy
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import agents
import welfare_env
from agents.toy_boards.punishing import punishing_orders
from evaluation.exact import CertificateError, DrawnCertificate, FrontierPoint
from evaluation.exact.drawn.certificates import OTHERS, UNIT
from welfare_env import Game, Rules, load_board

A, B, C = "PLAYERA", "PLAYERB", "PLAYERC"
RULES = Rules(press=None, years=2)
PATH = (("F1901M", ("A HAX - CAX", "A HBX - CBX", "A HCX - CCX")),)
MIX = [(UNIT // 4, ["A HBX - CBX", "A HCX - CCX"]), (3 * UNIT // 4, ["A HBX H", "A HCX H"])]


def begun(orders):
    """A game on clique:3 after the first phase."""
    game = Game("clique:3", RULES)
    for power, given in orders.items():
        game.submit(power, given)
    game.advance()
    return game


def certificate(deviator, mix=()):
    """It lists one position, that in which PLAYERA has entered its core at once; it proves nothing."""
    board = load_board("clique:3")
    orders = np.full((len(mix), 2), -1, np.int32)
    for row, (_, texts) in zip(orders, mix, strict=True):
        row[: len(texts)] = [board.orders.index[text] for text in texts]
    count = min(len(mix), 1)
    row = begun({A: ["A HAX - CAX"]}).position.state.row
    return DrawnCertificate(
        *("clique:3", 2, deviator, PATH, 4, 4 * UNIT, 4 * UNIT),
        np.array([row] * count, np.int32).reshape(-1, len(row)),
        *(np.full(count, 2, np.int16), np.zeros(count, np.int64), np.zeros(count, np.int64)),
        *(np.zeros(len(mix), np.int32), np.full(len(mix), OTHERS, np.int8)),
        *(np.array([weight for weight, _ in mix], np.int64), orders),
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    certificates = certificate(A, MIX), certificate(B), certificate(C)
    path = tmp_path_factory.mktemp("points") / "point.npz"
    FrontierPoint("clique:3", 2, Fraction(1, 2), (4, 4, 4), PATH, certificates).save(path)
    return path


def test_a_file_that_changes_changes_players_made_later(tmp_path):
    """Stored games are keyed by the file's content, so players follow what they were made with."""
    path = tmp_path / "point.npz"
    for texts in (PATH, (("F1901M", ("A HAX - CAX",)),)):
        made = [replace(certificate(who), path=texts) for who in (A, B, C)]
        FrontierPoint("clique:3", 2, Fraction(0), (4, 4, 4), texts, tuple(made)).save(path)
        if texts is PATH:
            before = agents.make(f"frontier:point={path}")
    after = agents.make(f"frontier:point={path}")
    view = Game("clique:3", RULES)
    view.advance()
    orders = []
    for policy in (before, copy.deepcopy(before), after):
        policy.reset(B, 0)
        orders.append(policy.orders(view.view(B)))
    assert orders == [["A HBX - CBX"], ["A HBX - CBX"], []]


def ordered(file, game, powers=(A, B, C), seed=0, secret=0):
    """What new players order in a game."""
    found = {}
    for power in powers:
        policy = agents.make(f"frontier:point={file},secret={secret}")
        policy.reset(power, seed)
        found[power] = policy.act(None, {"view": game.view(power)})
    return found


def test_the_path_is_followed(file):
    game = begun({})
    assert ordered(file, game) == {A: ["A HAX - CAX"], B: ["A HBX - CBX"], C: ["A HCX - CCX"]}


def test_punishers_draw_together(file):
    """Both give their part of the same plan, as often as the mix says; the deviator nothing."""
    game = begun({A: ["A HAX - CAX"]})
    drawn = [ordered(file, game, seed=seed) for seed in range(100)]
    plans = Counter(tuple(each[B] + each[C]) for each in drawn)
    assert set(plans) == {tuple(texts) for _, texts in MIX}
    assert 12 <= plans[tuple(MIX[0][1])] <= 38  # 25 expected, standard deviation 4.3
    assert all(each[A] == [] for each in drawn)


def test_draws_follow_from_seed_and_secret(file):
    game = begun({A: ["A HAX - CAX"]})
    drawn = [[ordered(file, game, (B,), seed, secret)[B] for seed in range(30)] for secret in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_elsewhere_the_stated_punishers_play(file):
    game = begun({B: ["A HBX - CBX"]})  # the certificate against PLAYERB lists nothing
    stated = punishing_orders(game.board, game.position.state, B)
    assert ordered(file, game) == {A: stated[A], B: [], C: stated[C]}


def test_of_two_the_first_has_left(file):
    game = begun({B: ["A HBX - CBX"], C: ["A HCX - CCX"]})
    assert ordered(file, game) == {B: [], **punishing_orders(game.board, game.position.state, B)}


def test_who_comes_back_to_the_path_is_punished_still(file):
    """In Fall PLAYERA enters its core a second time, as the others do: the board is the path's again."""
    game = Game("clique:3", RULES)
    policies = {power: agents.make(f"frontier:point={file}") for power in (A, B, C)}
    for power, policy in policies.items():
        policy.reset(power)
    for orders in ({A: ["A HAX - CAX"]}, {A: ["A CAX H"], B: ["A HBX - CBX"], C: ["A HCX - CCX"]}):
        for power, policy in policies.items():
            policy.act(None, {"view": game.view(power)})
            game.submit(power, orders.get(power, []))
        game.advance()
    state = game.position.state
    assert policies[B].orders(game.view(B)) == punishing_orders(game.board, state, A)[B]
    assert policies[B]._accused == A
    assert ordered(file, game, (B,))[B] == policies[B].orders(game.view(B))  # who only reads the history agrees


def test_a_game_that_begins_elsewhere_is_not_played(file):
    game = Game.from_position("F1901M", {A: ["A CAX"]}, {A: ["HAX"]}, map_name="clique:3", rules=RULES)
    assert ordered(file, game, (A,)) == {A: []}


def test_the_file_holds_the_point(file, tmp_path):
    point = FrontierPoint.load(file)
    assert (point.points, point.path, point.epsilon, point.gain) == ((4, 4, 4), PATH, Fraction(1, 2), 0)
    assert [each.deviator for each in point.certificates] == [A, B, C]
    assert np.array_equal(point.certificates[0].weights, [UNIT // 4, 3 * UNIT // 4])
    point.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()
    assert point.file_name == "clique-3-years-2-epsilon-1-2.npz"


def test_other_files_games_and_options_are_refused(file, tmp_path):
    certificate(A, MIX).save(tmp_path / "certificate.npz")
    (tmp_path / "text.npz").write_bytes(b"no point")
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(welfare_env.UnknownAgentError, match="a pipe or a device"):
        agents.make(f"frontier:point={tmp_path / 'pipe.npz'}")
    for name in ("certificate.npz", "text.npz", "none.npz"):
        with pytest.raises(welfare_env.UnknownAgentError, match=r"no point of the frontier|No such file"):
            agents.make(f"frontier:point={tmp_path / name}")
        with pytest.raises(CertificateError, match="no point of the frontier"):
            FrontierPoint.load(tmp_path / name)
    for spec in ("frontier", f"frontier:point={file},secret=x", f"frontier:point={file},years=2"):
        with pytest.raises(welfare_env.UnknownAgentError):
            agents.make(spec)
    policy = agents.make(f"frontier:point={file}")
    policy.reset(A)
    with pytest.raises(ValueError, match="of a game of 2 years on clique:3"):
        policy.act(None, {"view": Game("clique:3", Rules(press=None, years=3)).view(A)})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("orders_0", 10**6),
        ("plan_rows_0", 1),
        ("weights_0", 0),
        ("years_left_0", 0),
        ("rows_0", None),
        ("weights_0", None),
    ],
)
def test_damaged_files_are_refused(file, tmp_path, name, value):
    with np.load(file) as read:
        arrays = dict(read)
    if value is None:
        arrays[name] = arrays[name][..., :1]
    else:
        arrays[name] = np.full_like(arrays[name], value)
    np.savez(tmp_path / "damaged.npz", **arrays)
    with pytest.raises(welfare_env.UnknownAgentError, match="no point of the frontier"):
        agents.make(f"frontier:point={tmp_path / 'damaged.npz'}")
