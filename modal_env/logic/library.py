"""Agents from the literature, and our own SlipBot, MirrorBot and OneBot (with four helpers), with their sources.

`LIBRARY` maps names to agents, `SOURCES` names to sources, `POST` has the four of Garrabrant's post, and `SHORT` maps
the abbreviations of some agents in formulas, as in X(DB). The families `WaitFairBot(k)`, `ConFairBot(k)` and
`ToughButFairBot(k)` are functions; their first members are in the library.

CliqueBot ("cooperate with my own source code", Barasz et al. 2014) is missing because it is impossible here: a formula
sees what X does, not how it is written, and two agents that behave alike are treated alike.
"""

from __future__ import annotations

from modal_env.checks import brief
from modal_env.errors import GameError
from modal_env.logic.parser import parse_agents
from modal_env.logic.syntax import MAX_NESTING, Agent

GARRABRANT = "Garrabrant, Prisoners' Dilemma with Costs to Modeling (2018)"
BARASZ = "Barasz et al., Robust Cooperation in the Prisoner's Dilemma (2014, arXiv:1401.5577)"
LAVICTOIRE = "LaVictoire, An Introduction to Löb's Theorem in MIRI Research (2015), section 7.1"
CRITCH = "Critch, Dennis and Russell, Cooperative and Uncooperative Institution Designs (2022, arXiv:2208.07006)"
OURS = "welfare-env, docs/modal-conjecture.md"
MIRI = "github.com/machine-intelligence/provability"

_ROWS = (
    ("CooperateBot", "true", BARASZ),
    ("DefectBot", "false", BARASZ),
    ("FairBot", "[]X(me)", f"{BARASZ}; as DUPOC in {CRITCH}"),
    ("PrudentBot", "[](X(me) & (X(DefectBot) -> []false))", f"{BARASZ}; written as in {GARRABRANT}"),
    ("JustBot", "[]X(FairBot)", f"{BARASZ}; as MimicFairBot in {LAVICTOIRE}"),
    ("TrollBot", "[]X(DefectBot)", f"{BARASZ}, section 5"),
    ("NiceBot", "[]X(CooperateBot)", f"{MIRI}, Agents.hs"),
    (
        "UnfairBot",
        "[]~X(me)",
        "a comment to Robust Cooperation in the Prisoner's Dilemma, LessWrong (2013)",
    ),
    ("ReverseFairBot", "~[]~X(me) & []X(me)", f"{MIRI}, Agents.hs"),
    ("MagicBot", "[](~[]false -> []me -> X(me))", f"{MIRI}, Agents.hs"),
    ("SimpleMagicBot", "[](<>me -> X(me))", f"{MIRI}, Agents.hs"),
    ("CUPOD", "~[]~X(me)", f"{CRITCH}: cooperate unless proof of defection; ours has no bound on proofs"),
    ("CIMCIC", "[](me -> X(me))", f"{CRITCH}: cooperate if my cooperation implies cooperation; no bound on proofs"),
    ("DIMCID", "~[](me -> ~X(me))", f"{CRITCH}: defect if my cooperation implies defection; no bound on proofs"),
    (
        "SlipBot",
        "[][]false | ~[]X(me) & [](X(me) | []X(me)) & ~[](X(me) & []X(me) -> []false)",
        f"{OURS}: against itself a pure equilibrium, which refutes a conjecture of {GARRABRANT}",
    ),
    ("MirrorBot", "[]false | ~[]me & [](X(me) <-> me)", f"{OURS}: the same at depth 1, with `me`"),
    ("FalseBot", "[]false", f"{OURS}: a helper; defects from world 1 on"),
    ("TrueBot", "~[]false", f"{OURS}: a helper; cooperates from world 1 on"),
    ("AlikeBot", "[](X(CooperateBot) <-> X(DefectBot))", f"{OURS}: a helper of OneBot"),
    (
        "LateBot",
        "[]((X(CooperateBot) <-> X(DefectBot)) | ~(X(FalseBot) <-> X(TrueBot)))",
        f"{OURS}: a helper of OneBot; against agents of depth up to 1, AlikeBot one world later",
    ),
    (
        "OneBot",
        "[]X(me) & ~[]X(FairBot) | ~[](X(AlikeBot) -> X(LateBot)) & [](X(LateBot) & X(AlikeBot) -> X(me))",
        f"{OURS}: against itself a pure equilibrium for epsilon = 1, which refutes a conjecture of {GARRABRANT}",
    ),
    ("RandomBot", "coin", f"comments to {GARRABRANT}; that nothing is provable about it is our reading of them"),
)


