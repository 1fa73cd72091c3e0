"""The pages in docs/ say what the code does: their Python runs, and the numbers in their tables are recomputed."""

import doctest
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from modal_env.dynamics.basins import Basins, basins, power_law
from modal_env.dynamics.finite import rare_mutations, solved_shares
from modal_env.dynamics.growth import census, growth
from modal_env.dynamics.replicator import replicator
from modal_env.games.equilibria import equilibria
from modal_env.games.game import COSTS, Game
from modal_env.games.ranges import ranges
from modal_env.logic.library import LIBRARY, POST, CooperateBot, DefectBot, FairBot
from modal_env.logic.tournaments import tournament
from modal_env.search.behaviors import two_boxes
from modal_env.search.direct.basins import direct_basins
from modal_env.search.direct.dynamics import direct_course
from modal_env.search.direct.shares import direct_shares
from modal_env.search.direct_agents import agent_with, shallow_agents, survey
from modal_env.search.findings import Findings, findings
from modal_env.search.invaders import verdicts
from modal_env.search.plays import plays
from research.programs import direct_populations, modal_evolution

DOCS = Path(__file__).parents[2] / "docs"
EQUILIBRIA, EVOLUTION, SEARCH = "modal-equilibria.md", "modal-evolution.md", "modal-search.md"
PICTURES = "modal-pictures.md"  # checked in test_pictures
TIMES = "\N{MULTIPLICATION SIGN}"
EPSILONS = [Fraction(1, n) for n in (10, 20, 50, 100)]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def words(name: str) -> str:
    """The text of a page with single blanks, wherever its lines end."""
    return " ".join(page(name).split())


def code(name: str, first_line: str) -> str:
    """The block of Python that begins so."""
    return next(
        block for block in re.findall(r"```python\n(.*?)```", page(name), re.DOTALL) if block.startswith(first_line)
    )


