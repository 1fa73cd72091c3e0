"""The arrays that learners see, decoded again and compared with the position in words."""

import numpy as np
import pytest

import welfare_env
from tests.welfare_env.positions import draw_orders, play_on, scatter
from welfare_env import Board, Game, Rules, load_board
from welfare_env.engine import DISLODGED, State, layout_of
from welfare_env.envs.observation import board_space, num_features, observe


class Decoded:
    """The columns of an observation by name, as the table in `welfare_env.envs.observation` lists them."""

    def __init__(self, board: Board, power: str, seen: np.ndarray) -> None:
        first, number = board.powers.index(power), len(board.powers)
        self.board = board
        self.powers = board.powers[first:] + board.powers[:first]
        widths = {"unit": number, "fleet": 1, "coast": 2, "dislodged": 2, "owner": number, "center": 1, "home": number}
        widths |= {"kind": 3, "asked": 1, "own_order": 9, "own_dest": 1, "own_help": 1, "phase": 5, "messages": 1}
        widths |= {"years_left": 1, "balance": number, "welfare": number}
        options = layout_of(board).most_options
        widths |= {"round": 2, "lost": number, "lost_kind": 3, "retreats": options, "own_number": 1}
        self.columns, start = {}, 0
        for name, width in widths.items():
            self.columns[name] = seen[:, start : start + width]
            start += width
        assert start == seen.shape[1]

    def units(self) -> dict[str, set[str]]:
        """Units by power."""
        found: dict[str, set[str]] = {power: set() for power in self.powers}
        for row, column in np.argwhere(self.columns["unit"] == 1):
            province = self.board.provinces[row]
            coasts = [place for place in self.board.locations if place.startswith(f"{province}/")]
            coast = np.flatnonzero(self.columns["coast"][row])
            place = coasts[coast[0]] if len(coast) else province
            found[self.powers[column]].add(f"{'AF'[int(self.columns['fleet'][row, 0])]} {place}")
        return found

    def by_power(self, name: str) -> dict[str, set[str]]:
        """Provinces by power, for a group with a column a power."""
        rows = self.columns[name]
        return {
            power: {self.board.provinces[row] for row in np.flatnonzero(rows[:, column])}
            for column, power in enumerate(self.powers)
        }

    def provinces(self, name: str, column: int = 0) -> set[str]:
        return {self.board.provinces[row] for row in np.flatnonzero(self.columns[name][:, column])}

    def everywhere(self, name: str) -> np.ndarray:
        """The values of a feature that is the same in every row."""
        assert (self.columns[name] == self.columns[name][0]).all()
        return self.columns[name][0]


ORDER_KINDS = ("HOLD", "MOVE", "VIA", "SUPPORT_HOLD", "SUPPORT_MOVE", "CONVOY", "RETREAT", "DISBAND", "BUILD")


def check_orders(game: Game, given: tuple[str, ...], decoded: Decoded) -> None:
    """The columns of a power's own orders tell what it has ordered."""
    expected: dict[str, set[str]] = {name: set() for name in (*ORDER_KINDS, "dest", "help")}
    for text in given:
        words, kind = text.split(), ORDER_KINDS[game.board.orders.kind[game.board.orders.index[text]] - 1]
        expected[kind].add(words[1][:3])
        if kind in ("MOVE", "VIA", "RETREAT"):
            expected["dest"].add(words[3][:3])
        if kind in ("SUPPORT_HOLD", "SUPPORT_MOVE", "CONVOY"):
            expected["help"].add(words[4][:3])
    for column, name in enumerate(ORDER_KINDS):
        assert decoded.provinces("own_order", column) == expected[name], name
    assert decoded.provinces("own_dest") == expected["dest"]
    assert decoded.provinces("own_help") == expected["help"]


