"""Certificates on toy boards: the paper's punishing profiles, any policies, and what is refused."""

import json
import re
from dataclasses import replace
from itertools import chain, product
from pathlib import Path

import numpy as np
import pytest

import agents
import welfare_env
from agents import PunisherPolicy
from agents.toy_boards.kernels import PROVINCES, adjacent
from agents.toy_boards.punishing_kernels import DEVIATORS, KNOWN, list_orders
from agents.toy_boards.shape import clique_of
from evaluation import EvaluationError
from evaluation.exact import CertificateError, certify, certify_punishers, check_certificate
from evaluation.exact.best_responses import PolicyAnswers
from evaluation.exact.cells.theorems import VERSION, fill, payoffs, read_cells, states
from evaluation.exact.certificates import Certificate
from evaluation.exact.certify import punishers_search
from evaluation.exact.checking import Checker, holdings, plans_of, relaxed_bounds
from evaluation.exact.clique_search import ALL, CliqueSearch
from evaluation.exact.graph_kernels import (
    DISARMED,
    FALL,
    NODES,
    OPENING,
    PATH_DISBAND,
    SPECIALS,
    SPRING,
    TO_PATH,
    following,
    next_node,
    pack,
    position,
    unpack,
)
from research.price_of_peace import theorems as study
from tests.agents.test_toy_boards import played, shape_of
from tests.evaluation.test_exact import Exhaustive, Forgetful, Restless, rules
from welfare_env.game.position import Position

A, B = "PLAYERA", "PLAYERB"
DOCS = Path(__file__).parents[2] / "docs"


class TestBestPunishers:
    """Values that an independent study found."""

    def test_three_players(self):
        search = CliqueSearch(clique_of(welfare_env.load_board("clique:3")), 0, breadth=ALL)
        assert [search.gain(6, disarmed) for disarmed in range(6)] == [0, 0, 1, 3, 5, 7]

    @pytest.mark.slow
    def test_four_players(self):
        gains = [certify_punishers("clique:4", 5 - late, A, 5, punishers="best").gain for late in range(4)]
        assert gains == [0, 0, 1, 4]

    @pytest.mark.slow
    def test_on_six_cores_only_one_number_of_unarmed_years_pays(self):
        search = punishers_search("clique:6", A, None, "ranked")
        assert [search.gain(4, disarmed) for disarmed in range(4)] == [0, 0, 1, 0]

    def test_earlier_years_make_no_difference(self):
        search = CliqueSearch(clique_of(welfare_env.load_board("clique:3")), 0, breadth=ALL)
        assert {search.gain(years, 2) for years in range(3, 8)} == {1}

    def test_they_remember_who_left_the_path(self):
        """Where a position looks like one of the path, only punishers without memory follow the path again."""
        left = {
            punishers: int(following(punishers_search("clique:3", A, None, punishers).table, SPECIALS, DISARMED, 2, 2))
            for punishers in ("best", "ranked")
        }
        assert left == {"best": DISARMED, "ranked": DISARMED + TO_PATH}
        table = punishers_search("clique:3", A, None, "best").table
        assert following(table, OPENING, DISARMED, 2, 2) == DISARMED + TO_PATH

    @pytest.mark.slow
    def test_their_lines_are_found_on_six_cores(self):
        """Proving the value of each next position from 0 upwards had more than 262,144 joint orders to refute."""
        found = certify_punishers("clique:6", 1, A, 3, punishers="best")
        assert found.gain == 1
        assert payoffs("clique:6", 3, found.line, "reference")[A] == found.value
        assert check_certificate(found.certificate) == found.states


