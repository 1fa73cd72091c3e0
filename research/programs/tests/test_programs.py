"""The claims about programs that read each other, and their certificates."""

import ast
import copy
import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from modal_env import LIBRARY, POST, OneBot, ProgramGame, PrudentBot, SlipBot, basins, play, replies
from modal_env.best_replies import CALLS
from research.programs import callers, calls, conjecture, evolution, periodic_table, table_checker
from research.programs.certificates import certify, faults
from research.programs.direct_agents import OUTCOMES, agent_with, code_of, plays
from research.programs.table_checker import outcome, read, table_faults

HALF = Fraction(1, 2)


@pytest.fixture(scope="module")
def table() -> list[dict]:
    return json.loads(periodic_table.DATA.read_text())


class TestConjecture:
    def test_slipbot_is_an_equilibrium_up_to_one_half(self) -> None:
        found = certify("SlipBot", {SlipBot: (Fraction(1), Fraction(0))}, [SlipBot], CALLS)
        assert (found.low, found.high, faults(found)) == (0, HALF, [])
        for wrong in (replace(found, high=Fraction(1)), replace(found, shares=((HALF, Fraction(0)),))):
            assert faults(wrong)

    @pytest.mark.slow
    def test_all_certificates(self) -> None:
        mix, slip, one = conjecture.certificates()
        assert [faults(found) for found in (mix, slip, one)] == [[], [], []]
        ranges = [(found.low, found.high) for found in (mix, slip, one)]
        assert ranges == [(0, Fraction(1, 3)), (0, HALF), (1, 1)]
        assert len(mix.replies) == 18

    def test_onebot_is_exploited_by_nobody_as_shallow(self) -> None:
        assert ("D", "C") not in {reply.moves[0] for reply in replies([OneBot], CALLS, depth=1)}

    def test_the_lemma_at_depth_1(self) -> None:
        assert conjecture.lemma(1) == (14, 13, 2)

    @pytest.mark.slow
    def test_all_direct_agents(self) -> None:
        assert conjecture.lemma(2) == (2_097_136, 2_096_462, 19_804)
        pairs = conjecture.direct_equilibria()
        codes = {code for pair in pairs for code in pair}
        assert (len(pairs), len(codes), set(pairs.values())) == (820, 40, {(0, HALF)})
        assert code_of(SlipBot) in codes
        robust = [code for code in codes if not conjecture.is_befriended_by_shallow_callers(agent_with(code))]
        assert len(robust) == 4

    @pytest.mark.parametrize(("word", "depth"), [("CCDC", 2), ("CCCDDC", 3)])
    def test_words(self, word: str, depth: int) -> None:
        agent = conjecture.word_agent(word, depth)
        trace = play(agent, agent, len(word)).trace
        assert "".join("DC"[bool(own)] for own, _ in trace) == word
        found = {(*reply.moves[0], reply.agent.depth) for reply in replies([agent], depth=depth)}
        assert found == {("C", "D", 0), ("D", "D", 0), ("C", "C", depth)}


class TestPlays:
    def test_of_depth_1_are_all_pairs(self) -> None:
        agents = [agent_with(code, 1) for code in range(16)]
        for a, one in enumerate(agents):
            for b, other in enumerate(agents):
                assert _outcomes(1, a, b) == ["".join(play(one, other).moves)]

    @pytest.mark.slow
    def test_random_pairs_of_depth_2(self) -> None:
        for a, b in np.random.default_rng(2).integers(0, 1 << 21, (60, 2)).tolist():
            assert _outcomes(2, a, b) == ["".join(play(agent_with(a), agent_with(b)).moves)]


def _outcomes(depth: int, a: int, b: int) -> list[str]:
    return [
        OUTCOMES[end]
        for first, second, end in plays(depth).plays
        if a & first.decided == first.moves and b & second.decided == second.moves
    ]


