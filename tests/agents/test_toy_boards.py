"""The kernels of toy boards against the engine, and the punishers."""

import numpy as np
import pytest

import welfare_env
from agents.scripted.punisher import AgreedPath, excluded, first_deviator, suspect
from agents.toy_boards import kernels
from agents.toy_boards.punishing import punishing_orders
from agents.toy_boards.punishing_kernels import score_position
from agents.toy_boards.shape import clique_of
from evaluation.exact import best_response
from tests.playing import seated
from welfare_env import Rules, UnknownMapError, UnknownPowerError
from welfare_env.engine.engines import make_engine

BOARDS = ["clique:3", "clique:4", "clique:7", "shared-clique:3", "shared-clique:5", "shared-clique:7"]


def shape_of(clique):
    return np.array([clique.cores, clique.powers, clique.cores + clique.powers, 0])


def random_orders(clique, shape, rng):
    """Units of few powers anywhere, and orders that get in each other's way."""
    count = shape[kernels.PROVINCES]
    places = rng.choice(count, rng.integers(2, count + 1), replace=False)
    unit, order = np.full(count, kernels.NOBODY, np.int8), np.arange(count, dtype=np.int16)
    unit[places] = rng.integers(rng.integers(2, clique.powers + 1), size=len(places))
    near = {p: [q for q in range(count) if kernels.adjacent(shape, p, q)] for p in places}
    for p in places:
        if rng.random() < 0.5:
            order[p] = rng.choice(near[p])
    for p in places:
        fits = [
            q for q in places if q != p and order[q] < kernels.SUPPORT and (order[q] if order[q] != q else q) in near[p]
        ]
        if order[p] == p and fits and rng.random() < 0.8:
            source = rng.choice(fits)
            order[p] = kernels.SUPPORT + 16 * source + order[source]
    return unit, order


def stepped(clique, unit, order):
    """The engine's next state."""
    board = clique.board
    engine = make_engine("fast", board, Rules(press=None, years=1))
    start = engine.initial()
    pieces = [(int(unit[p]), board.piece_index[clique.piece[p]]) for p in range(len(unit)) if unit[p] >= 0]
    texts = [
        [clique.order_text(p, order[p]) for p in range(len(unit)) if unit[p] == power] for power in range(clique.powers)
    ]
    orders = [np.array([board.orders.index[text] for text in given], np.int32) for given in texts]
    return engine.step(start.replaced(units=np.array(sorted(pieces), np.int32)), orders)[0]


@pytest.mark.parametrize(
    "name", [name if name[-1] in "457" else pytest.param(name, marks=pytest.mark.slow) for name in BOARDS]
)
def test_adjudication_is_the_engines(name):
    clique = clique_of(welfare_env.load_board(name))
    shape, rng = shape_of(clique), np.random.default_rng(1)
    w = np.zeros((kernels.SCRATCH_ROWS, kernels.MAX_PROVINCES), np.int16)
    for _ in range(300):
        unit, order = random_orders(clique, shape, rng)
        kernels.adjudicate(shape, unit, order, w)
        state = stepped(clique, unit, order)
        assert clique.rows(state)[1].tolist() == w[kernels.AFTER, : len(unit)].tolist()
        lost, options = clique.lost_rows(state)
        for core in range(clique.cores):
            places = [
                p
                for p in range(len(unit))
                if w[kernels.LOST_FROM, core] >= 0
                and kernels.adjacent(shape, core, p)
                and p != w[kernels.LOST_FROM, core]
                and w[kernels.AFTER, p] < 0
                and not w[kernels.TRIED, p]
            ]
            assert options[core] == sum(1 << p for p in places)
            assert lost[core] == (unit[core] if places else kernels.NOBODY)


def test_supports_by_the_others_power_defend_in_a_swap():
    """As in the engine by the rulebook; random positions rarely have it."""
    clique = clique_of(welfare_env.load_board("clique:5"))
    shape, w = shape_of(clique), np.zeros((kernels.SCRATCH_ROWS, kernels.MAX_PROVINCES), np.int16)
    unit = np.array([0, 1, 1, 0, 2] + [kernels.NOBODY] * 5, np.int8)
    to_0, to_1 = kernels.SUPPORT + 16 * 1 + 0, kernels.SUPPORT + 16 * 0 + 1
    order = np.array([1, 0, to_1, to_0, to_0, 5, 6, 7, 8, 9], np.int16)
    kernels.adjudicate(shape, unit, order, w)
    assert w[kernels.AFTER, :5].tolist() == unit[:5].tolist()
    assert clique.rows(stepped(clique, unit, order))[1].tolist() == unit.tolist()


