"""The commands for open questions: which agents are stable, which words are equilibria, the lemma at a cost."""

from __future__ import annotations

from typing import Annotated

import typer

from modal_env.cli.arguments import read_agents
from modal_env.cli.shared import Agents, Epsilon, all_errors_printed, show
from modal_env.cli.tables import fates_table, lemma_table, verdicts_table, words_table
from modal_env.console import watched
from modal_env.logic.library import LIBRARY


def stable(agents: Agents = None, epsilon: Epsilon = "1/10") -> None:
    """Which agents are evolutionarily stable under mutation to all agents of their depth, and what invades the others.

    Without agents, the whole library. Mutants of depth up to 2 that call CooperateBot, DefectBot and FairBot are
    searched completely.
    """
    with all_errors_printed():
        from modal_env.search.invaders import verdicts  # loads numba

        residents = read_agents(agents) if agents else [*LIBRARY.values()]
        with watched("looking for mutants") as report:
            found = verdicts(epsilon, residents, report=report)
        show(verdicts_table(epsilon, found))


def words(
    depth: Annotated[int, typer.Option(min=1, max=4, help="Depth of the agents.")] = 3,
    length: Annotated[int, typer.Option(min=1, max=14, help="Longest word.")] = 8,
) -> None:
    """Pure equilibria of direct agents that play a word such as CCCDDC against themselves.

    Direct agents have X(me) as their only letter. No shallower one gets cooperation, so all prices up to 1/depth work.
    """
    with all_errors_printed():
        from modal_env.search.words import words as find_words  # loads numba

        show(words_table(depth, length, [*find_words(depth, length)]))


def callers(depth: Annotated[int, typer.Option(min=1, max=4, help="Depth of the agents.")] = 3) -> None:
    """Direct agents that cooperate with themselves, that nobody exploits, and that no shallower caller can deceive.

    The callers are all agents of smaller depth that call X on themselves, CooperateBot, DefectBot, FairBot, []false and
    ~[]false. Direct agents have X(me) as their only letter; those with the same moves against themselves are a row.
    """
    with all_errors_printed():
        from modal_env.search.words import fates  # loads numba

        with watched("looking for callers") as report:
            found = fates(depth, report=report)
        show(fates_table(depth, found))


def lemma(
    cost: Annotated[
        str,
        typer.Option(
            metavar="UNIT=NUMBER,...", help="Whole-number price of each symbol, box and call, such as box=1,call=2."
        ),
    ] = "symbol=1",
    most: Annotated[int, typer.Option(min=1, max=20, help="Greatest cost of a formula.")] = 13,
    depth: Annotated[int, typer.Option(min=1, max=4, help="Greatest depth of a formula.")] = 4,
) -> None:
    """The post's lemma, and pairs that may be equilibria, when formulas are charged per symbol, box and call.

    The lemma: an agent that cooperates with one of its own cost cooperates with a cheaper one. The search is over all
    formulas with X(me) as the only letter, up to a cost and a depth.
    """
    with all_errors_printed():
        from modal_env.search.formula_costs import lemma_at_cost  # loads numba
        from modal_env.search.priced_agents import prices_of

        prices = prices_of(cost)
        with watched("making formulas") as report:
            found = lemma_at_cost(prices, most, depth, report)
        show(lemma_table(cost, found))