def test_partners_with_fewer_calls() -> None:
    formulas = [agent for agent in LIBRARY.values() if not agent.is_random]
    for agent in formulas[::2]:
        for friend in formulas[::3]:
            assert calls.faults(agent, friend) == []
    assert calls.number_of_calls(calls.fewer_calls(PrudentBot, PrudentBot)) == 1


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


class TestPeriodicTable:
    def test_is_accepted_and_stands_on_the_page(self, table: list[dict]) -> None:
        assert table_faults(table) == []
        page = Path(__file__).parents[3] / "docs" / "periodic-table.md"
        assert periodic_table.text(table) in page.read_text()

    @pytest.mark.parametrize("corruption", CORRUPTIONS)
    def test_wrong_tables_are_refused(self, table: list[dict], corruption: str) -> None:
        wrong = copy.deepcopy(table)
        CORRUPTIONS[corruption](wrong)
        assert table_faults(wrong)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [1, 12, 66, 78])
    def test_is_what_the_search_finds(self, table: list[dict], number: int) -> None:
        assert periodic_table.entry_of(number) == table[number - 1]

    def test_a_pair_that_only_replies_of_depth_2_break(self, table: list[dict]) -> None:
        wrong = copy.deepcopy(table)
        both = agent_with(2_019_273).text
        new(wrong, 12).update(first=both, second=both)
        found = table_faults(wrong)
        assert found
        assert all("a reply of depth 2 gains" in fault for fault in found)

    def test_the_checker_shares_no_code(self) -> None:
        tree = ast.parse(Path(table_checker.__file__).read_text())
        modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        assert {str(name).split(".")[0] for name in modules} <= set(sys.stdlib_module_names)

    def test_the_checker_s_evaluator_agrees_with_ours(self) -> None:
        agents = [agent_with(code) for code in np.random.default_rng(0).integers(0, 1 << 21, 3).tolist()]
        for a in [*agents, SlipBot]:
            for b in [*agents, SlipBot]:
                assert outcome(read(a.text), read(b.text)) == "".join(play(a, b).moves)


class TestEvolution:
    def test_random_starts_agree_with_quadrature(self) -> None:
        exact = evolution.volume(Fraction(1, 5), 5)
        share = basins(ProgramGame(POST, "1/5"), 3000, 1).share("DefectBot").value
        assert abs(share - exact) < 4 * math.sqrt(exact / 3000)

    @pytest.mark.slow
    def test_the_basin_tends_to_three_epsilon_squared(self) -> None:
        near, nearer = (evolution.volume(Fraction(1, n), 6) * n**2 for n in (100, 1000))
        assert near - 3 == pytest.approx(0.023, abs=0.002)
        assert nearer - 3 == pytest.approx(0.0023, abs=0.0006)

    @pytest.mark.slow
    def test_the_census_of_growth(self) -> None:
        page = (Path(__file__).parents[3] / "docs" / "modal-evolution.md").read_text()
        adds = [evolution.census(Fraction(1, number), 20)[0] for number in (10, 20, 100)]
        assert "{} ever add a DefectBot at ε = 1/10, {} at 1/20 and {} at 1/100".format(*adds) in page

    def test_direct_agents_are_named_by_what_they_do(self) -> None:
        found = {agent.name: agent for agent in evolution.direct_library()[:16]}
        assert all(code_of(LIBRARY[name], 1) == code_of(found[name], 1) for name in evolution.DIRECT)
        assert len({code_of(agent, 1) for agent in found.values()}) == 16

    @pytest.mark.slow
    def test_one_call_breaks_all_pairs_of_game_71(self) -> None:
        assert callers.count(71, ["CooperateBot"]) == (0, 40_320)
        assert callers.count(71, ["DefectBot"]) == (34_592, 40_320)
        first = agent_with(callers.pairs_of(71)[0][0])
        assert {reply.moves[0] for reply in replies([first], ["CooperateBot"], depth=1)} >= {("C", "C")}