def check(game: Game, power: str, seen: np.ndarray) -> None:
    """An observation tells what the game tells."""
    board, rules, state, decoded = game.board, game.rules, game.position.state, Decoded(game.board, power, seen)
    assert seen.shape == (len(board.provinces), num_features(board))
    assert board_space(board).contains(seen)
    assert decoded.units() == {power: set(units) for power, units in game.units.items()}
    assert decoded.by_power("owner") == {power: set(centers) for power, centers in game.centers.items()}
    assert decoded.by_power("home") == {power: set(homes) for power, homes in board.homes.items()}
    assert decoded.provinces("center") == set(board.centers)
    for column, kinds in enumerate((("land",), ("coast", "port"), ("sea",))):
        assert decoded.provinces("kind", column) == {name for name in board.provinces if board.kind[name] in kinds}
    assert decoded.provinces("dislodged", 0) == {unit[2:5] for unit in game.dislodged[power]}
    others = {unit[2:5] for other, units in game.dislodged.items() if other != power for unit in units}
    assert decoded.provinces("dislodged", 1) == others
    assert decoded.everywhere("phase").tolist() == [float(number == state.phase) for number in range(5)]
    assert decoded.everywhere("years_left") == pytest.approx(1 - state.year / rules.years)
    for column, other in enumerate(decoded.powers):
        most, years = len(board.centers), state.year + 1
        balance = (len(game.centers[other]) - len(game.units[other])) / most
        assert decoded.everywhere("balance")[column] == pytest.approx(np.clip(balance, -1, 1), abs=1e-6)
        share = game.welfare[other] * len(board.powers) / most / years
        assert decoded.everywhere("welfare")[column] == pytest.approx(share / np.sqrt(1 + share**2), abs=1e-6)
    for unit, places in zip(state.dislodged.tolist(), state.retreats.tolist(), strict=True):
        check_retreat(decoded, *unit, {place for place in places if place >= 0})


def check_retreat(decoded: Decoded, owner: int, piece: int, places: set[int]) -> None:
    """The columns of a dislodged unit tell whose and what it is, and where it may go."""
    board = decoded.board
    name, row = board.pieces[piece], board.piece_province[piece]
    assert decoded.columns["lost"][row].tolist() == [float(power == board.powers[owner]) for power in decoded.powers]
    coasts = [place for place in board.locations if place.startswith(f"{name[2:5]}/")]
    kind = [name[0] == "F", *(name[2:] == coast for coast in coasts), 0, 0][:3]
    assert decoded.columns["lost_kind"][row].tolist() == [float(value) for value in kind]
    open_to = np.flatnonzero(decoded.columns["retreats"][row])
    assert {board.location_index[board.moves[name][number]] for number in open_to} == places