class TestSevenCores:
    """The largest boards of the search: 15 provinces of four bits each, and longer lists of orders."""

    @pytest.mark.parametrize("name", ["clique:2", "clique:6", "clique:7", "shared-clique:2", "shared-clique:7"])
    def test_keys_keep_whole_positions(self, name):
        """Random positions, and one with the highest number everywhere."""
        clique, rng = clique_of(welfare_env.load_board(name)), np.random.default_rng(0)
        shape = shape_of(clique)
        count, last = int(shape[PROVINCES]), clique.powers - 1
        near = [sum(1 << q for q in range(count) if adjacent(shape, core, q)) for core in range(clique.cores)]
        highest = [np.full(count, last), np.full(count, last), np.full(clique.cores, last), np.array(near)]
        for given in [highest, *(drawn_position(clique, near, rng) for _ in range(50))]:
            key, found = np.full(4, -1), [np.full_like(array, -9) for array in given]
            pack(shape, PATH_DISBAND, *given, key)
            assert unpack(shape, key, *found) == PATH_DISBAND
            assert [array.tolist() for array in found] == [array.tolist() for array in given]

    def test_no_number_of_unarmed_years_pays_if_the_punishers_look_ahead(self):
        gains = {how: punishers_search("clique:7", A, None, how).gain(3, 2) for how in ("stated", "ranked")}
        assert gains == {"stated": 1, "ranked": 0}

    @pytest.mark.parametrize(
        ("name", "deviator", "gain", "positions"),
        [
            ("shared-clique:7", "PLAYERH", 1, 3),
            pytest.param("clique:7", A, 0, 311, marks=pytest.mark.slow),
        ],
    )
    def test_certificates_hold(self, name, deviator, gain, positions):
        found = certify_punishers(name, 1, deviator, 3, punishers="ranked")
        assert (found.gain, check_certificate(found.certificate, reference_share=0.01)) == (gain, positions)


def drawn_position(clique, near, rng):
    """Random owners, units, dislodged units and retreats, as arrays of the kernels."""
    owner, unit = rng.integers(-1, clique.powers, (2, clique.cores + clique.powers))
    lost = rng.integers(-1, clique.powers, clique.cores)
    return owner, unit, lost, near & rng.integers(1 << len(owner), size=clique.cores)


def test_in_ten_years_the_gain_still_grows_by_two_a_year():
    search = punishers_search("clique:3", A, None, "stated")
    assert [search.gain(years, years - 1) for years in (8, 9, 10)] == [11, 13, 15]


class TestExcludedPlayer:
    """Theorem 2 fails for T >= 3: nobody can keep the excluded player from a point (docs/theorems.md)."""

    @pytest.mark.parametrize("size", [3, 4, 5, 6])
    def test_gains_a_point_from_the_best_punishers(self, size):
        """Six cores take a second."""
        board = welfare_env.load_board(f"shared-clique:{size}")
        search = punishers_search(board.name, board.powers[-1], None, "best")
        assert [search.gain(years, years - 1) for years in range(1, 11)] == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]

    @pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
    def test_nobody_gets_back_in_a_year_what_it_takes(self, size):
        """Both homes at the shared core are three steps from all others; the sharer, robbed, has nowhere to build."""
        board = welfare_env.load_board(f"shared-clique:{size}")
        homes = [board.homes[power][0] for power in board.powers]
        for sharer in (homes[0], homes[-1]):
            reached, steps = {sharer}, {sharer: 0}
            for step in (1, 2, 3):
                reached |= {near for place in reached for near in board.moves[f"A {place}"]}
                steps |= {place: step for place in reached if place not in steps}
            assert {steps[home] for home in homes[1:-1]} == {3}

    @pytest.mark.parametrize("size", [3, 4, 6])
    @pytest.mark.parametrize("years", [3, 4, 6])
    @pytest.mark.parametrize("excluded", [A, "last"])
    def test_gains_it_from_random_players(self, size, years, excluded):
        board = welfare_env.load_board(f"shared-clique:{size}")
        thief, victim = (A, board.powers[-1]) if excluded == A else (board.powers[-1], A)
        for seed in range(3):
            assert robbed(board, years, thief, victim, seed) == years + 1