def cells(name: str, *first: str) -> list[str]:
    """The first row of a table that begins with these cells."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page(name).splitlines() if line[:1] == "|"
    ]
    return next(row for row in rows if row[: len(first)] == list(first))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lines"), [(EVOLUTION, 9), (EQUILIBRIA, 30), ("modal-readers.md", 5), ("modal-primer.md", 4)]
)
def test_the_python_of_a_page_gives_what_it_says(name: str, lines: int) -> None:
    failed, attempted = doctest.testfile(str(DOCS / name), module_relative=False, encoding="utf-8")
    assert (failed, attempted >= lines) == (0, True)


def test_the_python_of_a_page_can_be_read() -> None:
    for path in DOCS.glob("modal-*.md"):
        for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            if ">>>" not in block:
                compile(block, path.name, "exec")


class TestEvolution:
    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 100)], ids=str)
    def test_the_cycle(self, epsilon: Fraction) -> None:
        """Lengths of the stays at FairBot, each with the factor to the next."""
        stays = replicator(Game(POST, epsilon), [0.25] * 4, 1e9).lengths("FairBot").tolist()
        runs = growth(Game(POST, epsilon), [1, 1, 1, 1], 10**60).lengths("FairBot")
        columns = (1, 2) if epsilon == Fraction(1, 10) else (3, 4)
        for number in range(8):
            row = cells(EVOLUTION, str(number + 1))
            assert row[columns[0]] == f"{_rounded(stays[number])} {TIMES} {stays[number + 1] / stays[number]:.3f}"
            assert row[columns[1]] == f"{runs[number]:,} {TIMES} {runs[number + 1] / runs[number]:.3f}"
        last = cells(EVOLUTION, "last")
        assert last[columns[0]] == f"{TIMES} {stays[-1] / stays[-2]:.4f}"
        assert last[columns[1]] == f"{TIMES} {runs[-1] / runs[-2]:.4f}"

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)], ids=str)
    def test_the_census(self, epsilon: Fraction) -> None:
        assert cells(EVOLUTION, str(epsilon), str(census(Game(POST, epsilon), "DefectBot", 20).adds.sum()))

    def test_defect_bots_are_pushed_down(self) -> None:
        found = replicator(Game(POST, "1/10"), [0.25] * 4, 3000)
        assert found.log_shares[-1, 1] / np.log(10) == pytest.approx(-1000, abs=50)
        assert "to 10^\N{MINUS SIGN}1000 by time 3000" in words(EVOLUTION)

    @pytest.mark.slow
    def test_the_basin(self) -> None:
        found = []
        for epsilon in EPSILONS:
            starts = int(cells(EVOLUTION, str(epsilon), *self.starts_of(epsilon))[1].replace(",", ""))
            found.append(basins(Game(POST, epsilon), starts, seed=0))
            row, share = cells(EVOLUTION, str(epsilon), f"{starts:,}"), found[-1].share("DefectBot")
            assert row[2] == f"{found[-1].ends['DefectBot']:,}"
            assert row[3] == f"{share.value:#.4g} [{share.low:#.4g}, {share.high:#.4g}]"
            scaled = [value / float(epsilon) ** 2 for value in (share.value, share.low, share.high)]
            assert row[4] == f"{scaled[0]:.3f} [{scaled[1]:.3f}, {scaled[2]:.3f}]"
        self.check_laws(found)

    @staticmethod
    def starts_of(epsilon: Fraction) -> tuple[str, ...]:
        return ({10: "1,000,000", 20: "2,000,000", 50: "4,000,000", 100: "10,000,000"}[epsilon.denominator],)

    @staticmethod
    def check_laws(found: list[Basins]) -> None:
        """The exponent of all, and from one epsilon to the next."""
        counts, totals = [one.ends["DefectBot"] for one in found], [one.starts for one in found]
        pieces = [slice(0, 4), slice(0, 2), slice(1, 3), slice(2, 4)]
        laws = [f"{power_law(EPSILONS[p], counts[p], totals[p]).exponent:.3f}" for p in pieces]
        assert f"gives the exponent {laws[0]}" in words(EVOLUTION)
        assert f"the exponent is {laws[1]}, {laws[2]} and {laws[3]}" in words(EVOLUTION)

    @pytest.mark.slow
    def test_starts_where_the_commenter_s_mix_is(self) -> None:
        share = basins(Game(POST, "3/10"), 20_000, seed=0).share("DefectBot")
        told = [f"{100 * value:.1f}" for value in (share.value, share.low, share.high)]
        assert f"takes over {told[0]} [{told[1]}, {told[2]}]% of random starts there" in words(EVOLUTION)
        assert basins(Game(POST, "0.33"), 20_000, seed=0).ends["DefectBot"] == 20_000

    @pytest.mark.slow
    def test_larger_libraries(self) -> None:
        names = code(EVOLUTION, ">>> names").split('"""')[1].replace("...", "").split()
        for epsilon, starts in ((Fraction(1, 10), 5000), (Fraction(1, 20), 10_000), (Fraction(1, 50), 10_000)):
            found = basins(Game(names, epsilon), starts, seed=0, time=2000)
            shares = [found.share(agent) for agent in ("DefectBot", "MirrorBot", "SlipBot")]
            told = [f"{100 * s.value:.2f} [{100 * s.low:.2f}, {100 * s.high:.2f}]" for s in shares]
            assert cells(EVOLUTION, str(epsilon), f"{starts:,}", *told)

    @pytest.mark.slow
    def test_all_behaviors_of_two_boxes(self) -> None:
        found = two_boxes([DefectBot])
        assert f"all {len(found):,} behaviors" in words(EVOLUTION)
        assert f"{found.cooperates[:, found.index(DefectBot)].mean():.0%} cooperate with DefectBot" in words(EVOLUTION)
        few = [basins(matrix_at(e), 60, seed=0, time=5000, tolerance=1e-4).ends["1"] for e in EPSILONS[::3]]
        assert f"DefectBot takes over {few[0]} at ε = 1/10" in words(EVOLUTION)
        assert f"and {few[1]} at ε = 1/100" in words(EVOLUTION)
        first, later = (growth(matrix_at(e), [1] * len(found), 10**15).runs for e in EPSILONS[::3])
        assert [run.agent for run in first] == ["1"]
        assert (later[-1].agent, later[-1].is_endless) == ("1", True)
        assert f"after {sum(run.steps for run in later[:-1]):,} steps for ε = 1/100" in words(EVOLUTION)

    @pytest.mark.slow
    def test_the_pictures(self, tmp_path: Path) -> None:
        modal_evolution.main(tmp_path)
        direct_populations.main(tmp_path)
        shown = set(re.findall(r"pictures/(modal-[a-z-]+\.png)", page(EVOLUTION)))
        assert {path.name for path in tmp_path.iterdir()} == shown


