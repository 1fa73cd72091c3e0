"""What reading adds to games of two moves: the search, its certificates, their checker, and the page."""

import ast
import copy
import doctest
import json
import sys
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.games.payoffs import PRESETS, as_table
from modal_env.logic.library import SlipBot
from modal_env.logic.provability import play
from modal_env.search import periodic_table, table_checker
from modal_env.search.direct_agents import agent_with, survey
from modal_env.search.periodic_table import kinds, readings
from modal_env.search.plays import OUTCOMES, plays
from modal_env.search.table_checker import outcome, reachable, read, table_faults
from research.programs.periodic_table import main, text

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return json.loads((DOCS / "periodic-table.json").read_text())


def maximin(paid: dict[str, F]) -> F:
    return max(min(paid[own + other] for other in "CD") for own in "CD")


def test_the_table_is_accepted(table: list[dict]) -> None:
    assert table_faults(table) == []


def new(table: list[dict], number: int) -> dict:
    return table[number - 1]["with_reading"][0]


CORRUPTIONS = {
    "a higher price": lambda table: new(table, 12).update(high="51/100"),
    "no highest price": lambda table: new(table, 12).update(high=None),
    "a price below 0": lambda table: new(table, 12).update(low="-1"),
    "another formula": lambda table: new(table, 12).update(first="[]X(me)"),
    "a formula that is exploited": lambda table: new(table, 66).update(second="true"),
    "another outcome": lambda table: new(table, 66).update(outcome="DD"),
    "an outcome left out": lambda table: table[65]["with_reading"].clear(),
    "an outcome of another game": lambda table: table[0]["with_reading"].append(new(table, 66)),
    "an equilibrium that is none": lambda table: table[0]["without_reading"].append("DD"),
    "a game left out": lambda table: table.pop(),
    "other payoffs": lambda table: table[11]["payoffs"].update(CC=["4", "4"]),
}


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_wrong_tables_are_refused(table: list[dict], corruption: str) -> None:
    wrong = copy.deepcopy(table)
    CORRUPTIONS[corruption](wrong)
    assert table_faults(wrong)