def robbed(board, years, thief, victim, seed) -> float:
    """The excluded player's points if it robs the other sharer late, and all others play at random once it has."""
    (home,), (other,) = board.homes[thief], board.homes[victim]
    core = board.moves[f"A {home}"][0]
    line = {f"S{1899 + years}M": [f"A {home} - {core}"], f"F{1899 + years}M": [f"A {core} - {other}"]}
    line |= {f"W{1899 + years}A": [f"A {other} D"], f"W{1898 + years}A": [f"A {home} B"] if years > 3 else []}
    env = welfare_env.parallel_env(board.name, rules(years))
    _, infos = env.reset(seed=seed)
    peaceful, hostile = (
        {power: agents.make(spec) for power in board.powers} for spec in (f"punisher:t=1,shared={victim}", "random")
    )
    for power in board.powers:
        peaceful[power].reset(power, seed)
        hostile[power].reset(power, seed)
    points = 0.0
    while env.agents:
        view = infos[thief]["view"]
        is_over = view.years_left == 1 or view.phase == f"W{1899 + years}A"
        actions = {who: (hostile if is_over else peaceful)[who].act(None, infos[who]) for who in env.agents}
        if view.phase in line:
            actions[thief] = view.encode_orders(line[view.phase])
        elif is_over:
            actions[thief] = view.encode_orders([])
        _, rewards, _, _, infos = env.step(actions)
        points += rewards[thief]
    return points


class TestSearch:
    @pytest.mark.slow
    def test_skipped_replies_lead_nowhere_new(self):
        """`expand` looks up positions once; every single reply leads to one of its edges, and each edge has a reply."""
        search = punishers_search("clique:4", A, None, "stated")
        search.gain(4, 3)
        table, replies = search.table, np.empty((1 << 15, 8), np.int16)
        looked = 0
        for node in range(int(table.numbers[NODES])):
            plan = int(table.plan[node])
            code, owner, unit, _, _ = position(table, node)
            if code not in (SPRING, FALL) or plan < 0 or table.many[plan] < 0:
                continue
            count = list_orders(table.shape, unit, table.orders[plan], DEVIATORS, KNOWN, replies)
            found = {int(next_node(table, code, replies[row], owner, unit)) for row in range(count)}
            first, many = int(table.first[plan]), int(table.many[plan])
            assert found == set(table.to[first : first + many].tolist())
            assert len(found) == many
            looked += 1
        assert looked > 100


class TestStatedPunishers:
    @pytest.mark.parametrize(
        ("size", "gains"), [(3, [0, 0, 1, 3]), pytest.param(4, [0, 0, 1, 4], marks=pytest.mark.slow)]
    )
    def test_gains(self, size, gains):
        found = [certify_punishers(f"clique:{size}", 4 - late, A, 4) for late in range(4)]
        assert [each.gain for each in found] == gains
        for each in found:
            assert check_certificate(each.certificate) == each.states
            assert payoffs(each.map_name, 4, each.line, "reference")[A] == each.value

    @pytest.mark.parametrize("power", [A, B, "PLAYERD"])
    def test_shared_board(self, power):
        found = certify_punishers("shared-clique:3", 1, power, 3)
        assert check_certificate(found.certificate) == found.states
        assert payoffs("shared-clique:3", 3, found.line, "fast")[power] == found.value

    def test_every_seat_is_the_same_on_symmetric_boards(self):
        assert len({certify_punishers("clique:3", 1, power, 4).value for power in (A, B, "PLAYERC")}) == 1

    @pytest.mark.slow
    def test_the_planner_finds_the_same(self):
        """Another search, with the engine's rules and the policies as players."""
        profile = dict.fromkeys((A, B, "PLAYERC"), f"punisher:t=1,deviator={A}")
        assert certify("clique:3", profile, A, 4).value == certify("clique:3", f"punisher:t=1,deviator={A}", A, 4).value


def check_random_profile(number: int) -> None:
    profile = {power: Restless(number) for power in (A, B, "PLAYERC")}
    found = certify("clique:3", profile, A, 2)
    draws = [(1, {power: profile[power] for power in (B, "PLAYERC")})]
    assert found.value == Exhaustive("clique:3", rules(2), A, draws, remember=True).value()
    assert check_certificate(found.certificate) == found.states
    assert payoffs("clique:3", 2, found.line, "fast")[A] == found.value


@pytest.mark.parametrize("number", range(3))
def test_random_profiles_against_brute_force(number):
    check_random_profile(number)


@pytest.mark.slow
def test_two_hundred_random_profiles_against_brute_force():
    for number in range(3, 203):
        check_random_profile(number)