def WaitFairBot(k: int) -> Agent:
    """Cooperates if ~[]^(k+1) false holds, and PA with the axiom ~[]^k false proves X(me).

    Every agent that defects on DefectBot fails to cooperate with it for large k (Barasz et al. 2014, section 5). The
    formula is LaVictoire's (2015), section 7.1; there are also versions with ~[]^k in the first part.

    Raises:
        GameError: k is not a whole number from 0 to 490.
    """
    return _family_member("WaitFairBot", k, f"~{'[]' * (_checked(k) + 1)}false & [{k}]X(me)")


def ConFairBot(k: int) -> Agent:
    """FairBot in PA with the axiom ~[]^k false: Con^k-FairBot; FB_k in MIRI's program. ConFairBot(0) is FairBot.

    Raises:
        GameError: as `WaitFairBot`.
    """
    return _family_member("ConFairBot", k, f"[{_checked(k)}]X(me)")


def ToughButFairBot(k: int) -> Agent:
    """Cooperates if PA + ~[]^j false proves X(me) for a j <= k, and PA + ~[]^i false proves ~X(me) for no i < j.

    From MIRI's program, Agents.hs. ToughButFairBot(0) is FairBot.

    Raises:
        GameError: as `WaitFairBot`.
    """
    steps = [" & ".join([*(f"<{i}>X(me)" for i in range(j)), f"[{j}]X(me)"]) for j in range(_checked(k) + 1)]
    return _family_member("ToughButFairBot", k, " | ".join(f"({step})" for step in steps))


def _family_member(family: str, k: int, text: str) -> Agent:
    return parse_agents({f"{family}{k}": text}, {})[f"{family}{k}"]


def _checked(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= MAX_NESTING - 10:
        raise GameError(f"k={brief(k)}: give a whole number from 0 to {MAX_NESTING - 10}")
    return k


LIBRARY: dict[str, Agent] = parse_agents({name: text for name, text, _ in _ROWS}, {})
SOURCES: dict[str, str] = {name: source for name, _, source in _ROWS}

for _agent, _source in (
    *((WaitFairBot(k), f"{BARASZ}, section 5; the formula is that of {LAVICTOIRE}") for k in (0, 1, 2)),
    *((ConFairBot(k), f"{MIRI}, Agents.hs: fair1, fair2") for k in (1, 2)),
    *((ToughButFairBot(k), f"{MIRI}, Agents.hs: tbfair") for k in (1, 2)),
):
    LIBRARY[_agent.name], SOURCES[_agent.name] = _agent, _source

CooperateBot = LIBRARY["CooperateBot"]
DefectBot = LIBRARY["DefectBot"]
FairBot = LIBRARY["FairBot"]
PrudentBot = LIBRARY["PrudentBot"]
SlipBot = LIBRARY["SlipBot"]
"""Cooperates with opponents that defect on it at exactly one world, other than 0 and 1. Against itself an equilibrium
for epsilon up to 1/2 among all agents without `me`."""
MirrorBot = LIBRARY["MirrorBot"]
"""Defects at world 1, then cooperates with opponents that did the same. Against itself an equilibrium for epsilon up to
1 among all agents with `me`."""
OneBot = LIBRARY["OneBot"]
"""Of depth 1. No agent of depth up to 1 without `me` exploits it. Against itself an equilibrium only for epsilon = 1
among all agents without `me`, and not a strict one: DefectBot gets as much against it."""
RandomBot = LIBRARY["RandomBot"]

POST = (CooperateBot, DefectBot, FairBot, PrudentBot)
SHORT: dict[str, Agent] = {
    "CB": CooperateBot, "DB": DefectBot, "FB": FairBot, "PB": PrudentBot,
    "JB": LIBRARY["JustBot"], "TB": LIBRARY["TrollBot"], "NB": LIBRARY["NiceBot"], "DUPOC": FairBot,
}  # fmt: skip