def test_the_checker_shares_no_code() -> None:
    tree = ast.parse(Path(table_checker.__file__).read_text())
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert names <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("number", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_the_checker_s_evaluator_agrees_with_ours(number: int) -> None:
    agents = [agent_with(code) for code in np.random.default_rng(0).integers(0, 1 << 21, number).tolist()]
    for a in [*agents, SlipBot]:
        for b in [*agents, SlipBot]:
            assert outcome(read(a.text), read(b.text)) == "".join(play(a, b).moves)


@pytest.mark.slow
def test_the_checker_tries_all_replies() -> None:
    seen, numbered = survey(), {"CC": 2, "CD": 0, "DC": 3, "DD": 1}
    for code in np.random.default_rng(1).integers(0, 1 << 21, 8).tolist():
        formula = read(agent_with(code).text)
        best = [max(numbered[moves] for moves in reachable(formula, depth)) for depth in range(3)]
        assert best == seen.best[code].tolist()


@pytest.mark.parametrize("wrong", ["[]X(me) X(me)", "X(FairBot)", "[]", "(true"])
def test_the_checker_refuses_what_is_no_formula(wrong: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        read(wrong)


def test_plays_of_depth_1_are_all_pairs() -> None:
    found = plays(1)
    agents = [agent_with(code, 1) for code in range(16)]
    for a, one in enumerate(agents):
        for b, other in enumerate(agents):
            fits = [
                OUTCOMES[play_.outcome]
                for play_ in found.plays
                if (a & found.sides[play_.first].decided) == found.sides[play_.first].moves
                and (b & found.sides[play_.second].decided) == found.sides[play_.second].moves
            ]
            assert fits == ["".join(play(one, other).moves)]


def test_equilibria_of_depth_1_are_those_of_all_256_pairs() -> None:
    """The 16 agents of depth up to 1, every pair in turn, in every game and at several epsilons."""
    agents = [agent_with(code, 1) for code in range(16)]
    moves = [["".join(play(a, b).moves) for b in agents] for a in agents]
    costs = np.array([agent.depth for agent in agents])
    for name in [f"rg-{number}" for number in range(1, 79)]:
        game = PRESETS[name]
        row = np.array([[int(game[cell]) for cell in line] for line in moves])
        column = np.array([[int(game.turned[cell[::-1]]) for cell in line] for line in moves])
        for number, cell in enumerate(OUTCOMES):
            ranges = periodic_table._found(plays(1), game, (F(0), F(1)), number)
            for twentieths in (2, 10, 15, 20, 30, 50):
                epsilon = F(twentieths, 20)
                own, theirs = 20 * row - twentieths * costs[:, None], 20 * column - twentieths * costs[None, :]
                equal = (own == own.max(axis=0)) & (theirs == theirs.max(axis=1)[:, None])
                there = equal & (np.array(moves) == cell)
                claimed = any(low <= epsilon and (high is None or epsilon <= high) for low, high in ranges)
                assert there.any() == claimed, (name, cell, epsilon)


@pytest.mark.slow
def test_profiles_agree_with_the_survey() -> None:
    """For all 2,097,152 agents of depth up to 2, against a search that plays each against all."""
    found, seen = plays(), survey()
    paid = np.array([1, 3, 0, 2])  # the opponent's, by OUTCOMES, which has its move first: DD, DC, CD, CC
    best = np.array([max((paid[k] for k in range(4) if mask >> k & 1), default=0) for mask in range(16)])
    assert (found.profiles[found.profile, 0] == seen.least).all()
    assert (best[found.profiles[:, 1:]][found.profile] == seen.best).all()
    friendly = (found.profiles[:, 1:] & 0b1010) != 0  # the agent's own move is the second
    assert (friendly[found.profile] == seen.befriends).all()


@pytest.mark.slow
def test_random_pairs_of_depth_2_have_the_outcome_of_their_profiles() -> None:
    found = plays()
    for a, b in np.random.default_rng(2).integers(0, 1 << 21, (100, 2)).tolist():
        fits = {
            OUTCOMES[one.outcome]
            for one in found.plays
            if (a & found.sides[one.first].decided) == found.sides[one.first].moves
            and (b & found.sides[one.second].decided) == found.sides[one.second].moves
        }
        assert fits == {"".join(play(agent_with(a), agent_with(b)).moves)}


@pytest.mark.slow
def test_the_search_finds_the_table(table: list[dict]) -> None:
    assert periodic_table.as_data(periodic_table.periodic_table()) == table


def test_an_outcome_is_new_iff_both_are_paid_more_than_their_maximin(table: list[dict]) -> None:
    for entry in table:
        game = PRESETS[f"rg-{entry['number']}"]
        margins = {
            cell: min(game[cell] - maximin(game), game.turned[cell[::-1]] - maximin(game.turned)) for cell in OUTCOMES
        }
        expected = {cell for cell, margin in margins.items() if margin > 0 and cell not in game.pure}
        assert {one["outcome"] for one in entry["with_reading"]} == expected
        for one in entry["with_reading"]:
            assert (F(one["low"]), F(one["high"]), margins[one["outcome"]]) == (0, F(1, 2), 1)


def test_kinds() -> None:
    assert kinds(as_table("prisoners-dilemma"), ["CC"]) == ("rescued",)
    assert kinds(as_table("matching-pennies"), ["CC"]) == ("settled",)
    assert kinds(as_table("chicken"), ["CC"]) == ("shared",)
    assert kinds(as_table("stag-hunt"), ["DD"]) == ("ruined",)
    assert kinds(as_table("harmony"), []) == ("unchanged",)


@pytest.mark.slow
def test_other_prices_and_payoffs() -> None:
    found = readings("prisoners-dilemma")
    assert [(one.outcome, one.low, one.high) for one in found] == [("CC", 0, F(1, 2))]
    assert [one.high for one in readings("prisoners-dilemma", [0, 1, 5])] == [F(1, 5)]
    doubled = {"CC": 4, "CD": 0, "DC": 6, "DD": 2}
    assert [one.high for one in readings(doubled)] == [1]
    assert readings("stag-hunt") == readings("matching-pennies") == []
    # Not strict: with a maximin far below, one pays for depth 2 up to a high price.
    generous = {"CC": 10, "CD": 0, "DC": 11, "DD": 1}
    assert [one.high for one in readings(generous)] == [F(9, 2)]
    for wrong in ([0, 1], [0, 2, 1], [1, 2, 3], "012", [0, 0, 1]):
        with pytest.raises(GameError, match="price"):
            readings("chicken", wrong)


@pytest.mark.slow
def test_the_command_writes_the_page_and_draws(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for name in ("periodic-table.json", "periodic-table.md"):
        (tmp_path / name).write_text((DOCS / name).read_text())
    main(search=False, docs=tmp_path)
    assert (tmp_path / "periodic-table.md").read_text() == (DOCS / "periodic-table.md").read_text()
    assert (tmp_path / "pictures" / "periodic-table.png").stat().st_size > 50_000


def test_the_page_says_what_the_file_has(table: list[dict]) -> None:
    page = (DOCS / "periodic-table.md").read_text()
    assert text(table) in page
    kinds_of = {kind: [e["number"] for e in table if kind in e["kinds"]] for kind in periodic_table.KINDS}
    assert {kind: len(numbers) for kind, numbers in kinds_of.items()} == {
        "rescued": 4, "settled": 5, "shared": 10, "ruined": 0, "unchanged": 59,
    }  # fmt: skip
    for kind in ("rescued", "settled", "shared"):
        line = next(line for line in page.splitlines() if line.startswith(f"| {kind[:-1]}"))
        assert all(str(number) in line for number in kinds_of[kind]), line


def test_the_python_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    failed, attempted = doctest.testfile(str(DOCS / "periodic-table.md"), module_relative=False, encoding="utf-8")
    assert (failed, attempted >= 6) == (0, True)