class TestCoalitions:
    def test_two_get_no_less_than_one(self):
        one = certify("clique:3", "hold", A, 2)
        two = certify("clique:3", "hold", (A, B), 2)
        assert two.value >= one.value + one.path_value
        assert check_certificate(two.certificate) == two.states

    def test_the_line_pays_them_together(self):
        found = certify("clique:3", "prosocial", (B, "PLAYERC"), 2)
        paid = payoffs("clique:3", 2, found.line, "fast")
        assert paid[B] + paid["PLAYERC"] == found.value
        assert found.path_value == sum(played("clique:3", "prosocial", 2)[1:])


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify_punishers("clique:3", 1, A, 4).certificate


@pytest.fixture(scope="module")
def checker() -> Checker:
    """What `check_certificate` uses; it remembers what positions lead to."""
    return Checker("clique:3", (A,), is_symmetric=True)


def described(position: Position, swapped: str) -> str:
    """All that counts in a position, as text, in which two players (and their provinces) may have changed names."""
    names = {letter: letter for letter in "ABCD"} | dict(zip(swapped, swapped[::-1], strict=True))

    def renamed(texts) -> list[str]:
        pattern = r"(?<=H)[A-D](?=X)|(?<=PLAYER)[A-D]|(?<=C)[BC](?=X)"  # CAX is shared by A and D
        return sorted(re.sub(pattern, lambda found: names[found[0]], str(text)) for text in texts)

    groups = (position.units, position.dislodged, position.centers)
    parts = [sorted((renamed([power]), renamed(held)) for power, held in group.items()) for group in groups]
    retreats = [position.legal_orders(power).values() for power in position.board.powers if position.phase[-1] == "R"]
    parts.append(renamed(order for given in chain(*retreats) for order in given))
    return repr((position.phase[0], position.phase[-1], parts))


