"""The library: formulas as published, sources for all, and what is known about its agents."""

from itertools import product

from modal_env.logic import library
from modal_env.logic.library import (
    LIBRARY,
    POST,
    SHORT,
    SOURCES,
    ConFairBot,
    CooperateBot,
    DefectBot,
    FairBot,
    PrudentBot,
    RandomBot,
    ToughButFairBot,
    WaitFairBot,
)
from modal_env.logic.provability import play


def test_everybody_has_a_name_and_a_source() -> None:
    assert list(LIBRARY) == list(SOURCES)
    assert [agent.name for agent in LIBRARY.values()] == list(LIBRARY)
    assert all(SOURCES.values())
    assert len(set(LIBRARY.values())) == len(LIBRARY)
    for name, agent in LIBRARY.items():
        assert getattr(library, name, agent) == agent
    assert set(SHORT.values()) <= set(LIBRARY.values())
    assert list(POST) == [CooperateBot, DefectBot, FairBot, PrudentBot]


PUBLISHED = [
    (CooperateBot, "true", 0),
    (DefectBot, "false", 0),
    (FairBot, "[]X(me)", 1),
    (PrudentBot, "[](X(me) & (X(DefectBot) -> []false))", 2),
    (LIBRARY["JustBot"], "[]X(FairBot)", 1),
    (LIBRARY["TrollBot"], "[]X(DefectBot)", 1),
    (LIBRARY["NiceBot"], "[]X(CooperateBot)", 1),
    (LIBRARY["UnfairBot"], "[]~X(me)", 1),
    (LIBRARY["CUPOD"], "~[]~X(me)", 1),  # what these three do: test_recomputed
    (LIBRARY["CIMCIC"], "[](me -> X(me))", 1),
    (LIBRARY["DIMCID"], "~[](me -> ~X(me))", 1),
    (RandomBot, "coin", 0),
    (WaitFairBot(0), "~[]false & []X(me)", 1),
    (WaitFairBot(2), "~[][][]false & [](~[][]false -> X(me))", 3),
    (ConFairBot(0), "[]X(me)", 1),
    (ConFairBot(2), "[](~[][]false -> X(me))", 3),
    (ToughButFairBot(0), "[]X(me)", 1),
    (ToughButFairBot(1), "[]X(me) | <>X(me) & [](~[]false -> X(me))", 2),
]


def test_formulas_as_published() -> None:
    for agent, text, depth in PUBLISHED:
        assert (agent.text, agent.depth) == (text, depth)


def test_of_dupoc_and_cupod_the_one_with_the_stronger_theory_has_its_way() -> None:
    """As the page proves, and as a loop over worlds says, in which [k]p is p at all worlds from k to the last one."""
    for i, j in product(range(3), repeat=2):
        dupoc, cupod = [], []
        for world in range(12):
            now = all(cupod[i:world]), any(dupoc[j:world])
            dupoc.append(now[0])
            cupod.append(now[1])
        outcome = play(f"[{i}]X(me)", f"~[{j}]~X(me)", worlds=12)
        assert outcome.trace == tuple(zip(dupoc, cupod, strict=True))
        assert outcome.moves == (("C", "C") if i > j else ("D", "C") if i == j else ("D", "D"))
