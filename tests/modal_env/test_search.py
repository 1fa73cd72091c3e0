"""The answers to the post's questions, and that certificates hold and false ones do not."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic.library import POST, CooperateBot, DefectBot, FairBot, MirrorBot, PrudentBot, SlipBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.syntax import closure
from modal_env.search import behaviors
from modal_env.search import direct_agents as direct
from modal_env.search import findings as search
from modal_env.search.behaviors import behaviors_of, two_boxes
from modal_env.search.best_replies import replies
from modal_env.search.certificates import Certificate, faults
from modal_env.search.findings import CALLS, GOOD_MIX, certify, direct_equilibria, pure_equilibria
from modal_env.search.invaders import verdicts
from modal_env.search.lines import line_text

HALF, THIRD, ZERO, ONE = Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1)
PAYOFF = {"CC": 2, "CD": 0, "DC": 3, "DD": 1}


@pytest.fixture(scope="module")
def good_mix() -> Certificate:
    """With DefectBot to call, which is enough for PrudentBot."""
    return certify("The good mix", GOOD_MIX, tuple(GOOD_MIX), [DefectBot])


@pytest.fixture(scope="module")
def slip() -> Certificate:
    """SlipBot against itself, with everybody to call."""
    return certify("SlipBot", {SlipBot: (ONE, ZERO)}, [SlipBot], CALLS)


def test_the_good_mix_is_an_equilibrium_up_to_a_third(good_mix: Certificate) -> None:
    assert (good_mix.low, good_mix.high) == (0, THIRD)
    assert faults(good_mix) == []
    defector = next(reply for reply in good_mix.replies if reply.agent == DefectBot)
    assert good_mix.paid(defector) == (1, 2)  # 1 + 2 eps > 2 - eps above 1/3
    assert {agent.depth for agent in (reply.agent for reply in good_mix.replies)} == {0, 1, 2}


def test_slipbot_does_as_the_page_says() -> None:
    assert SlipBot.depth == 2
    assert SlipBot.size == 23
    assert not SlipBot.called
    against = {other.name: play(SlipBot, other, 8).trace for other in (*POST, SlipBot)}
    own = {name: "".join("DC"[bool(a)] for a, _ in trace) for name, trace in against.items()}
    assert own == {
        "CooperateBot": "CCDDDDDD",
        "DefectBot": "CCDDDDDD",
        "FairBot": "CCDDCDDD",
        "PrudentBot": "CCDCDDDD",
        "SlipBot": "CCDCCCCC",
    }


@pytest.mark.slow
def test_slipbot_is_an_equilibrium_up_to_a_half(slip: Certificate) -> None:
    assert (slip.low, slip.high) == (0, HALF)
    assert faults(slip) == []
    assert {reply.moves[0]: reply.agent.depth for reply in slip.replies} == {
        ("C", "C"): 2,
        ("C", "D"): 0,
        ("D", "D"): 0,
    }


def test_slipbot_cooperates_with_nobody_of_depth_1(
    random_formulas: Callable[[int, int], Any], parse_formulas: Callable[[Any], list[Agent]]
) -> None:
    chain = [parse("[]false", name="F0")]
    for number in range(1, 6):  # each defects on SlipBot two worlds later than the one before
        chain.append(parse(f"[]X(F{number - 1}) & []X(me)", name=f"F{number}", helpers={f"F{number - 1}": chain[-1]}))
    assert search.befriended(SlipBot, chain, 1) == []
    shallow = [
        agent
        for seed in range(40)
        for agent in parse_formulas([_flat(formula) for formula in random_formulas(seed, 12)])
        if agent.depth < 2
    ]
    assert len(shallow) > 200
    assert {play(SlipBot, agent).moves[0] for agent in shallow} == {"D"}


def _flat(formula: tuple[Any, ...], under: bool = False) -> tuple[Any, ...]:
    """Without `me`, and without boxes under boxes."""
    kind, *parts = formula
    if kind in ("[]", "<>") and under:
        return _flat(parts[0], under)
    if kind == "own":
        return ("x", None)
    deeper = under or kind in ("[]", "<>")
    return (kind, *(_flat(part, deeper) if isinstance(part, tuple) else part for part in parts))


@pytest.mark.slow
def test_what_breaks_others_and_slipbot_with_me() -> None:
    short = parse("[][]false | ~[]X(me) & [](X(me) | []X(me) & ~[]false)", name="Short")
    assert direct.code_of(short) in direct.partners()
    caller = parse("[]X(me) | ~[]X(FalseBot)", helpers={"FalseBot": "[]false"})
    assert (caller.depth, play(caller, short).moves) == (1, ("C", "C"))
    aware = parse("[](me <-> X(me)) | ~[](me | X(me))")
    assert (aware.depth, play(aware, SlipBot).moves) == (1, ("C", "C"))


def test_slipbot_is_among_those_that_the_search_finds() -> None:
    codes = {code for pair in direct.partners().tolist() for code in pair}
    assert len(codes) == 40
    assert direct.code_of(SlipBot) in codes


def test_pure_equilibria_among_direct_agents() -> None:
    found = direct_equilibria()
    assert len(found) == 820
    assert {(pair.low, pair.high) for pair in found} == {(ZERO, HALF)}
    assert direct_equilibria(1) == []


@pytest.mark.parametrize("every", [8, pytest.param(4, marks=pytest.mark.slow)])
def test_pure_equilibria_among_behaviors_by_trying_all(every: int) -> None:
    listed = two_boxes((DefectBot,), literals=1)
    chosen = [*listed.agents[::every], SlipBot, parse("~[]X(me) | [][]false"), parse("[]false | ~[]X(me) & ~[]~X(me)")]
    behaviors = behaviors_of([CooperateBot, DefectBot, *chosen])
    found = pure_equilibria(behaviors)
    agents = behaviors.agents
    paid = np.array([[PAYOFF["".join(play(a, b).moves)] for b in agents] for a in agents])
    for epsilon in (Fraction(1, 100), Fraction(49, 100), HALF, Fraction(51, 100), Fraction(99, 100), ONE, Fraction(3)):
        utility = [
            [int(paid[i, j]) - epsilon * agents[i].depth for j in range(len(agents))] for i in range(len(agents))
        ]
        best = [max(row[j] for row in utility) for j in range(len(agents))]
        expected = {
            (i, j)
            for i, j in product(range(len(agents)), repeat=2)
            if i <= j and utility[i][j] == best[j] and utility[j][i] == best[i]
        }
        held = [pair for pair in found if pair.low <= epsilon and (pair.high is None or epsilon <= pair.high)]
        assert {(agents.index(pair.first), agents.index(pair.second)) for pair in held} == expected
    assert len(found) > 1


def test_small_classes_have_no_other_equilibrium() -> None:
    found = pure_equilibria(two_boxes(literals=1))
    assert [(pair.first, pair.second, pair.low, pair.high) for pair in found] == [(DefectBot, DefectBot, 0, None)]


def test_the_lemma_fails_at_both_depths() -> None:
    one, two = search.lemma(1), search.lemma(2)
    assert (one.agents, one.friendly, one.counterexamples) == (14, 13, 2)
    assert (two.agents, two.friendly, two.counterexamples) == (2_097_136, 2_096_462, 19_804)
    both = parse("[]false | ~[]X(me) & ~[]~X(me)", name="Both")
    assert [play(both, other).moves for other in (both, CooperateBot, DefectBot)] == [
        ("C", "C"),
        ("D", "C"),
        ("D", "D"),
    ]


def test_two_of_depth_1_that_cooperate_are_exploited() -> None:
    listed = two_boxes(literals=1)
    met, shallow = listed.cooperates, listed.depths == 1
    wary = np.flatnonzero(shallow & ~met[:, 0] & ~met[:, 1])  # defect on CooperateBot and DefectBot
    pairs = [(a, b) for a, b in product(wary.tolist(), repeat=2) if a <= b and met[a, b] and met[b, a]]
    assert len(pairs) > 5
    for a, b in pairs:
        assert _exploited(listed.agent(a), listed.agent(b)) or _exploited(listed.agent(b), listed.agent(a))


@lru_cache
def _exploited(agent: Agent, partner: Agent) -> bool:
    """Whether an agent of depth up to 2 exploits it: one that calls nobody or, where there is none, those involved."""
    involved = [call.renamed(f"B{number}") for number, call in enumerate(closure([agent, partner]))]
    return any(
        reply.moves[0] == ("D", "C")
        for calls, depth in (((), 1), ((), 2), (involved, 2))
        for reply in replies([agent], calls, depth=depth)
    )


def test_facts_about_fairbot() -> None:
    assert search.trusted_by_fairbot_and_unfairbot() == []
    assert search.exploits_cooperatebot_trusted_by_fairbot() == []
    found = search.exploits_cooperatebot_trusted_by_fairbot([DefectBot], 2)
    assert found
    assert all(play(reply.agent, FairBot).moves[1] == "C" for reply in found)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_with_me_there_is_an_equilibrium_at_every_depth(depth: int) -> None:
    boxes = "[]" * depth
    mirror = parse(f"{boxes}false | ~[]me & [](X(me) <-> me)", name="Mirror")
    assert depth > 1 or mirror == MirrorBot
    assert mirror.depth == depth
    assert play(mirror, mirror).moves == ("C", "C")
    assert all(play(mirror, other).moves[0] == "D" for other in POST)
    atoms = ["X(me)", "me", "[]X(me)", "[]me", "[]~me", "[]false", "[][]false"]
    lower = [f"[]({sign}{one} | {other})" for sign in ("", "~") for one in atoms for other in atoms]
    agents = [CooperateBot, DefectBot, *(parse(f"{sign}{a}") for a in lower for sign in ("", "~"))]
    agents += [parse(f"{a} & ~{b}") for a in lower[::5] for b in lower[::7]]
    for agent in agents:
        moves = play(mirror, agent).moves
        assert moves[0] == "D" or agent.depth >= depth
        assert moves != ("C", "D")


def test_certificates_that_do_not_hold(good_mix: Certificate, slip: Certificate) -> None:
    assert any("is negative" in fault for fault in faults(replace(good_mix, high=HALF)))
    assert faults(replace(good_mix, high=Fraction(1, 4))) == ["it also holds above 1/4"]
    assert faults(replace(good_mix, low=Fraction(1, 4))) == ["it also holds below 1/4"]
    assert any("is negative" in fault for fault in faults(replace(slip, high=None)))
    swapped = replace(slip.replies[0], agent=FairBot)
    assert any("makes the moves" in fault for fault in faults(replace(slip, replies=(swapped, *slip.replies))))
    assert any("paid differently" in fault for fault in faults(replace(slip, support=(SlipBot, DefectBot))))
    fair = certify("FairBot in a crowd", {PrudentBot: (ONE, ZERO)}, [FairBot], [DefectBot])
    assert (fair.low, fair.high) == (0, 1)
    with pytest.raises(GameError, match="the agents are paid"):
        certify("no", {FairBot: (ONE, ZERO)}, [CooperateBot, DefectBot])
    with pytest.raises(GameError, match="at no epsilon"):
        certify("no", {CooperateBot: (ONE, ZERO)}, [CooperateBot])


def test_lines_of_epsilon() -> None:
    lines = [(ONE, ZERO), (Fraction(2), Fraction(-1)), (ZERO, HALF), (ZERO, -ONE), (ONE, Fraction(-3, 2))]
    assert list(map(line_text, lines)) == ["1", "2 - eps", "1/2 eps", "-eps", "1 - 3/2 eps"]


@pytest.mark.slow
def test_findings_of_a_small_class(small_findings: tuple[search.Findings, list[float]]) -> None:
    found, _ = small_findings
    text = "\n".join(found.lines())
    assert "318 behaviors (2 of depth 0, 203 of depth 1, 113 of depth 2)" in text
    assert "820 pure equilibria besides, for 0 <= epsilon <= 1/2" in text
    assert "best replies for 0 <= epsilon <= 1/3" in text
    assert faults(found.mix) == faults(found.slip) == []
    assert len(found.robust) == 4
    assert {play(agent, agent).moves for agent in found.robust} == {("C", "C")}


@pytest.mark.slow
def test_findings_of_two_literals() -> None:
    found = search.findings()
    assert len(found.behaviors) == 10_283
    assert found.told_apart == 7_383
    assert [(pair.first, pair.second, pair.low, pair.high) for pair in found.listed] == [
        (DefectBot, DefectBot, 0, None)
    ]
    assert all(play(SlipBot, agent).moves[0] == "D" for agent in found.behaviors.agents if agent.depth < 2)
    met, shallow = found.behaviors.cooperates, found.behaviors.depths == 1
    wary = np.flatnonzero(shallow & ~met[:, 0] & ~met[:, 1])
    friends = wary[(met & met.T)[np.ix_(wary, wary)].any(axis=1)]
    assert len(friends) == 384
    assert (~met[np.ix_(shallow, friends)] & met[np.ix_(friends, shallow)].T).any(axis=0).all()  # exploited at depth 1
    assert all(play(SlipBot, agent).moves != ("C", "D") for agent in found.behaviors.agents)


@pytest.mark.slow
def test_long_searches_tell_how_far_they_are(
    small_findings: tuple[search.Findings, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behaviors, "ROWS", 10)
    shares: list[float] = []
    search.least_replies(["FairBot", "PrudentBot"], ["FairBot"], 2, shares.append)
    assert len({share for share in shares if share > 0.2}) > 3  # while the agents are written, too
    _, shares = small_findings
    assert shares == sorted(shares)
    assert len({share for share in shares if share < 0.7}) > 3  # while all are met
    assert shares[-1] == 1.0


@pytest.mark.parametrize("text", ["~true", "false", "false | ~true"])
def test_an_agent_is_not_its_own_mutant_in_another_form(text: str) -> None:
    """All defect always: agents that behave alike are not compared."""
    (found,) = verdicts("1/10", [text])
    assert (found.kind, found.invader) == ("stable", None)


@pytest.mark.parametrize(("count", "letter"), [(2, "X(me)"), pytest.param(6, "X(DefectBot)", marks=pytest.mark.slow)])
def test_an_agent_of_depth_1_is_at_best_neutrally_stable(count: int, letter: str) -> None:
    """MirrorBot in another form: the search's reply with its outcome is paid less against itself than MirrorBot is."""
    calls = {f"B{i}": parse(f"[]{'~' * (i % 2)}X(me){' & []true' * (i // 2)}", name=f"B{i}") for i in range(count)}
    always = [f"([]{text} | ~[]{text})" for text in [letter, *(f"X({name})" for name in calls)]]
    mirror = parse(" & ".join([f"({MirrorBot})", *always]), helpers=calls)
    (found,) = verdicts("1/10", [mirror])
    mutant = found.invader
    assert found.kind == "neutrally stable"
    assert mutant is not None
    assert (mutant.depth, play(mutant, mirror).moves, play(mutant, mutant).moves) == (1, ("C", "C"), ("C", "C"))
    assert any(play(mutant, other, 9).trace != play(mirror, other, 9).trace for other in POST)


def test_shares_sum_to_one(good_mix: Certificate) -> None:
    with pytest.raises(GameError, match="shares sum to 1/2"):
        certify("half", {DefectBot: (HALF, ZERO)}, [DefectBot], [])
    assert any("not 1" in fault for fault in faults(replace(good_mix, shares=((ONE, ZERO),) * 3)))


def test_a_certificate_of_the_wrong_size_is_at_fault(good_mix: Certificate) -> None:
    assert faults(replace(good_mix, shares=())) == ["there are 0 shares for 3 opponents"]
    short = replace(good_mix.replies[0], moves=good_mix.replies[0].moves[:1])
    (fault,) = faults(replace(good_mix, replies=(short, *good_mix.replies[1:])))
    assert "makes the moves" in fault


def test_mutants_have_the_least_depth_of_their_outcome() -> None:
    (found,) = verdicts("1/10", ["[][]~X(CooperateBot) & ~[](X(CooperateBot) <-> X(me))"])
    assert (found.kind, found.gain) == ("invaded", Fraction(21, 10))  # 2 at depth 2, which the agent has itself
    assert found.invader is not None
    assert found.invader.depth == 1