class TestCertificates:
    def test_a_lower_value_is_rejected(self, certificate, checker):
        with pytest.raises(
            CertificateError, match=f"up to {certificate.value} by this certificate, not {certificate.value - 1}"
        ):
            checker.check(replace(certificate, value=certificate.value - 1))

    def test_lowered_claims_are_rejected_and_the_position_is_named(self, certificate, checker):
        assert checker.check(certificate) == len(certificate)
        faults, numbers = [], range(0, len(certificate), 40)
        for number in numbers:
            claims = certificate.claims.copy()
            claims[number] -= 1
            try:
                checker.check(replace(certificate, claims=claims))
            except CertificateError as fault:
                faults.append(str(fault))
        assert len(faults) > 0.5 * len(numbers)
        assert all(re.search(r"position [0-9]+, [SFW][MRA] .PLAYERA|opening", fault) for fault in faults)

    def test_points_of_the_last_winter_are_checked(self, certificate, checker):
        game = welfare_env.Game.from_position("W1901A", {}, {A: ["HAX"]}, rules=rules(4), map_name="clique:3")
        row = checker.canonical(game.position.state)
        rows = {"rows": row, "years_left": 1, "orders": np.full_like(certificate.orders[0], -1)}
        longer = {name: np.concatenate([getattr(certificate, name), np.int16([row])]) for name, row in rows.items()}
        claims = [np.append(certificate.claims, np.int16(claim)) for claim in (1, 0)]
        assert checker.check(replace(certificate, **longer, claims=claims[0])) == len(certificate) + 1
        with pytest.raises(CertificateError, match=f"position {len(certificate)}, WA"):
            checker.check(replace(certificate, **longer, claims=claims[1]))

    @pytest.mark.parametrize("given", [["A CBX H"], ["A HBX H", "A HBX - CBX"], ["A HAX H"], ["A HBX D"]])
    def test_other_orders_are_rejected(self, certificate, checker, given):
        """Of a unit that is not there, twice of one, of the deviator's, and of another phase."""
        orders = np.hstack([certificate.orders, np.full_like(certificate.orders, -1)])
        orders[0] = -1
        orders[0, : len(given)] = [checker.board.orders.index[text] for text in given]
        with pytest.raises(CertificateError, match=r"position 0, S.*cannot be given there"):
            checker.check(replace(certificate, orders=orders))

    @pytest.mark.parametrize(
        ("owned", "builds"),
        [({A: ["HAX"]}, []), ({A: ["HAX", "CAX"]}, ["A HAX B"]), ({A: ["HAX", "CAX"], B: ["HBX"]}, ["A HAX B"])],
    )
    def test_the_checker_tries_every_build_that_is_allowed(self, owned, builds):
        units = {A: ["A CBX"], B: ["A CCX"]}
        game = welfare_env.Game.from_position("W1901A", units, owned, rules=rules(3), map_name="clique:3")
        texts = game.board.orders.texts
        plans = list(plans_of(game.board, game.position, [0, 1], []))
        found = {tuple(texts[order] for order in plan if order >= 0) for plan in plans}
        mine = [(), ("A CBX D",), *((build,) for build in builds)]
        assert found == {(*one, *other) for one in mine for other in ((), ("A CCX D",))}
        assert len(plans) == len(found)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("map_name", "deviator", "alike"),
        [("clique:3", A, "BC"), ("shared-clique:3", A, "BC"), ("shared-clique:3", B, "AD")],
    )
    def test_the_checker_takes_positions_for_one_if_they_differ_in_names_only(self, map_name, deviator, alike):
        checker = Checker(map_name, (deviator,), is_symmetric=True)
        games = welfare_env.vector_env(200, map_name, rules(3))
        games.reset(0)
        states = []
        for _ in range(12):
            states += [state for number in range(200) if not (state := games.state(number)).done]
            games.step(games.sample())
        stuck = [state for state in states if len(state.dislodged)]
        states += [state.replaced(retreats=np.full_like(state.retreats, -1)) for state in stuck]
        positions = {state.row.tobytes(): Position(checker.engine, state) for state in states}
        pairs = {
            (min(described(each, ""), described(each, alike)), checker.names.key(each.state.row))
            for each in positions.values()
        }
        assert len(positions) > len(pairs) > 600
        assert len(pairs) == len({text for text, _ in pairs}) == len({key for _, key in pairs})

    def test_the_checker_tries_every_support_of_what_is_ordered(self):
        game = welfare_env.Game.from_position("S1901M", {A: ["A CAX", "A CBX"], B: ["A CCX"]}, {}, map_name="clique:3")
        legal = [orders for unit, orders in sorted(game.legal_orders(A).items())]

        def fits(order, all_orders):
            supported = order.partition(" S ")[2]
            if " - " in supported:
                return supported in all_orders
            return not supported or any(o.startswith(supported) and o.split()[2] != "-" for o in all_orders)

        (given,) = (order for order in game.legal_orders(B)["A CCX"] if order == "A CCX H")
        wanted = {plan for plan in product(*legal) if all(fits(order, (*plan, given)) for order in plan)}
        texts = game.board.orders.texts
        found = [tuple(texts[order] for order in plan) for plan in
                 plans_of(game.board, game.position, [0], [texts.index(given)])]  # fmt: skip
        assert set(found) == wanted
        assert len(found) == len(wanted)

    def test_the_bound_that_the_checker_trusts_knows_of_builds(self):
        """With a center, no unit and three years: build, take a second center and a third, and disband."""
        assert [relaxed_bounds(4, 3, homes)[3, 1, 1, 0] for homes in (0, 1)] == [3, 4]

    def test_the_bound_counts_dislodged_units(self):
        units, gone = {A: ["A HAX"], B: ["A CAX"]}, {A: {"A CAX": ["CCX"]}}
        game = welfare_env.Game.from_position("F1901R", units, {A: ["HAX"]}, gone, map_name="clique:3")
        found = [holdings(game.position.state, powers) for powers in ([0], [1], [0, 1])]
        assert found == [(0, 1, 2), (0, 0, 1), (0, 1, 3)]

    def test_arrays_that_do_not_fit_are_rejected(self, certificate, checker):
        with pytest.raises(CertificateError, match="claims: 272 entries for 273 rows"):
            checker.check(replace(certificate, claims=certificate.claims[1:]))

    def test_a_position_may_be_listed_twice_with_different_claims(self, certificate, checker):
        twice = {
            name: np.concatenate([getattr(certificate, name)] * 2)
            for name in ("rows", "years_left", "claims", "orders")
        }
        twice["claims"][len(certificate) :] += 1
        assert checker.check(replace(certificate, **twice)) == 2 * len(certificate)

    def test_files(self, certificate, checker, tmp_path):
        certificate.save(tmp_path / "c.npz")
        again = Certificate.load(tmp_path / "c.npz")
        assert checker.check(again) == len(certificate)
        for name in ("map_name", "years", "deviators", "value", "path", "path_value", "is_symmetric"):
            assert getattr(again, name) == getattr(certificate, name)
        (tmp_path / "bad.npz").write_bytes(b"no zip")
        for name in ("bad.npz", "none.npz"):
            with pytest.raises(CertificateError, match="no certificate"):
                Certificate.load(tmp_path / name)


