"""Readers that are not provers: exact values beside programs that are run, and beside the evaluator for formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

import agents
import modal_env
from evaluation.experiments.programs import program_exploitability
from modal_env.errors import GameError
from modal_env.games.equilibria import equilibria
from modal_env.games.game import PAYOFFS, Game, context_of, meet
from modal_env.games.payoffs import PRESETS
from modal_env.games.ranges import ranges
from modal_env.games.survival import survival_range, survives
from modal_env.logic.library import LIBRARY
from modal_env.logic.mixed_plays import play_mixed
from modal_env.logic.notation import parse
from modal_env.logic.provability import play
from modal_env.logic.readers import (
    READERS,
    Chooser,
    Context,
    GroundedFairBot,
    GroundedShift,
    GroundedTwoTats,
    Program,
    Quine,
    Simulator,
    as_program,
)
from tests.modal_env.conftest import parsed, random_formula

CONTEXT = context_of(PAYOFFS, [])
OUTCOMES = ("CC", "CD", "DC", "DD")


def law(a: Program | str, b: Program | str, context: Context = CONTEXT) -> dict[str, Fraction]:
    return play_mixed(as_program(a), as_program(b), context).law


# Programs that are run: each is a function of itself, its opponent, the level of simulation, and the coins.
Coins = tuple[np.random.Generator, list[float], dict[tuple[int, int, int], str]]  # the last: runs already made
Run = Callable[["Run", "Run", int, Coins], str]


def grounded(
    stop: float, first: str, answer: dict[str, str], shared: bool, helper: Callable[[], Run] | None = None
) -> Run:
    def run(me: Run, opponent: Run, level: int, coins: Coins) -> str:
        if (number(coins, level) if shared else coins[0].random()) < stop:
            return first
        return answer[opponent(opponent, helper() if helper else me, level + 1, coins)]

    return run


def number(coins: Coins, level: int) -> float:
    """The shared random number of a level."""
    while len(coins[1]) <= level:
        coins[1].append(float(coins[0].random()))
    return coins[1][level]


def repeated(stop: float, first: str, answer: Callable[[list[tuple[str, str]]], str]) -> Run:
    """Stops at the first level whose number is small, and answers the history of (own move, other's) up to here.

    With shared numbers a run at a level always ends alike, so it is made once.
    """

    def run(me: Run, opponent: Run, level: int, coins: Coins) -> str:
        key = id(me), id(opponent), level
        if key not in coins[2]:
            coins[2][key] = once(me, opponent, level, coins)
        return coins[2][key]

    def once(me: Run, opponent: Run, level: int, coins: Coins) -> str:
        if number(coins, level) < stop:
            return first
        last = level
        while number(coins, last) >= stop:
            last += 1
        history = [
            (me(me, opponent, at, coins), opponent(opponent, me, at, coins))
            for at in range(level + 2, level, -1)
            if at <= last
        ]
        return answer(history)

    return run


def constant(move: str) -> Run:
    return lambda me, opponent, level, coins: move


SAME, OPPOSITE = {"C": "C", "D": "D"}, {"C": "D", "D": "C"}
RUNS: dict[str, Run] = {
    "GroundedFairBot": grounded(0.1, "C", SAME, False),
    "SharedGroundedFairBot": grounded(0.1, "C", SAME, True),
    "ColdFairBot": grounded(0.1, "D", SAME, False),
    "Bully": grounded(0.1, "D", OPPOSITE, False),
    "Tester": grounded(0.1, "C", SAME, False, lambda: constant("D")),
    "Ann": grounded(0.1, "C", SAME, False, lambda: RUNS["Bob"]),
    "Bob": grounded(0.1, "D", SAME, False, lambda: RUNS["Ann"]),
    "TwoTats": repeated(0.5, "C", lambda past: "D" if [b for _, b in past] == ["D", "D"] else "C"),
    "Shift": repeated(0.5, "C", lambda past: "C" if past[-1][0] == past[-1][1] else "D"),
    "SharedBully": grounded(0.5, "D", OPPOSITE, True),
    "SharedFair": grounded(0.25, "C", SAME, True),
    "CooperateBot": constant("C"),
    "DefectBot": constant("D"),
}
EXTRA: dict[str, Program] = {
    "TwoTats": GroundedTwoTats("1/2"),
    "Shift": GroundedShift("1/2"),
    "SharedBully": Simulator("SharedBully", Fraction(1, 2), "D", (("D", "C"),), "D", coins="shared"),
    "SharedFair": GroundedFairBot("1/4", "shared"),
}
EXTRA_TEXT = "TwoTats Shift SharedBully SharedFair DefectBot"
PAIRS = [
    *((a, b) for a in ("GroundedFairBot", "ColdFairBot", "Bully", "Tester", "Ann", "Bob") for b in list(RUNS)[:7]),
    *((a, b) for a in EXTRA_TEXT.split() for b in EXTRA_TEXT.split() if a <= b),
]


def differences(plays: int) -> list[str]:
    """Outcomes whose simulated share is not compatible with the exact one, at a level of 5% for all pairs together."""
    found = []
    for place, (a, b) in enumerate(PAIRS):
        rng = np.random.default_rng([32, place])
        counts: Counter[str] = Counter()
        for _ in range(plays):
            coins: Coins = (rng, [], {})
            counts[RUNS[a](RUNS[a], RUNS[b], 0, coins) + RUNS[b](RUNS[b], RUNS[a], 0, coins)] += 1
        exact = law(EXTRA.get(a, a), EXTRA.get(b, b))
        for moves in OUTCOMES:
            if binomtest(counts[moves], plays, float(exact[moves])).pvalue < 0.05 / len(PAIRS) / 4:
                found.append(f"{a} {b} {moves}: {counts[moves] / plays} and {exact[moves]}")
    return found


def test_exact_laws_are_those_of_programs_that_are_run() -> None:
    assert differences(150) == []


@pytest.mark.slow
def test_exact_laws_are_within_the_intervals_of_100_000_plays_each() -> None:
    assert differences(100_000) == []


def test_values_by_hand() -> None:
    tenth = Fraction(1, 10)
    assert law("GroundedFairBot", "GroundedFairBot")["CC"] == 1
    assert law("GroundedFairBot", "DefectBot") == {"CC": 0, "CD": tenth, "DC": 0, "DD": 1 - tenth}
    # p = 1/10 + 9/10 q and q = 9/10 p
    assert play_mixed(READERS["GroundedFairBot"], READERS["ColdFairBot"], CONTEXT).cooperation[0] == Fraction(10, 19)
    # shared coins: both stop together, so the moves of the last level differ, and go back and forth unchanged
    cold = Simulator("Cold", tenth, "D", coins="shared")
    apart = law(GroundedFairBot(coins="shared"), cold)
    assert apart["CC"] == apart["DD"] == 0
    assert apart["CD"] == Fraction(10, 19)  # an even number of levels: 1/10 (1 + (9/10)^2 + ...)


def test_formulas_prove_nothing_about_coins_but_what_holds_for_all_of_them() -> None:
    fair = READERS["GroundedFairBot"]
    assert play_mixed(LIBRARY["FairBot"], fair, CONTEXT).law["CC"] == 1  # Löb: if FairBot cooperates, it does surely
    assert play_mixed(LIBRARY["PrudentBot"], fair, CONTEXT).cooperation[0] == 0  # it may cooperate with DefectBot
    assert play_mixed(LIBRARY["CUPOD"], READERS["Bully"], CONTEXT).cooperation[0] == 1  # no proof of defection


def test_formulas_do_as_they_do_without_readers() -> None:
    rng = np.random.default_rng(7)
    agents = [*LIBRARY.values()]
    for _ in range(8):
        agents += parsed([random_formula(rng, 4, 2, helper) for helper in range(3)])[-1:]
    for a in agents[::2]:
        for b in agents[1::2]:
            expected, found = play(a, b), play_mixed(a, b, CONTEXT)
            assert found.cooperation == expected.cooperation


def test_quines_know_names_and_choosers_look() -> None:
    clique = READERS["CliqueBot"]
    assert law(clique, clique)["CC"] == law(clique, "CooperateBot")["DC"] == 1
    assert law("FairClique", "FairBot")["CC"] == 1
    hunt, chicken = PRESETS["stag-hunt"], PRESETS["chicken"]
    assert law("TableBot", "DefectBot", context_of(hunt, []))["CD"] == 1  # plays as CooperateBot
    assert law("TableBot", "DefectBot", context_of(chicken, []))["DD"] == 1  # as FairBot
    sexes = Game(["TableBot", "DefectBot"], 0, payoffs="battle-of-the-sexes")
    assert sexes.played.moves == ("CC", "DD")
    assert law("CrowdBot", "FairBot", Context(PAYOFFS, PAYOFFS, {"DefectBot": Fraction(1, 2)}))["DD"] == 1
    assert law("PoliteBot", "DefectBot", Context(PAYOFFS, PAYOFFS, {}, 0))["CD"] == 1
    assert law("PoliteBot", "DefectBot", Context(PAYOFFS, PAYOFFS, {}, 1))["DD"] == 1


def test_one_library_with_a_price_each() -> None:
    programs = ["GroundedFairBot", "FairBot", "DefectBot"]
    game = Game(programs, "1/10")
    assert game.utilities[0] == (Fraction(19, 10), Fraction(19, 10), Fraction(8, 10))
    assert meet(READERS["GroundedFairBot"], LIBRARY["DefectBot"]).paid(Fraction(1, 10)) == Fraction(8, 10)
    dear = Simulator("Dear", Fraction(1, 10), depth=3)
    assert Game([dear, "DefectBot"], "1/10").utilities[0][0] == 2 - Fraction(3, 10)
    assert any(one.is_pure and one.row[1] == 1 for one in equilibria(["FairBot", "CliqueBot", "DefectBot"], "1/10"))


def test_what_cannot_be_computed_is_refused() -> None:
    with pytest.raises(GameError, match="need not end"):
        GroundedFairBot(0)
    with pytest.raises(GameError, match="starts one run"):
        Simulator("Two", Fraction(1, 2), memory=2)
    with pytest.raises(GameError, match="remembers rounds"):
        law("GroundedShift", "ColdFairBot")
    with pytest.raises(GameError, match="in the end plays as itself"):
        law(Quine("Round", outside="Round"), "FairBot", context_of(PAYOFFS, [Quine("Round", outside="Round")]))
    with pytest.raises(GameError, match="stop is 'half'"):
        Simulator("Half", "half")  # type: ignore[arg-type]
    with pytest.raises(GameError, match="friends='me'"):
        Quine("Club", friends="me")  # type: ignore[arg-type]
    with pytest.raises(GameError, match="inside=None"):
        Quine("Club", inside=None)  # type: ignore[arg-type]
    with pytest.raises(GameError, match="choose='FairBot'"):
        Chooser("Pick", "FairBot", "picks")  # type: ignore[arg-type]
    with pytest.raises(GameError, match="words=1"):
        Chooser("Pick", lambda seen: "FairBot", 1)  # type: ignore[arg-type]
    with pytest.raises(GameError, match="no program has this name"):
        law(Simulator("Lost", Fraction(1, 2), against="Nobody"), "FairBot")


def test_chances_are_exact_however_they_are_given() -> None:
    for stop in ("1/10", 0.1):
        assert Simulator("Fair", stop).stop == Fraction(1, 10)  # type: ignore[arg-type]
    assert hash(Quine("Club", friends=["me"])) == hash(Quine("Club"))  # type: ignore[arg-type]


def test_a_play_needs_names_only() -> None:
    assert play_mixed("groundedfairbot", "DefectBot").law["CD"] == Fraction(1, 10)
    assert play_mixed("[]X(me)", "FairBot").law["CC"] == 1
    assert play_mixed("TableBot", "DefectBot").law == law("TableBot", "DefectBot")


def test_only_histories_that_can_be_seen_count() -> None:
    answers = (("C", "C"), ("D", "C"))
    kind = Simulator("Kind", Fraction(1, 2), answers=answers)  # always cooperates
    assert law("[]X(RandomBot)", kind)["CC"] == 1
    assert law("[]X(RandomBot)", "GroundedFairBot")["DD"] == Fraction(9, 10)


def test_deviants_may_name_the_programs_of_the_game() -> None:
    tester = Simulator("Mine", Fraction(1, 10), against="Own")
    own = Quine("Own", outside="CooperateBot")
    inside = Game([own, "FairBot", tester], "1/10")
    found = survives("FairBot", [own, "FairBot"], [tester], "1/10")
    assert found.gain == inside.utilities[2][1] - inside.utilities[1][1]
    family = ranges([own, "FairBot"]).families[0]
    assert survival_range(family, [own, "FairBot"], [tester]).threats is not None


def test_a_formula_may_call_x_on_others_against_simulators() -> None:
    spy = parse("[]X(CooperateBot) & ~[]X(DefectBot)")
    assert play_mixed(spy, READERS["GroundedFairBot"], CONTEXT).cooperation[0] == 1


class TestEnvironments:
    def moves(self, programs: tuple[Program | str, Program | str], rounds: int = 1, **options: object) -> list[str]:
        names = list(dict.fromkeys(programs))
        env = modal_env.make(agents=names, rounds=rounds, **options)
        env.reset(seed=0)
        for _ in range(rounds):
            for program in programs:
                env.step(names.index(program))
        return ["".join(played.moves) for played in env.infos["player_0"]["history"]]

    @pytest.mark.parametrize("programs", [("GroundedFairBot", "Bully"), (EXTRA["Shift"], EXTRA["SharedBully"])])
    def test_coins_fall_as_often_as_the_exact_law_says(self, programs: tuple[Program | str, Program | str]) -> None:
        rounds = 500
        counts = Counter(self.moves(programs, rounds))
        exact = law(*programs)
        assert sum(exact[moves] > 0 for moves in OUTCOMES) > 1
        for moves in OUTCOMES:
            assert binomtest(counts[moves], rounds, float(exact[moves])).pvalue > 1e-6

    def test_a_game_repeats_with_its_seed(self) -> None:
        assert self.moves(("GroundedFairBot", "Bully"), 20) == self.moves(("GroundedFairBot", "Bully"), 20)

    def test_programs_see_the_payoffs_the_round_and_who_is_there(self) -> None:
        assert self.moves(("TableBot", "DefectBot"), payoffs="stag-hunt") == ["CD"]
        assert self.moves(("TableBot", "DefectBot")) == ["DD"]
        assert self.moves(("PoliteBot", "DefectBot"), 3) == ["CD", "DD", "DD"]
        assert self.moves(("CrowdBot", "CooperateBot")) == ["CC"]
        crowd = modal_env.make(agents=["CrowdBot", "CooperateBot", "DefectBot"], players=4, rounds=40)
        crowd.reset(seed=0)
        for _ in range(20):  # two DefectBots of four, then one
            for program in (0, 1, 2, 2, 0, 1, 1, 2):
                crowd.step(program)
        met = {
            (number % 2, played.partners[0]): played.moves[0]
            for number, played in enumerate(crowd.infos["player_0"]["history"])
        }
        assert met == {(0, 1): "D", (0, 2): "D", (0, 3): "D", (1, 1): "C", (1, 2): "C", (1, 3): "D"}

    def test_a_program_that_plays_as_one_that_looks_sees_the_round_too(self) -> None:
        masked = Quine("Masked", friends=(), outside="PoliteBot")
        assert self.moves((masked, "DefectBot"), 2) == ["CD", "DD"]

    def test_payoffs_are_those_of_the_game(self) -> None:
        env = modal_env.make("1/10", agents=["CliqueBot", "FairBot"])
        env.reset(seed=0)
        env.step(0)
        env.step(0)
        assert env.rewards == {"player_0": 1.9, "player_1": 1.9}

    def test_policies_choose_readers(self) -> None:
        env = modal_env.make("1/10", agents=["CooperateBot", "CliqueBot"])
        policies = [agents.make("program:cliquebot"), agents.make("best-reply:to=program:CliqueBot")]
        env.reset(seed=0)
        for name, policy in zip(env.possible_agents, policies, strict=True):
            policy.reset(name, 0)
        for policy in policies:
            observation, _, _, _, info = env.last()
            env.step(policy.act(observation, info))
        assert [program.name for program in env.infos["player_0"]["history"][0].programs] == ["CliqueBot"] * 2

    def test_expected_payoffs_are_computed_unless_programs_look_at_the_context(self) -> None:
        for name, exact in (("GroundedFairBot", True), ("PoliteBot", False)):
            env = modal_env.make("1/10", agents=["DefectBot", name])
            result = program_exploitability(f"program:{name}", 20, env, choosing=2)
            assert result.exact == exact
        assert (
            program_exploitability(
                "program:GroundedFairBot",
                1,
                modal_env.make("1/10", agents=["DefectBot", "GroundedFairBot"]),
                choosing=1,
            ).value.value
            == 0
        )

    def test_where_formulas_are_needed_readers_are_refused_with_the_reason(self) -> None:
        for actions in ("formula", "tokens"):
            with pytest.raises(GameError, match=r"formulas cannot call X on it; actions=\"library\""):
                modal_env.make(agents=["CliqueBot"], actions=actions)
        for call in (
            lambda: modal_env.play("CliqueBot", "FairBot"),
            lambda: modal_env.replies(["CliqueBot"]),
            lambda: modal_env.replies(["FairBot"], ["CliqueBot"]),
        ):
            with pytest.raises(GameError, match="only formulas are possible here, but play_mixed"):
                call()
        with pytest.raises(GameError, match="called 'CliqueBot'"):
            modal_env.make(agents=["CliqueBot", Quine("CliqueBot", friends=("FairBot",))])


def test_a_tournament_takes_readers() -> None:
    programs = ["GroundedFairBot", "CliqueBot", "FairBot"]
    result = modal_env.tournament(programs)
    assert result.moves == ("C?C", "DCD", "CDC")
    assert (result.cooperates == Game(programs, 0).played.cooperates).all()
    assert result.cooperates[0, 1] == 0.1