def matrix_at(epsilon: Fraction) -> list[list[Fraction]]:
    """What the page's block makes, at any epsilon."""
    scope: dict = {"e": epsilon}
    exec(code(EVOLUTION, "from modal_env import DefectBot").split("print(basins")[0], scope)  # noqa: S102
    return scope["matrix"]


def _rounded(value: float) -> str:
    """As on the page: 171.2, 1,381, 17,409."""
    return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


class TestEquilibria:
    COUNTS = {  # noqa: RUF012
        "0 < eps < 1/4": ("1/100", "1/8", "249/1000"),
        "1/4": ("1/4",),
        "1/4 < eps < 1/3": ("26/100", "3/10"),
        "1/3": ("1/3",),
        "1/3 < eps < 1/2": ("2/5",),
        "1/2": ("1/2",),
        "eps > 1/2": ("51/100", "2"),
    }

    @pytest.mark.parametrize("range_", COUNTS)
    def test_how_many_there_are(self, range_: str) -> None:
        for epsilon in self.COUNTS[range_]:
            assert cells(EQUILIBRIA, range_)[1] == str(len(equilibria(POST, epsilon)))

    @pytest.mark.parametrize("cost", COSTS)
    def test_units_of_costs(self, cost: str) -> None:
        """Against the four: one number where all are the same, none but 0 of CooperateBot and DefectBot."""
        _, slope = Game(POST, 0, cost).affine
        told = [", ".join(map(str, row if len(set(row)) > 1 else row[:1])) for row in slope]
        assert told[0] == told[1]
        assert cells(EQUILIBRIA, f"`{cost}`")[2:] == told[1:]

    @pytest.mark.parametrize("cost", ["depth", "size", "sum", "worlds"])
    def test_the_good_mix_at_other_costs(self, cost: str) -> None:
        row = [_as_printed(cell) for cell in cells_of(EQUILIBRIA, f"`{cost}`", 6)]
        found = ranges(POST, cost)
        good = next(family for family in found.families if family.is_point and not family.rows[0].shares[1])
        shares = [re.sub(r"\((\d* ?eps)\)/", r"\1/", str(share)) for share in good.rows[0].shares if share]
        assert row[1] == ", ".join(shares)
        assert row[2] == str(good.rows[0].value)
        assert row[3].split(" = ")[0] == str(good.interval.high).split(" = ")[0]
        bounds = [str(bound).split(" = ")[0] for family in found.families for bound in family.interval]
        assert all(told.split(" = ")[0] in bounds for told in row[4].split(", "))

    def test_the_opponent_s_size_as_the_cost(self) -> None:
        found = ranges(POST, "opponent")
        prudent = [family for family in found.families if "(PrudentBot); paid" in str(family)]
        assert [str(family.interval) for family in prudent] == ["0 <= eps <= 1/7"]
        assert str(prudent[0].rows[-1].value) == "2 - 7 eps"
        odd = [str(family.interval) for family in found.families if not family.is_symmetric]
        assert "1/7 <= eps <= 2/9" in odd