class TestRefused:
    @pytest.mark.parametrize("profile", ["random", "dumbbot", dict.fromkeys((A, B, "PLAYERC"), Forgetful())])
    def test_chance_and_memory(self, profile):
        with pytest.raises(EvaluationError, match="An exact best response needs opponents"):
            certify("clique:3", profile, A, 3)

    def test_too_many_positions_are_refused_before_the_search(self):
        with pytest.raises(EvaluationError, match=r"about [0-9,]+ positions, more than 50,000,000"):
            certify("clique:12", "hold", A, 8)
        with pytest.raises(EvaluationError, match="more than 10"):
            certify("clique:3", "hold", A, 2, most_states=10)

    @pytest.mark.parametrize(
        ("function", "arguments", "error"),
        [
            (certify, ("clique:3", "hold", (), 2), EvaluationError),
            (certify, ("clique:3", "hold", (A, A), 2), EvaluationError),
            (certify, ("standard", "hold", "FRANCE", 2), EvaluationError),
            (certify, ("clique:3", "hold", "FRANCE", 2), welfare_env.UnknownPowerError),
            (certify, ("clique:3", "punisher:t=0", A, 2), welfare_env.UnknownAgentError),
            (certify_punishers, ("clique:3", 0, A, 2), EvaluationError),
            (certify_punishers, ("clique:3", 3, A, 2), EvaluationError),
            (certify_punishers, ("clique:3", 1, A, 11), EvaluationError),
            (certify_punishers, ("clique:3", 1, A, 2, A), EvaluationError),
            (certify_punishers, ("clique:3", 1, A, 2, None, "good"), EvaluationError),
            (certify_punishers, ("clique:8", 1, A, 2), welfare_env.UnknownMapError),
        ],
    )
    def test_names_and_numbers(self, function, arguments, error):
        with pytest.raises(error):
            function(*arguments)


def test_the_tables_of_the_page_are_those_of_the_files():
    page = (DOCS / "theorems.md").read_text()
    cells, drawn = study.read_cells(DOCS / "theorems.jsonl"), study.read_threats(DOCS / "threats.jsonl")
    for name, text in (("tables", study.tables(cells)), ("threats", study.threats(drawn))):
        assert f"<!-- {name}:begin -->\n{text}\n<!-- {name}:end -->" in page


@pytest.mark.slow
def test_the_study_makes_the_page_and_its_pictures_anew(tmp_path):
    """The tables from the file of cells, the line and the pictures from computation."""
    pictures = sorted((DOCS / "pictures").glob("theorem-*.svg"))
    (tmp_path / "pictures").mkdir()
    page = re.sub(r"(?<=:begin -->\n).*?(?=\n<!--)", "", (DOCS / "theorems.md").read_text(), flags=re.S)
    (tmp_path / "theorems.md").write_text(page)
    study.main(DOCS / "theorems.jsonl", tmp_path)
    assert (tmp_path / "theorems.md").read_bytes() == (DOCS / "theorems.md").read_bytes()
    assert len(pictures) == 3
    for picture in pictures:
        assert (tmp_path / "pictures" / picture.name).read_bytes() == picture.read_bytes()


def test_a_picture_has_a_legend():
    picture = (DOCS / "pictures" / "theorem-1-clique-3.svg").read_text(encoding="utf-8")
    for text in ("player A", "player B", "player C", "nobody's supply center", "before Spring 1901"):
        assert f">{text}</text>" in picture
    assert "prefers-color-scheme: dark" in picture