def in_cores():
    """A game on clique:3 in the first Fall, in which everybody has entered its core."""
    game = welfare_env.Game("clique:3", Rules(press=None, years=3))
    for power in game.powers:
        game.submit(power, [f"A H{power[-1]}X - C{power[-1]}X"])
    game.advance()
    return game


class TestPunisher:
    def test_it_is_a_function_of_the_position(self):
        """Or `best_response`, which asks it in every position twice and without memory, would refuse it."""
        found = best_response("clique:3", "punisher:t=2,deviator=PLAYERB", "PLAYERB", 4)
        assert (found.profile_value, found.gain) == (7, 1)

    @pytest.mark.parametrize(
        ("in_core", "score"),
        [(0, (30 + 60) + (30 + 25 + 60)), (1, (30 + 60 - 10) + (-12 - 15)), (-1, (30 + 60) + 80)],
    )
    def test_a_deviator_at_home_is_watched_by_others_only(self, in_core, score):
        """It owns its leaf, where it stands, and its core: with a unit of its own, of a punisher, or nobody's there."""
        shape, w = np.array([3, 3, 6, 0]), np.full((kernels.SCRATCH_ROWS, kernels.MAX_PROVINCES), -1, np.int16)
        owner, unit = np.full((2, kernels.MAX_PROVINCES), -1, np.int8)
        owner[[0, 3]] = 0
        unit[[0, 3]] = w[kernels.AFTER, [0, 3]] = in_core, 0
        assert score_position(shape, owner, unit, False, w) == score

    def test_who_remembers_sees_who_was_in_the_way(self):
        """The excluded player enters the shared core, too: on the board it looks as if the other one had stayed."""
        game = welfare_env.Game("shared-clique:3", Rules(press=None, years=3))
        for power, core in {"PLAYERA": "CAX", "PLAYERB": "CBX", "PLAYERC": "CCX", "PLAYERD": "CAX"}.items():
            game.submit(power, [f"A H{power[-1]}X - {core}"])
        game.advance()
        path = AgreedPath(clique_of(game.board), 1, excluded(clique_of(game.board), None))
        assert suspect(path, game.position.state) == "PLAYERA"
        assert first_deviator(path, game.history) == "PLAYERD"

    def test_who_remembers_does_not_accuse_who_follows(self):
        """Some leave their units without orders, which then hold; one supports, one waives, and nothing comes of it."""
        game = in_cores()
        game.submit("PLAYERB", ["A CBX S A CAX"])
        game.advance()
        path = AgreedPath(clique_of(game.board), 2, -1)
        assert first_deviator(path, game.history) is None
        game.submit("PLAYERA", ["WAIVE"])
        game.submit("PLAYERC", ["A CCX D"])
        game.advance()
        assert first_deviator(path, game.history) == "PLAYERC"

    def test_who_remembers_without_a_history_keeps_to_its_first_guess(self):
        policy = seated("punisher:t=1,remembers=yes", "PLAYERC")
        owned = {"PLAYERA": ["HAX", "CAX"], "PLAYERB": ["HBX", "CBX"], "PLAYERC": ["HCX", "CCX"]}
        seen = []
        for units in ({"PLAYERA": ["A CBX"]}, {"PLAYERB": ["A HAX"], "PLAYERA": ["A CBX"]}):
            game = welfare_env.Game.from_position("S1902M", units, owned, map_name="clique:3")
            policy.act(None, {"view": game.view("PLAYERC")})
            policy._phase = ""
            seen.append(policy._accused)
        assert seen == ["PLAYERA", "PLAYERA"]
        both = welfare_env.Game.from_position(
            "S1902M", {"PLAYERA": ["A CBX"], "PLAYERB": ["A CAX"]}, owned, map_name="clique:3"
        )
        assert suspect(AgreedPath(clique_of(both.board), 1, -1), both.position.state) is None  # either may have begun

    def test_other_boards_and_unknown_names_are_refused(self):
        for name, power, error in [
            ("standard", "AUSTRIA", UnknownMapError),
            ("clique:8", "PLAYERA", UnknownMapError),
            ("clique:3", "PLAYERX", UnknownPowerError),
        ]:
            board = welfare_env.load_board(name)
            with pytest.raises(error, match="clique:n" if error is UnknownMapError else power):
                punishing_orders(board, make_engine("fast", board, Rules(years=1)).initial(), power)
        with pytest.raises(ValueError, match="shared='PLAYERB'"):
            excluded(clique_of(welfare_env.load_board("shared-clique:3")), "PLAYERB")