def cells_of(name: str, first: str, count: int) -> list[str]:
    """The row of a table with so many columns that begins so."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page(name).splitlines() if line[:1] == "|"
    ]
    return next(row for row in rows if row[0] == first and len(row) == count)


def _as_printed(cell: str) -> str:
    """The page's way to write formulas as the package's."""
    return re.sub(r"√(\d+)", r"sqrt(\1)", re.sub(r"\beps/(\d)", r"1/\1 eps", cell)).replace("²", "^2")


@pytest.fixture(scope="module")
def answers() -> Findings:
    return findings()


def test_the_lemma_counts_are_one_sided() -> None:
    """Of depth 1 also with the cooperation of both in the premise."""
    met = tournament([agent_with(code, 1) for code in range(16)]).cooperates
    shallow = survey(1).least == 0
    friendly, mutual = met[~shallow].any(axis=1), (met & met.T)[~shallow].any(axis=1)
    alone = ~met[~shallow][:, shallow].any(axis=1)
    told = [(~shallow).sum(), friendly.sum(), (friendly & alone).sum(), mutual.sum(), (mutual & alone).sum()]
    assert told == [14, 13, 2, 11, 2]
    assert f"Of the {told[0]} behaviors of depth 1, {told[3]} cooperate" in words(SEARCH)
    assert f"and again {told[4]} of these cooperate with none of depth 0" in words(SEARCH)


@pytest.mark.slow
def test_cooperation_in_finite_populations() -> None:
    libraries = {
        "the post's four": POST,
        "the shallow ones": shallow_agents(),
        "the library": tuple(LIBRARY.values()),
    }
    rows = [line.strip("|").split("|") for line in page(EVOLUTION).splitlines() if line.count("|") == 7]
    first = next(place for place, row in enumerate(rows) if row[0].strip() == "the post's four")
    game, checked = Game(POST, 0), 0
    for row in rows[first : first + 15]:
        name, epsilon, *told = map(str.strip, row)
        game = Game(libraries[name], 0) if name else game
        for size, cell in zip((20, 50, 100, 200), told, strict=True):
            found = rare_mutations(game.at(epsilon), size)
            most = max(zip(found.means, found.names, strict=True), key=lambda pair: pair[0].value)[1]
            assert cell == f"{found.cooperation.value:.3f} {most}"
            checked += 1
    assert checked == 60
    often = solved_shares(Game(POST, "1/10"), 20, 0.01).cooperation.value
    assert f"have {often:.3f} (Moran) in place" in words(EVOLUTION)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutants", "epsilon", "size"),
    [("agents", "1/10", 200), ("agents", "1/4", 50), ("agents", "3/5", 20), ("depths", "1/100", 100)],
)
def test_cooperation_among_all_direct_agents(mutants: str, epsilon: str, size: int) -> None:
    table = page(EVOLUTION).split("results:modal-evolution-direct -->")[1].split("<!--")[0].strip().splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert len(rows) == 16
    part = rows[:8] if mutants == "agents" else rows[8:]
    row = next(row for row in part if row[1] == epsilon)
    found = direct_shares(epsilon, size, mutants=mutants)
    share, most = max((mean.value, name) for name, mean in zip(found.names, found.means, strict=True))
    assert row[2 + (20, 50, 100, 200).index(size)] == f"{found.cooperation.value:.3f} {most}"
    if most == "FairBot" and size == 200:
        assert f"FairBot alone has {share:.3f}" in words(EVOLUTION)


@pytest.mark.slow
class TestLargePopulationsOfAllDirectAgents:
    """Single rows of the tables, by the functions that made them."""

    @staticmethod
    def rows(name: str) -> list[list[str]]:
        table = page(EVOLUTION).split(f"results:modal-evolution-direct-{name} -->")[1].split("<!--")[0]
        found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
        for row, above in zip(found[1:], found, strict=False):
            row[0] = row[0] or above[0]
        return found

    @pytest.mark.parametrize(("start", "price"), [("agents", "1/100"), ("agents", "2/5"), ("depths", "1/10")])
    def test_courses(self, start: str, price: str) -> None:
        course = direct_course(price, start=start, time=direct_populations.LONG)
        row = [direct_populations.STARTS[start], price, *direct_populations.row_of(course)]
        assert row in self.rows("course")
        assert (course.gains[-1] < 1e-9, course.names[course.shares[-1].argmax()]) == (True, "DefectBot")

    @pytest.mark.parametrize("start", direct_populations.STARTS)
    def test_cooperation_lasts_at_a_low_price(self, start: str) -> None:
        assert "At 1/1000 all pairs cooperate at time 10^7 from both starts" in words(EVOLUTION)
        course = direct_course("1/1000", start=start, time=1e7)
        assert course.cooperation[-1] > 0.9999

    def test_cooperation_collapses_for_a_moment(self) -> None:
        """The collapse is far shorter than the distance of 400 times on a logarithmic scale."""
        course = direct_course("1/100", time=1e4)
        low = course.times[(course.cooperation < 0.5) & (course.times > 1000)]
        assert f"from time {low[0]:,.0f} to {low[-1]:,.0f}, 0.036 at the lowest" in words(EVOLUTION)
        assert abs(course.cooperation[course.times > 1000].min() - 0.036) < 0.0005

    def test_not_every_price_ends_with_defection(self) -> None:
        assert "At 1/60 and 1/80 they still cooperate then" in words(EVOLUTION)
        course = direct_course("1/80", time=direct_populations.LONG)
        assert (course.cooperation[-1] > 0.999, course.gains[-1] > 1e-3) == (True, True)

    @pytest.mark.parametrize("price", ["1/100", "1/10", "1/4"])
    def test_growth(self, price: str) -> None:
        assert [price, direct_populations.grown_of(price)] in self.rows("growth")

    def test_noise(self) -> None:
        found = direct_basins("1/2", "best-response", noise=0.05, starts=direct_populations.DRAWN_OF_NOISE, time=200)
        row = next(row for row in self.rows("noise") if row[:2] == ["best-response", "0.05"])
        assert row[-1] == direct_populations.ends_of(found)

    def test_random_starts(self) -> None:
        row = ["every depth", "1/2", *direct_populations.basin_of("depths", "1/2")]
        assert row in self.rows("basins")


@pytest.mark.slow
def test_the_lemma_with_mutual_cooperation_at_depth_2() -> None:
    found = plays(2)
    least, reach = found.profiles[:, 0], found.profiles[:, 1:]
    count = np.bincount(found.profile, minlength=len(least))
    both, friendly = (reach & 8) > 0, (reach & 10) > 0  # CC; CC or DC, the opponent's move first
    mutual = (least == 2) & both[:, 2]
    told = [count[mutual].sum(), count[mutual & ~friendly[:, 1]].sum(), count[mutual & ~both[:, 1]].sum()]
    said = words(SEARCH)
    assert f"Of those of depth 2, {told[0]:,} cooperate mutually" in said
    assert f"{told[1]:,} of these cooperate with none of depth up to 1 ({told[2]:,} with none that" in said


@pytest.mark.slow
def test_who_is_stable() -> None:
    found = {one.agent.name: one.kind for one in verdicts("1/10")}
    assert [name for name, kind in found.items() if kind != "invaded"] == [
        "DefectBot",
        "SlipBot",
        "MirrorBot",
        "OneBot",
    ]
    assert found["DefectBot"] == "stable"
    invaders = {one.agent.name: one.invader for one in verdicts("1/3", ["FairBot", "PrudentBot", "CooperateBot"])}
    assert invaders == {"FairBot": CooperateBot, "PrudentBot": FairBot, "CooperateBot": DefectBot}


@pytest.mark.slow
class TestSearch:
    def test_the_classes(self, answers: Findings) -> None:
        listed, said = answers.behaviors, words(SEARCH)
        depths = np.bincount(listed.depths)
        assert (
            f"{len(listed):,} canonical forms ({depths[0]} of depth 0, {depths[1]:,} of depth 1, "
            f"{depths[2]:,} of depth 2)" in said
        )
        assert f"{answers.told_apart:,} are told apart by play" in said
        assert cells(SEARCH, "behaviors") == ["behaviors", f"{2**21:,}", f"{len(listed):,}"]

    def test_pure_equilibria(self, answers: Findings) -> None:
        agents = {agent for pair in answers.direct for agent in (pair.first, pair.second)}
        row = cells(SEARCH, "pure equilibria besides DefectBot against itself")
        assert row[1].startswith(f"{len(answers.direct)}, for 0 < eps <= 1/2")
        assert {(pair.low, pair.high) for pair in answers.direct} == {(0, Fraction(1, 2))}
        said = words(SEARCH)
        assert f"The {len(answers.direct)} are all pairs of {len(agents)} behaviors" in said
        assert f"in {sum(pair.first == pair.second for pair in answers.direct)} of them an agent meets itself" in said
        assert f"But {len(agents) - len(answers.robust)} of the {len(agents)} cooperate" in said

    def test_the_lemma(self, answers: Findings) -> None:
        one, two = answers.lemmas
        assert (
            f"of {one.agents} behaviors of depth 1, {one.friendly} cooperate with an agent of depth up to 1, and "
            f"{one.counterexamples} of these with none of depth 0. Of {two.agents:,} of depth 2, {two.friendly:,} "
            f"cooperate with one of depth up to 2, and {two.counterexamples:,} of these with none of depth up to 1"
        ) in words(SEARCH)

    def test_the_certificate(self, answers: Findings) -> None:
        assert "```\n" + "\n".join(answers.slip.lines()) + "\n```" in page(SEARCH)
        assert f"all {len(answers.mix.replies)} combinations of moves" in words(SEARCH)


def test_every_slow_test_checks_a_page_that_is_there() -> None:
    assert {path.name for path in DOCS.glob("modal-*.md")} == {
        EQUILIBRIA,
        EVOLUTION,
        SEARCH,
        PICTURES,
        "modal-readers.md",
        "modal-primer.md",
    }
    assert set(LIBRARY) >= set(code(EVOLUTION, ">>> names").split('"""')[1].replace("...", "").split())