@pytest.mark.parametrize("map_name", ["standard", "clique:3"])
def test_random_positions_can_be_read_back(map_name: str) -> None:
    board, rng = load_board(map_name), np.random.default_rng(0)
    start = scatter(board, rng, len(board.provinces) // 2)
    welfare = {power: int(points) for power, points in zip(board.powers, rng.integers(-50, 50, 20), strict=False)}
    name, rules = f"F{board.first_year:04d}M", Rules(years=3)
    game = Game.from_position(name, *start, welfare=welfare, rules=rules, map_name=map_name)
    seen_phases = set()
    while not game.is_done:
        for number, power in enumerate(board.powers):
            check(game, power, observe(board, game.position.state, rules.years, number))
        seen_phases.add(game.position.state.phase)
        play_on(game, rng, phases=1)
    assert len(seen_phases) >= 4 or map_name != "standard"


@pytest.mark.parametrize("press", [None, "text"])
def test_the_aec_environment_shows_what_it_asks_about(press: str | None) -> None:
    env = welfare_env.make(press=press, years=1 if press else 2)
    env.reset(seed=0)
    rng = np.random.default_rng(2)
    asked_about = set()
    for agent in env.agent_iter():
        observation, _, ended, cut, info = env.last()
        if ended or cut:
            env.step(None)
            continue
        game, view = env.unwrapped.game, info["view"]
        check(game, agent, observation["observation"])
        check(game, game.powers[0], env.state())
        decoded = Decoded(game.board, agent, observation["observation"])
        check_orders(game, view.orders, decoded)
        assert decoded.everywhere("messages") == (view.asked == "messages")
        number = view.message_round
        assert decoded.everywhere("round").tolist() == pytest.approx([number / 3, float(number == 3)])
        asked = decoded.provinces("asked")
        choices = np.flatnonzero(observation["action_mask"])
        if view.asked == "messages" or view.phase_type == "A":
            assert asked == set()
        else:
            assert asked == {game.board.orders.texts[number][2:5] for number in choices}
            asked_about |= asked
        order = int(rng.choice(choices))
        env.step(order if press is None else {"orders": order, "messages": {}})
    assert len(asked_about) > 22


@pytest.mark.parametrize("phase", ["M", "R", "A"])
def test_ones_own_orders_are_seen_and_those_of_others_are_not(phase: str) -> None:
    board, rng = load_board(), np.random.default_rng(3)
    game = Game.from_position("S1901M", *scatter(board, rng, 45))
    while not game.phase.endswith(phase):
        for power in game.powers:
            game.submit(power, draw_orders(game, power, rng))
        game.advance()
    for power in game.powers:
        game.submit(power, draw_orders(game, power, rng))
    assert any(game.orders(power) for power in game.powers)
    for number, power in enumerate(board.powers):
        pending = [board.orders.index[text] for text in game.orders(power)]
        seen = observe(board, game.position.state, 10, number, pending=pending)
        check(game, power, seen)
        check_orders(game, game.orders(power), Decoded(board, power, seen))


def test_the_parallel_environment_shows_the_position_and_the_state_is_what_the_first_power_sees() -> None:
    env = welfare_env.parallel_env(message_rounds=2, years=1)
    seen, infos = env.reset()
    while env.agents:
        for agent, observation in seen.items():
            check(env.game, agent, observation["observation"])
            decoded, number = Decoded(env.board, agent, observation["observation"]), infos[agent]["view"].message_round
            assert decoded.everywhere("messages") == (number > 0)
            assert decoded.everywhere("round").tolist() == [number / 2, number == 2]
        check(env.game, env.agents[0], env.state())
        seen, _, _, _, infos = env.step({})


def test_huge_points_stay_in_the_space() -> None:
    for points in (10**9, -(10**9)):
        game = Game.from_position("S1901M", {}, {}, welfare={"FRANCE": points})
        assert board_space(game.board).contains(observe(game.board, game.position.state, 10, 0))


@pytest.mark.parametrize("map_name", ["standard", "ancmed"])
def test_positions_with_different_legal_futures_look_different(map_name) -> None:
    """Over random games from crowded positions; in retreats also with one of a unit's retreats less."""
    board, layout, seen, retreats = load_board(map_name), layout_of(load_board(map_name)), {}, 0
    for seed in (3, 5, 6, 9):  # with retreats
        rng = np.random.default_rng(seed)
        units = scatter(board, rng, len(board.provinces) // 2)
        game = Game.from_position(f"F{board.first_year:04d}M", *units, rules=Rules(years=2), map_name=map_name)
        while not game.is_done:
            row = game.position.state.row
            open_to = np.flatnonzero(row[layout.lost_options : layout.lost_options + row[DISLODGED]])
            fewer = [row.copy() for _ in open_to]
            for each, number in zip(fewer, open_to, strict=True):
                each[layout.lost_options + number] -= 1
                each[layout.lost_option + number * layout.most_options + each[layout.lost_options + number]] = 0
            retreats += len(fewer)
            for each in (row, *fewer):
                future = each[: layout.welfare].tobytes()  # phase, year, units, dislodged units and retreats, owners
                for number in range(len(board.powers)):
                    key = number, observe(board, State(layout, each), 2, number).tobytes()
                    assert seen.setdefault(key, future) == future
            play_on(game, rng, phases=1)
    assert retreats > 3