def armed_longer(line, years):
    """A line of a game with t = 1 with so many armed years before its first Winter."""
    entered = {
        who: [order.split()[3 if " - " in order else 1] for order in orders] for who, orders in line[0][1].items()
    }
    stay = {who: tuple(f"A {place} H" for place in places) for who, places in entered.items()}
    waiting = [[(f"W{1901 + y}A", {}), (f"S{1902 + y}M", stay), (f"F{1902 + y}M", stay)] for y in range(years)]
    later = [(f"{phase[0]}{int(phase[1:5]) + years}{phase[5]}", orders) for phase, orders in line[2:]]
    return (*line[:2], *(each for year in waiting for each in year), *later)


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_every_counterexample_of_the_tables_pays_on_the_reference_engine(step):
    cells = [cell for cell in read_cells(DOCS / "theorems.jsonl") if cell.gain]
    lines = {(cell.map_name, cell.role, cell.punishers, cell.years): cell.line for cell in cells if cell.t == 1}
    for cell in cells[::step]:
        line = lines[cell.map_name, cell.role, cell.punishers, cell.disarmed + 1]
        played = armed_longer(line, cell.t - 1)
        assert payoffs(cell.map_name, cell.years, played, "reference")[cell.deviator] == cell.value, cell.name
    assert len(cells) > 300


@pytest.mark.slow
def test_cells_are_of_todays_punishers():
    """If the stated punishers play otherwise than in the lines of the cells, VERSION must change, and all cells."""
    cells = read_cells(DOCS / "theorems.jsonl")
    assert {cell.version for cell in cells} == {VERSION}
    lines = [cell for cell in cells if cell.line and cell.punishers == "stated"]
    for cell in lines:
        board = welfare_env.load_board(cell.map_name)
        others = {who: PunisherPolicy(cell.t, None, cell.deviator) for who in board.powers if who != cell.deviator}
        answers = PolicyAnswers(board, rules(cell.years), others)
        for (phase, orders), state in zip(cell.line, states(cell.map_name, cell.years, cell.line), strict=False):
            given = answers.given(Position(answers.engine, state))
            numbers = {board.powers[who]: slots.values() for who, slots in given.items()}
            for who in others:
                played = sorted(board.orders.texts[number] for number in numbers.get(who, ()))
                assert played == sorted(orders.get(who, ())), (cell.name, phase, who)
    assert len(lines) > 90


class TestTables:
    def test_a_table_goes_on_where_it_stopped(self, tmp_path):
        path = tmp_path / "cells.jsonl"
        fill(path, "clique:3", 2)
        before = path.read_text()
        told = []
        fill(path, "clique:3", 3, report=told.append)
        assert path.read_text().startswith(before)
        cells = read_cells(path)
        assert len(cells) == len({cell.name for cell in cells}) == 6
        assert len([text for text in told if "gain" in text]) == 3
        assert all(cell.checked for cell in cells)
        assert {(cell.disarmed, cell.gain) for cell in cells} == {(0, 0), (1, 0), (2, 1)}

    @pytest.mark.parametrize("version", ["0123456789abcdef", None])
    def test_cells_of_another_version_are_not_gone_on_with(self, tmp_path, version):
        path = tmp_path / "cells.jsonl"
        fill(path, "clique:3", 1)
        cell = json.loads(path.read_text())
        del cell["version"]
        path.write_text(json.dumps(cell | ({} if version is None else {"version": version})) + "\n")
        before = path.read_text()
        with pytest.raises(EvaluationError, match="another version"):
            fill(path, "clique:3", 2)
        assert path.read_text() == before

    def test_damaged_files_are_refused(self, tmp_path):
        (tmp_path / "cells.jsonl").write_text('{"map_name": 1}\n')
        with pytest.raises(EvaluationError, match="line 1"):
            read_cells(tmp_path / "cells.jsonl")
        (tmp_path / "cells.jsonl").write_bytes(b"\xff")
        for path, told in ((tmp_path, "no file of cells"), (tmp_path / "cells.jsonl", "line 1: no cell")):
            with pytest.raises(EvaluationError, match=told):
                read_cells(path)
